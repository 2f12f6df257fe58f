"""Takes `key:value` terms out of the question, and searches only documents that have them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from ragstone.core.filters import And, Scalar
from ragstone.core.turn import Principal, Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.ports import Adapters, ValueCount, find_collection
from ragstone.understand.metadata_terms import build_filter, remove_terms, terms


class Narrow(Stage):
    """Narrows the search to what the question's terms name.

    Only keys count that a document has which the caller may read. A filter of the request holds
    besides: terms make what is searched smaller, never larger.
    """

    name: ClassVar[str] = "narrow"
    needs: ClassVar[frozenset[str]] = frozenset({"question", "queries"})
    gives: ClassVar[frozenset[str]] = frozenset({"ask", "question", "queries"})

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        # What was asked decides, whatever a follow-up was made of.
        asked = " ".join(turn.ask.question.split())
        if ":" not in asked:
            return Step(turn, "nothing", "no term such as key:value")
        if adapters.external_retriever is not None:
            return Step(turn, "nothing", "a retrieval service has no keys to compare with")
        collection = await find_collection(adapters.catalog, turn.ask)
        if collection is None:
            return Step(turn, "nothing", "there is no such collection")
        place, whose = (collection.tenant, collection.id), turn.ask.principal
        known = await adapters.catalog.metadata_keys(*place)
        readable = {key for key, some in known.items() if any(_may(whose, item) for item in some)}
        found = terms(asked, readable)
        if not found:
            return Step(turn, "nothing", "no term with a key that documents have")
        counted = await adapters.catalog.metadata_values(*place, {term.key for term in found})
        where = build_filter(found, _values(counted, whose))
        ask = replace(turn.ask, where=And((turn.ask.where, where)) if turn.ask.where else where)
        narrowed = replace(
            turn,
            ask=ask,
            question=remove_terms(turn.question, terms(turn.question, readable)),
            queries=tuple(remove_terms(query, terms(query, readable)) for query in turn.queries),
        )
        told = ", ".join(f"{term.key}:{term.sign}{term.text}" for term in found)
        return Step(narrowed, "narrowed", told)


def _may(whose: Principal, allowed: Sequence[str]) -> bool:
    return not set(whose.names).isdisjoint(allowed)


def _values(
    counted: Mapping[str, Sequence[ValueCount]], whose: Principal
) -> dict[str, list[Scalar]]:
    return {
        key: [item.value for item in some if _may(whose, item.allowed)]
        for key, some in counted.items()
    }

"""Takes `key:value` terms out of the question, and searches only documents that have them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ragstone.core.filters import And, Scalar
from ragstone.core.turn import Principal, Turn
from ragstone.engine.stage import Step
from ragstone.ports import Adapters, ValueCount, find_collection
from ragstone.understand.metadata_terms import build_filter, remove_terms, terms


async def narrow(turn: Turn, adapters: Adapters) -> Step:
    """Narrow the search to what the question's terms name.

    Only keys count that a document has which the caller may read. A filter of the request holds
    besides: terms make what is searched smaller, never larger.
    """
    # What was asked decides, whatever a follow-up was made of.
    asked = " ".join(turn.ask.question.split())
    if ":" not in asked:
        return Step(turn, "skipped", "no term such as key:value")
    if adapters.external_retriever is not None:
        return Step(turn, "skipped", "a retrieval service has no keys to compare with")
    collection = await find_collection(adapters.catalog, turn.ask)
    if collection is None:
        return Step(turn, "skipped", "there is no such collection")
    place, whose = (collection.tenant, collection.id), turn.ask.principal
    known = await adapters.catalog.metadata_keys(*place)
    readable = {key for key, some in known.items() if any(_may(whose, item) for item in some)}
    found = terms(asked, readable)
    if not found:
        return Step(turn, "skipped", "no term with a key that documents have")
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

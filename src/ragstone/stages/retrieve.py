"""Finds candidate chunks: every query, by meaning and by words, under one filter."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from ragstone.errors import UnknownCollection
from ragstone.filters import And, AnyOf, Filter, Not, readable
from ragstone.ports import Kit, Search
from ragstone.records import Collection
from ragstone.stage import Emit, Stage, Step
from ragstone.text.fusion import fuse
from ragstone.turn import Ask, Turn

POOL = 50
"""Chunks read from the index for fusing; more than any level's passages."""


class Retrieve(Stage):
    """Searches the collection and reads the best candidates, in one consistent view of it."""

    name: ClassVar[str] = "retrieve"
    needs: ClassVar[frozenset[str]] = frozenset({"plan", "queries"})
    gives: ClassVar[frozenset[str]] = frozenset({"lists", "chunks"})

    async def run(self, turn: Turn, kit: Kit, emit: Emit) -> Step:
        ask, plan = turn.ask, turn.plan
        collection = await kit.catalog.collection(ask.principal.tenant, ask.collection)
        if collection is None:
            raise UnknownCollection(ask.collection)
        searches = await _searches(turn, collection, kit)
        async with kit.catalog.seeing() as hidden:
            where = visible(ask, hidden)
            lists = await kit.index.search(collection, searches, where, plan.candidates)
            best = list(fuse(lists, plan.dense_weight))[: max(POOL, plan.top_k)]
            chunks = await kit.index.fetch(collection, best)
        counts = ", ".join(f"{len(ranked.found)} {ranked.source}" for ranked in lists)
        return Step(
            replace(turn, lists=tuple(lists), chunks=chunks),
            counts,
            f"{collection.name!r}, embedded with {collection.model}",
        )


async def _searches(turn: Turn, collection: Collection, kit: Kit) -> Sequence[Search]:
    searches = []
    if turn.plan.strategy != "bm25":
        vectors = await kit.embedders.of(collection).embed_queries(turn.queries)
        searches += [Search(q, vector) for q, vector in zip(turn.queries, vectors, strict=True)]
    if turn.plan.strategy != "dense":
        searches += [Search(query) for query in turn.queries]
    return searches


def visible(ask: Ask, hidden: frozenset[str]) -> Filter:
    """What this question may be answered from."""
    parts: list[Filter] = [readable(ask.principal)]
    if ask.where is not None:
        parts.append(ask.where)
    if hidden:
        parts.append(Not(AnyOf("revision", tuple(sorted(hidden)))))
    return And(tuple(parts))

"""Finds candidate chunks under one filter, by the plan's strategy."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import ClassVar

from ragstone.core.errors import IndexUnavailable, UnknownCollection
from ragstone.core.events import Note
from ragstone.core.foreign_passages import keep_best
from ragstone.core.records import Collection
from ragstone.core.turn import IN_ORDER, RankedList, Scored, Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.language.language import detect
from ragstone.language.late_interaction import EncodedQuestion
from ragstone.ports import Adapters, Retriever, find_collection
from ragstone.retrieve.documents_saying import documents_saying
from ragstone.retrieve.searching import (
    CollectionCandidates,
    Searching,
    across_languages,
    bridge,
    foreign_weight,
    visible,
    visible_summaries,
)
from ragstone.retrieve.strategies import STRATEGIES
from ragstone.retrieve.whole_document import whole_document

MIXED_DENSE_WEIGHT = 0.65
"""Share of meaning by which candidates are chosen where the passages have several languages."""


class Retrieve(Stage):
    """Searches the collection and reads the best candidates, in one consistent view of it."""

    name: ClassVar[str] = "retrieve"
    needs: ClassVar[frozenset[str]] = frozenset({"plan", "queries"})
    gives: ClassVar[frozenset[str]] = frozenset({"lists", "chunks", "notes"})
    searches: ClassVar[bool] = True

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        ask, plan = turn.ask, turn.plan
        if adapters.external_retriever:
            try:
                return await _external_step(turn, adapters.external_retriever)
            except IndexUnavailable as error:
                await emit(Note(self.name, f"{error} The local index answers instead."))
        collection = await find_collection(adapters.catalog, ask)
        if collection is None:
            raise UnknownCollection(ask.collection)
        least = _least_dense_weight(turn, collection, adapters)
        async with adapters.catalog.snapshot(collection) as hidden:
            search = Searching(
                adapters,
                collection,
                visible(ask, hidden),
                replace(plan, dense_weight=max(plan.dense_weight, least)),
                turn.imagined,
                turn.parts,
                _find_encoding(turn),
                bridge(turn.queries[0], collection, adapters),
                visible_summaries(ask, hidden) if plan.tree == "collapsed" else None,
                ask.principal.names,
            )
            found, unready = await asyncio.gather(
                _candidates(search, turn.queries),
                _unready(turn, collection, adapters),
            )
        if unready and unready not in turn.notes:
            await emit(Note(self.name, unready))
            turn = replace(turn, notes=(*turn.notes, unready))
        if found.note and found.note not in turn.notes:
            await emit(Note(self.name, found.note))
            turn = replace(turn, notes=(*turn.notes, found.note))
        counts = Counter[str]()
        for ranked in found.lists:
            counts[ranked.source] += len(ranked.found)
        refined = f", refined by {found.feedback:.0%}" if found.feedback else ""
        if found.whole:
            plan = replace(
                plan, strategy="sequential", rerank=False, feedback=False, top_k=IN_ORDER
            )
            documents = len({chunk.document_id for chunk in found.chunks.values()})
            refined = f", {documents} document(s) as a whole{refined}"
        if plan.strategy == "sequential" and len(found.chunks) > IN_ORDER:
            left_out = f"Only the first {IN_ORDER:,} of {len(found.chunks):,} passages are read."
            await emit(Note(self.name, left_out))
            turn = replace(turn, notes=(*turn.notes, left_out))
        return Step(
            replace(
                turn,
                plan=plan,
                collection=collection,
                lists=found.lists,
                chunks={
                    id: replace(chunk, collection=collection.name)
                    for id, chunk in found.chunks.items()
                },
                encoded=found.encoded,
                feedback=found.feedback,
            ),
            ", ".join(f"{count} {source}" for source, count in counts.items()),
            f"{collection.name!r}, embedded with {collection.model}{refined}"
            f"{f'; {unready}' if unready else ''}",
        )


async def _candidates(search: Searching, queries: Sequence[str]) -> CollectionCandidates:
    found = await STRATEGIES[search.plan.strategy](search, queries)
    if about := search.plan.lists_documents:
        return await documents_saying(search, about, found) or found
    if search.plan.sums_up is None:
        return found
    return await whole_document(search, queries[0], search.plan.sums_up, found) or found


async def _unready(turn: Turn, collection: Collection, adapters: Adapters) -> str:
    """The sentence that says how many of the documents that the asker may read have no vectors
    yet; empty if all have them."""
    names = set(turn.ask.principal.names)
    counted = await adapters.catalog.statuses(collection.tenant, collection.id)
    mine = [item for item in counted if names & set(item.allowed)]
    waiting = sum(item.documents for item in mine if item.status == "text")
    if not waiting:
        return ""
    every = sum(item.documents for item in mine)
    are = f"document{'' if every == 1 else 's'} {'is' if waiting == 1 else 'are'}"
    return f"{waiting:,} of {every:,} {are} still being indexed; keyword search only."


def _find_encoding(turn: Turn) -> tuple[str, EncodedQuestion] | None:
    """The question as the cache has encoded it, if that was with the collection's embedder."""
    if turn.collection is None or turn.recalled is None or turn.recalled.encoded is None:
        return None
    return turn.question, turn.recalled.encoded


def _least_dense_weight(turn: Turn, collection: Collection, adapters: Adapters) -> float:
    """By how much meaning candidates are chosen at least; `fuse` then looks at their languages."""
    if not across_languages(turn.ask, collection, adapters):
        return 0.0
    if collection.language in ("", "mul"):
        return MIXED_DENSE_WEIGHT
    other = detect(turn.queries[0]) not in ("", collection.language)
    return foreign_weight(turn.queries[0], collection, adapters) if other else 0.0


async def _external_step(turn: Turn, service: Retriever) -> Step:
    """What a retrieval service finds for every query and imagined passage, with its scores; of two
    passages with one id the better one."""
    asked = tuple(dict.fromkeys((*turn.queries, *turn.imagined)))
    found = await asyncio.gather(
        *(service.search(replace(turn.ask, question=query), turn.plan) for query in asked)
    )
    lists = tuple(
        RankedList("service", query, tuple(Scored(hit.chunk.chunk_id, hit.score) for hit in hits))
        for query, hits in zip(asked, found, strict=True)
    )
    chunks = {hit.chunk.chunk_id: hit.chunk for hit in keep_best(chain.from_iterable(found))}
    return Step(
        replace(turn, lists=lists, chunks=chunks), f"{len(chunks)} passages", "a retrieval service"
    )

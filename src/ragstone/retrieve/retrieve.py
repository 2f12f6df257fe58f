"""Finds candidate chunks under one filter, by the plan's strategy."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import ClassVar

from pydantic import Field

from ragstone.core.chunk import MADE, Chunk
from ragstone.core.document import STRUCK
from ragstone.core.errors import IndexUnavailable, UnknownCollection
from ragstone.core.events import Note
from ragstone.core.foreign_passages import keep_best
from ragstone.core.records import Collection
from ragstone.core.turn import IN_ORDER, Hit, RankedList, Scored, Turn
from ragstone.engine.stage import Emit, Stage, Step, run_part
from ragstone.language.edition_names import asks_what_was
from ragstone.language.language import detect
from ragstone.language.late_interaction import EncodedQuestion
from ragstone.language.words import content_word_set
from ragstone.ports import Adapters, Retriever, find_collection
from ragstone.retrieve.documents_saying import documents_saying
from ragstone.retrieve.fusion import fuse
from ragstone.retrieve.penalties import score_share
from ragstone.retrieve.searching import (
    CollectionCandidates,
    Searching,
    across_languages,
    bridge,
    foreign_weight,
    visible,
    visible_summaries,
)
from ragstone.retrieve.searching import weights as base
from ragstone.retrieve.strategies import STRATEGIES
from ragstone.retrieve.whole_document import whole_document

FEW = 0.1
"""The share of passages in other languages up to which those in the question's keep their scores:
there they are no translations of each other."""

FOREIGN = 0.98
"""Share of the score that a passage in another language than the question keeps: of two that
answer equally, the one in the question's language comes first."""


@dataclass(frozen=True, slots=True)
class ListFusion:
    """Fuses the lists, raises chunks whose title speaks of the question, and lowers kinds that
    rarely answer."""

    rrf_k: int
    """Damping of ranks where lists are fused by rank."""
    title_boost: float
    """Share added to the score when the title says it all."""

    async def run(self, turn: Turn, adapters: Adapters) -> Step:
        """Return the part of the stage `retrieve` that does so."""
        plan = turn.plan
        weights = replace(base(plan, turn.feedback, turn.parts), rrf_k=self.rrf_k)
        scores = fuse(turn.lists, weights)
        reason = f"by {plan.fusion}, meaning {plan.dense_weight:g}, words {1 - plan.dense_weight:g}"
        foreign = _foreign(turn, adapters)
        if foreign and turn.collection:
            share = foreign_weight(turn.queries[0], turn.collection, adapters)
            by_meaning = replace(weights, dense=max(weights.dense, share))
            some = len(foreign) > FEW * len(turn.chunks)
            scores = _across(scores, fuse(turn.lists, by_meaning), foreign, some)
            reason += f"; {len(foreign)} in another language, meaning {share:g}"
        hits = sorted(self._hits(turn, scores), key=lambda hit: (-hit.score, hit.chunk.chunk_id))
        return Step(
            replace(turn, hits=tuple(hits)), f"{len(hits)} of {len(turn.chunks)} candidates", reason
        )

    def _hits(self, turn: Turn, scores: Mapping[str, float]) -> Iterable[Hit]:
        dense, bm25 = _best_scores(turn.lists, "dense"), _best_scores(turn.lists, "bm25")
        boost = self.title_boost
        asked_for_past = any(map(asks_what_was, (turn.ask.question, *turn.queries)))
        left_out = MADE if asked_for_past else (*MADE, STRUCK)
        rated = _best_scores(turn.lists, "service")
        asked = content_word_set(" ".join(turn.queries)) if boost else frozenset[str]()
        for chunk_id, score in scores.items():
            chunk = turn.chunks.get(chunk_id)
            if chunk is not None and chunk.kind not in left_out:
                if chunk_id not in rated:
                    score *= score_share(chunk)
                    score *= (1 + boost * _title_coverage(asked, chunk)) / (1 + boost)
                yield Hit(chunk, score, dense.get(chunk_id), bm25.get(chunk_id))


def _foreign(turn: Turn, adapters: Adapters) -> frozenset[str]:
    """Return the chunks in another language than the question, where the collection's embedder
    compares languages; none where the question's language is unclear."""
    collection = turn.collection
    if collection is None or not across_languages(turn.ask, collection, adapters):
        return frozenset()
    asked = detect(turn.queries[0])
    if not asked:
        return frozenset()
    languages = {id: chunk.language or collection.language for id, chunk in turn.chunks.items()}
    return frozenset(id for id, own in languages.items() if own not in ("", "mul", asked))


def _across(
    scores: Mapping[str, float],
    meant: Mapping[str, float],
    foreign: frozenset[str],
    translated: bool,
) -> dict[str, float]:
    """Return the scores by words and meaning, those across languages by meaning almost only. If a
    passage in the question's language may have a translation, it gets the better of both, so that
    it is not behind that."""
    return {
        item: FOREIGN * meant[item] if item in foreign else max(score, meant[item] * translated)
        for item, score in scores.items()
    }


def _title_coverage(asked: frozenset[str], chunk: Chunk) -> float:
    """Return the share of the question's words that the title holds."""
    return len(asked & content_word_set(chunk.title)) / len(asked) if asked else 0.0


def _best_scores(lists: Iterable[RankedList], source: str) -> dict[str, float]:
    """Return each chunk's best raw score among the lists of one source."""
    best: dict[str, float] = {}
    for ranked in lists:
        if ranked.source == source:
            for scored in ranked.found:
                best[scored.chunk_id] = max(scored.score, best.get(scored.chunk_id, scored.score))
    return best


MIXED_DENSE_WEIGHT = 0.65
"""Share of meaning by which candidates are chosen where the passages have several languages."""


class Retrieve(Stage):
    """Searches the collection and reads the best candidates, in one consistent view of it."""

    name: ClassVar[str] = "retrieve"
    needs: ClassVar[frozenset[str]] = frozenset({"plan", "queries"})
    gives: ClassVar[frozenset[str]] = frozenset({"lists", "chunks", "hits", "notes"})
    searches: ClassVar[bool] = True

    rrf_k: int = Field(30, ge=1, description="Damping of ranks where lists are fused by rank.")
    title_boost: float = Field(
        0.0, ge=0, le=100, description="Share added to the score when the title says it all."
    )

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        step = await self._collect(turn, adapters, emit)
        work = ListFusion(self.rrf_k, self.title_boost).run(step.turn, adapters)
        fused = await run_part(self, "fuse", step.turn, work, fails="closed")
        return replace(step, turn=fused.turn)

    async def _collect(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        ask, plan = turn.ask, turn.plan
        if adapters.external_retriever:
            try:
                return await _external_step(turn, adapters.external_retriever)
            except IndexUnavailable as error:
                await emit(Note(self.name, f"{error} The local index answers instead."))
        collection = await find_collection(adapters.catalog, ask)
        if collection is None and adapters.external_retriever:
            return Step(turn, "nothing", "the collection is the service's alone")
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
                _candidates(search, turn.queries), _unready(turn, collection, adapters)
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
                    id: chunk.with_collection(collection.name) for id, chunk in found.chunks.items()
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
    """Return the sentence that says how many of the documents that the asker may read have no
    vectors yet; empty if all have them."""
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
    """Return what a retrieval service finds for every query and imagined passage, with its scores;
    of two passages with one id the better one."""
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

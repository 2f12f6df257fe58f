"""Searching one collection for one question: what every strategy is made of."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ragstone.core.chunk import Chunk, answering_id
from ragstone.core.filters import NO_QUESTION, And, AnyOf, Filter, Not, fields_of, readable
from ragstone.core.records import Collection
from ragstone.core.turn import Ask, Plan, RankedList, Scored
from ragstone.language.language import detect
from ragstone.language.late_interaction import EncodedQuestion
from ragstone.ports import Adapters, BridgingEmbedder, LateEmbedder, Search, Vectors
from ragstone.retrieve.fusion import FusionWeights, fuse

FEEDBACK_CHUNKS = 5
"""Chunks that refine a topical question; 3 and 10 measured the same
(`benchmarks/results/notes.md`)."""

FOREIGN_DENSE_WEIGHT = 0.9
"""Share of meaning for a passage in another language than the question: their words agree only in
names and numbers, or by accident."""

BRIDGED_DENSE_WEIGHT = 0.6
"""The same where the question's words are looked up in English."""

LEAST_FEEDBACK = 0.2
"""A smaller share changes nothing that is worth a second search."""


@dataclass(frozen=True, slots=True)
class CollectionCandidates:
    """Ranked lists, the chunks worth reading, the question's vectors, the feedback's share,
    whether the chunks are a whole document, or a section of one, in order, and a sentence for the
    reader where they were not found as was asked."""

    lists: tuple[RankedList, ...]
    chunks: dict[str, Chunk]
    encoded: EncodedQuestion | None = None
    feedback: float = 0.0
    whole: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Searching:
    """One collection under one filter, for the time of one search. `readers` are the names of
    whoever asks, which the filter holds too."""

    adapters: Adapters
    collection: Collection
    where: Filter
    plan: Plan
    imagined: tuple[str, ...] = ()
    parts: bool = False
    known: tuple[str, EncodedQuestion] | None = None
    """A question that has been encoded already."""
    bridge: BridgingEmbedder | None = None
    """What encodes the question, where it is in another language than the collection's embedder
    knows."""
    readers: tuple[str, ...] = ()

    def weights(self, feedback: float = 0.0) -> FusionWeights:
        """How the lists of this search are fused."""
        return weights(self.plan, feedback, self.parts)

    async def encode(self, queries: Sequence[str]) -> tuple[Vectors, EncodedQuestion]:
        """The vectors of `queries`, and the first one for late interaction."""
        if self.bridge is not None:
            vectors = await self.bridge.embed_queries(queries)
            return vectors, EncodedQuestion(vectors[0])
        embedder = self.adapters.embedders.of(self.collection)
        if self.known and list(queries) == [self.known[0]]:
            return self.known[1].vector[None], self.known[1]
        if not isinstance(embedder, LateEmbedder):
            vectors = await embedder.embed_queries(queries)
            return vectors, EncodedQuestion(vectors[0])
        if len(queries) == 1:
            first = await embedder.embed_question(queries[0])
            return first.vector[None], first
        first, others = await asyncio.gather(
            embedder.embed_question(queries[0]), embedder.embed_queries(queries[1:])
        )
        return np.concatenate([first.vector[None], others]), first

    async def lists(
        self, meant: Iterable[tuple[str, Vectors]], worded: Sequence[str]
    ) -> list[RankedList]:
        """By meaning for queries with their vectors, by words for others; one call of the index,
        which searches for all of them at once."""
        searches = [Search(query, vector) for query, vector in meant]
        asked = [one.text for one in searches] + list(worded)
        searches += [Search(await self._in_words(query)) for query in worded]
        found = await self.adapters.index.search(
            self.collection, searches, self.where, self.plan.candidates
        )
        return [_of_chunks(one, query) for one, query in zip(found, asked, strict=True)]

    async def _in_words(self, query: str) -> str:
        """The query as it is searched by words: with English ones where it is in another language
        than the collection."""
        return f"{query} {await self.bridge.in_english(query)}" if self.bridge else query

    async def refined(
        self, question: EncodedQuestion, query: str, lists: Sequence[RankedList]
    ) -> RankedList | None:
        """A second search by meaning, with the question moved towards the first results.

        Pseudo relevance feedback in the space of the vectors after Rocchio (1971): the question
        plus the mean of the best chunks, weighted by their scores.
        """
        best = dict(list(fuse(lists, self.weights()).items())[:FEEDBACK_CHUNKS])
        near = await self.adapters.index.vectors(self.collection, list(best))
        if not near:
            return None
        mean = sum(best[one] * vector for one, vector in near.items())
        length = float(np.linalg.norm(mean))
        moved = question.vector + mean / length if length else question.vector
        moved = (moved / np.linalg.norm(moved)).astype(np.float32)
        [found] = await self.adapters.index.search(
            self.collection, [Search(query, moved)], self.where, self.plan.candidates
        )
        return replace(_of_chunks(found, query), source="feedback")

    async def read(
        self, lists: Sequence[RankedList], feedback: float, most: int
    ) -> dict[str, Chunk]:
        """The best chunks of the lists."""
        best = list(fuse(lists, self.weights(feedback)))[:most]
        return await self.adapters.index.fetch(self.collection, best)

    def within(self, document_ids: Sequence[str]) -> "Searching":
        """The same search, in these documents only."""
        narrowed = And((self.where, AnyOf("document_id", tuple(document_ids))))
        return replace(self, where=narrowed)


def weights(plan: Plan, feedback: float = 0.0, parts: bool = False) -> FusionWeights:
    """How the plan fuses lists; `parts` if further queries ask for parts of the answer."""
    parts = parts or plan.strategy == "iterative"
    return FusionWeights(plan.dense_weight, feedback, plan.fusion, parts=parts)


def across_languages(ask: Ask, collection: Collection, adapters: Adapters) -> bool:
    """Whether a question may be compared with passages in other languages by meaning."""
    multilingual = adapters.embedders.of(collection).multilingual
    bridged = adapters.embedders.bridging(collection) is not None
    return ask.wanted.dense_weight is None and (multilingual or bridged)


def foreign_weight(question: str, collection: Collection, adapters: Adapters) -> float:
    """The share of meaning for passages in another language than the question."""
    bridged = bridge(question, collection, adapters)
    return FOREIGN_DENSE_WEIGHT if bridged is None else BRIDGED_DENSE_WEIGHT


def bridge(question: str, collection: Collection, adapters: Adapters) -> BridgingEmbedder | None:
    """What encodes a question that is in another language than the collection's embedder knows."""
    if detect(question) in ("", "en"):
        return None
    return adapters.embedders.bridging(collection)


def visible(ask: Ask, hidden: frozenset[str]) -> Filter:
    """What this question may be answered from."""
    parts: list[Filter] = [readable(ask.principal)]
    if ask.where is not None:
        parts.append(ask.where)
    if hidden:
        parts.append(Not(AnyOf("revision", tuple(sorted(hidden)))))
    if ask.where is not None and OWN_FIELDS & fields_of(ask.where):
        parts.append(NO_QUESTION)
    return And(tuple(parts))


OWN_FIELDS = frozenset({"kind", "chunk_id"})
"""What a hypothetical question has of its own; all else that filters ask for is its chunk's."""


def _of_chunks(ranked: RankedList, query: str) -> RankedList:
    """The list with the chunk that it is about in the place of each hypothetical question; of one
    chunk the first place counts."""
    best: dict[str, Scored] = {}
    for one in ranked.found:
        chunk_id = answering_id(one.chunk_id)
        best.setdefault(chunk_id, replace(one, chunk_id=chunk_id))
    return replace(ranked, query=query, found=tuple(best.values()))

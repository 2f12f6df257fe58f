"""Searching one collection for one question: what every strategy is made of."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ragstone.core.chunk import SUMMARY, Chunk, SummaryNode, answer_id, chunk_id, is_summary_id
from ragstone.core.filters import (
    METADATA,
    NO_SUMMARY,
    OWN_TEXT,
    And,
    AnyOf,
    Filter,
    eq,
    exclude_hidden,
    filter_fields,
    reader_filter,
)
from ragstone.core.records import Collection
from ragstone.core.turn import Ask, Plan, RankedList, Scored
from ragstone.language.language import detect
from ragstone.language.late_interaction import EncodedQuestion, LateQuery
from ragstone.ports import (
    Adapters,
    BridgingEmbedder,
    Embedder,
    EquatingEmbedder,
    LateEmbedder,
    Search,
    Vectors,
)
from ragstone.retrieve.fusion import FusionWeights, fuse

FEEDBACK_CHUNKS = 5
"""Chunks that refine a topical question; 3 and 10 measured the same
(`benchmarks/results/notes.md`)."""

FOREIGN_DENSE_WEIGHT = 0.9
"""Share of meaning for a passage in another language than the question: their words agree only in
names and numbers, or by accident."""

BRIDGED_DENSE_WEIGHT = 0.6
"""The same where the question's words are looked up in English."""

SUMMARIES = 10
"""Summaries that one search finds at most, beside its chunks."""

OF_A_SUMMARY = 3
"""The chunks that a summary finds: those of the sentences that tell most of it."""

MIN_FEEDBACK = 0.2
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
    summaries: Filter | None = None
    """Under which summaries are searched beside the chunks; None where they are not."""
    readers: tuple[str, ...] = ()

    def weights(self, feedback: float = 0.0) -> FusionWeights:
        """Tell how the lists of this search are fused."""
        return weights(self.plan, feedback, self.parts)

    async def encode(self, queries: Sequence[str]) -> tuple[Vectors, EncodedQuestion]:
        """Return the vectors of `queries`, and the first one for late interaction."""
        if self.bridge is not None:
            vectors = await self.bridge.embed_queries(queries)
            return vectors, EncodedQuestion(vectors[0])
        embedder = self.adapters.embedders.find_indexing(self.collection)
        vectors, first = await self._embed(embedder, queries)
        if isinstance(embedder, EquatingEmbedder):
            languages = await self.adapters.statistics.languages(self.collection)
            vectors = embedder.equate_languages(vectors, languages)
            first = replace(first, vector=vectors[0])
        return vectors, first

    async def _embed(
        self, embedder: Embedder, queries: Sequence[str]
    ) -> tuple[Vectors, EncodedQuestion]:
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
        self,
        meant: Iterable[tuple[str, Vectors]],
        worded: Sequence[str],
        encoded: EncodedQuestion | None = None,
    ) -> list[RankedList]:
        """By meaning for queries with their vectors, by words for others, and by late interaction
        for the first one that is `encoded`, where the collection is searched by it; one call of the
        index, which searches for all of them at once."""
        searches = [Search(query, vector) for query, vector in meant]
        late = await self._late(encoded) if encoded else None
        if late is not None:
            searches.append(Search(searches[0].text, late=late))
        asked = [search.text for search in searches] + list(worded)
        searches += [Search(await self._in_words(query)) for query in worded]
        index, found = self.adapters.index, await self._search_lists(searches)
        if self.summaries is not None:
            near = await index.search(self.collection, searches, self.summaries, SUMMARIES)
            found = await self._with_summaries(found, near)
        return [_of_chunks(item, query) for item, query in zip(found, asked, strict=True)]

    async def _late(self, encoded: EncodedQuestion) -> LateQuery | None:
        if not (self.collection.late and self.plan.late_weight):
            return None
        return await self.adapters.statistics.late_query(self.collection, encoded)

    async def _search_lists(self, searches: Sequence[Search]) -> list[RankedList]:
        """Return what is found but summaries, which are searched apart. Few collections have some,
        and none is to pay for a filter of them, so it is searched again where there were any."""
        index, most = self.adapters.index, self.plan.candidates
        found = await index.search(self.collection, searches, self.where, most)
        if any(is_summary_id(item.chunk_id) for ranked in found for item in ranked.found):
            where = And((self.where, NO_SUMMARY))
            found = await index.search(self.collection, searches, where, most)
        return found

    async def _with_summaries(
        self, found: Sequence[RankedList], near: Sequence[RankedList]
    ) -> list[RankedList]:
        """Return the lists with the chunks of the summaries that were found as near: what a summary
        has of the question its best sentences have, of which each alone may have less."""
        ids = dict.fromkeys(item.chunk_id for ranked in near for item in ranked.found)
        nodes = await self.adapters.index.fetch(self.collection, list(ids))
        below = {id: _summary_chunks(node) for id, node in nodes.items()}
        return [
            _insert_summarized(ranked, summaries, below, self.plan.candidates)
            for ranked, summaries in zip(found, near, strict=True)
        ]

    async def _in_words(self, query: str) -> str:
        """Return the query as it is searched by words: with English ones where it is in another
        language than the collection."""
        return f"{query} {await self.bridge.english_words(query)}" if self.bridge else query

    async def refine(
        self, question: EncodedQuestion, query: str, lists: Sequence[RankedList]
    ) -> RankedList | None:
        """Return a second search by meaning, with the question moved towards the first results.

        Pseudo relevance feedback in the space of the vectors after Rocchio (1971): the question
        plus the mean of the best chunks, weighted by their scores.
        """
        best = dict(list(fuse(lists, self.weights()).items())[:FEEDBACK_CHUNKS])
        near = await self.adapters.index.vectors(self.collection, list(best))
        if not near:
            return None
        mean = sum(best[item] * vector for item, vector in near.items())
        length = float(np.linalg.norm(mean))
        moved = question.vector + mean / length if length else question.vector
        moved = (moved / np.linalg.norm(moved)).astype(np.float32)
        [found] = await self._search_lists([Search(query, moved)])
        return replace(_of_chunks(found, query), source="feedback")

    async def read(
        self, lists: Sequence[RankedList], feedback: float, most: int
    ) -> dict[str, Chunk]:
        """Return the best chunks of the lists."""
        best = list(fuse(lists, self.weights(feedback)))[:most]
        return await self.adapters.index.fetch(self.collection, best)

    def limit_to_documents(self, document_ids: Sequence[str]) -> "Searching":
        """Return the same search, in these documents only."""
        those = AnyOf("document_id", tuple(document_ids))
        summaries = And((self.summaries, those)) if self.summaries is not None else None
        return replace(self, where=And((self.where, those)), summaries=summaries)


def weights(plan: Plan, feedback: float = 0.0, parts: bool = False) -> FusionWeights:
    """Tell how the plan fuses lists; `parts` if further queries ask for parts of the answer."""
    parts = parts or plan.strategy == "iterative"
    return FusionWeights(
        plan.dense_weight, feedback, plan.fusion, parts=parts, late=plan.late_weight
    )


def across_languages(ask: Ask, collection: Collection, adapters: Adapters) -> bool:
    """Tell whether a question may be compared with passages in other languages by meaning."""
    multilingual = adapters.embedders.find_indexing(collection).multilingual
    bridged = adapters.embedders.find_bridging(collection) is not None
    return ask.wanted.dense_weight is None and (multilingual or bridged)


def foreign_weight(question: str, collection: Collection, adapters: Adapters) -> float:
    """Return the share of meaning for passages in another language than the question."""
    bridged = bridge(question, collection, adapters)
    return FOREIGN_DENSE_WEIGHT if bridged is None else BRIDGED_DENSE_WEIGHT


def bridge(question: str, collection: Collection, adapters: Adapters) -> BridgingEmbedder | None:
    """What encodes a question that is in another language than the collection's embedder knows."""
    if detect(question) in ("", "en"):
        return None
    return adapters.embedders.find_bridging(collection)


def visible(ask: Ask, hidden: frozenset[str]) -> Filter:
    """Return what this question may be answered from, and summaries of that."""
    parts = _conditions(ask, hidden)
    if ask.where is not None and OWN_FIELDS & filter_fields(ask.where):
        parts.append(OWN_TEXT)
    return And(tuple(parts))


def visible_summaries(ask: Ask, hidden: frozenset[str]) -> Filter | None:
    """Return the summaries that a question may find chunks by; None where it asks for chunks by
    what differs among those of one document, of which a summary would find others too."""
    fields = filter_fields(ask.where) if ask.where is not None else frozenset[str]()
    if any(field not in OF_DOCUMENTS and not field.startswith(METADATA) for field in fields):
        return None
    return And((*_conditions(ask, hidden), eq("kind", SUMMARY)))


def _conditions(ask: Ask, hidden: frozenset[str]) -> list[Filter]:
    parts: list[Filter] = [reader_filter(ask.principal)]
    if ask.where is not None:
        parts.append(ask.where)
    if hidden:
        parts.append(exclude_hidden(hidden))
    return parts


OWN_FIELDS = frozenset({"kind", "chunk_id"})
"""What a hypothetical question has of its own; all else that filters ask for is its chunk's."""

OF_DOCUMENTS = frozenset(
    {
        "tenant",
        "collection",
        "document_id",
        "revision",
        "version",
        "allowed",
        "path",
        "folders",
        "media_type",
        "modified",
    }
)
"""Fields that are the same in all chunks of a document."""


def _summary_chunks(summary: Chunk) -> list[str]:
    """Return the chunks that a summary finds."""
    said = SummaryNode.decode(summary.layout).said[:OF_A_SUMMARY]
    places = dict.fromkeys(item.chunk_index for item in said)
    return [chunk_id(summary.document_id, summary.version, place) for place in places]


def _insert_summarized(
    ranked: RankedList, summaries: RankedList, below: Mapping[str, Sequence[str]], most: int
) -> RankedList:
    """The list with the chunks of the summaries in their places; of one chunk the best counts."""
    best = {item.chunk_id: item.score for item in ranked.found}
    for item in summaries.found:
        for id in below.get(item.chunk_id, ()):
            best[id] = max(item.score, best.get(id, item.score))
    order = sorted(best, key=lambda id: (-best[id], id))
    return replace(ranked, found=tuple(Scored(id, best[id]) for id in order[:most]))


def _of_chunks(ranked: RankedList, query: str) -> RankedList:
    """Return the list with the chunk that it is about in the place of each hypothetical question;
    of one chunk the first place counts."""
    best: dict[str, Scored] = {}
    for item in ranked.found:
        chunk_id = answer_id(item.chunk_id)
        about = item if chunk_id == item.chunk_id else replace(item, chunk_id=chunk_id)
        best.setdefault(chunk_id, about)
    return replace(ranked, query=query, found=tuple(best.values()))

"""The forbidden topics in memory: a list of phrases and one small matrix for each embedder.

A tenant has tens to thousands of topics, which are all compared with every question: the exact
product with 15,000 vectors takes 3 ms, less than a search of any index. The vectors are kept in
the state store, so that nothing is embedded again at a start.
"""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ragstone.core.clock import has_failed
from ragstone.core.errors import StateUnavailable
from ragstone.core.records import BlockedQuestion, MatchType, Topic, TopicMatch
from ragstone.guard.likeness import CONTEXTUAL, EXACT, SYNONYM, likeness
from ragstone.language.language import detect
from ragstone.language.phrases import Phrases
from ragstone.language.sentences import sentences
from ragstone.language.unicode import replace_surrogates
from ragstone.ports import Embedder, Embedders, TopicStore, Vectors

BATCH = 16
"""Texts embedded at a time, so that questions come in between."""

LONG = 200
MAX_PIECES = 16
"""A text longer than LONG characters is also compared sentence by sentence, the first and the last
of them: a topic in a long text has little weight in its vector."""

NEAREST = 10
PIECE_CHARS = 2000

_TYPES: tuple[tuple[float, MatchType], ...] = (
    (EXACT, "exact"),
    (SYNONYM, "synonym"),
    (CONTEXTUAL, "contextual"),
    (0.0, "weak"),
)


@dataclass(frozen=True)
class TopicMatrix:
    """Unit vectors of topics' texts, one row each. Those of the topic at `places[i]` in the list
    begin at row `starts[i]`."""

    vectors: Vectors
    places: tuple[int, ...]
    starts: NDArray[np.int64]
    embedder: Embedder

    @classmethod
    def of(
        cls, chosen: Sequence[tuple[int, Topic]], kept: Mapping[str, bytes], embedder: Embedder
    ) -> "TopicMatrix":
        """Return the matrix of topics with their places in the list, from what `pack_vectors` made
        of them."""
        rows = b"".join(kept[topic.id] for _, topic in chosen)
        vectors = np.frombuffer(rows, "<f4").reshape(-1, embedder.dimensions)
        sizes = [len(topic_texts(topic)) for _, topic in chosen]
        starts = np.cumsum([0, *sizes], dtype=np.int64)[:-1]
        places = tuple(place for place, _ in chosen)
        return cls(vectors.astype(np.float32), places, starts, embedder)

    async def near(self, text: str, least: float) -> list[tuple[int, float]]:
        """The places of the topics that `text` is like from a score of `least`, best first."""
        asked = await self.embedder.embed_queries(_pieces(text))
        return await asyncio.to_thread(self._scores, asked, least)

    def _scores(self, asked: Vectors, least: float) -> list[tuple[int, float]]:
        """Return their places, and their best score over their texts and the question's pieces."""
        # One by one: the product with a vector is half again as fast as with a matrix of one.
        cosines = np.max([self.vectors @ piece for piece in asked], axis=0)
        scores = likeness(np.maximum.reduceat(cosines, self.starts), self.embedder.cosines)
        near = np.flatnonzero(scores >= least)
        best = near[np.argsort(-scores[near], kind="stable")][:NEAREST]
        return [(self.places[i], float(scores[i])) for i in best]


async def pack_vectors(topics: Sequence[Topic], embedder: Embedder) -> dict[str, bytes]:
    """Return the vectors of the texts of each topic, by its id, as they are stored."""
    # All are embedded as queries, because questions are compared with questions.
    texts = [text for topic in topics for text in topic_texts(topic)]
    parts = [np.zeros((0, embedder.dimensions), np.float32)]
    for start in range(0, len(texts), BATCH):
        parts.append(await embedder.embed_queries(texts[start : start + BATCH]))
    vectors = np.concatenate(parts).astype("<f4")
    made, at = dict[str, bytes](), 0
    for topic in topics:
        made[topic.id] = vectors[at : at + len(topic_texts(topic))].tobytes()
        at += len(topic_texts(topic))
    return made


def topic_texts(topic: Topic) -> tuple[str, ...]:
    """Return what a question is compared with."""
    return (topic.term, *topic.synonyms, *topic.examples)


def match_topic(topic: Topic, score: float) -> TopicMatch:
    """Return what a score says of a topic."""
    kind = next(name for least, name in _TYPES if score >= least)
    return TopicMatch(topic, kind, score)


def _pieces(text: str) -> list[str]:
    if len(text) <= LONG:
        return [text]
    parts = [text[span.start : span.end] for span in sentences(text)]
    half = MAX_PIECES // 2
    chosen = parts if len(parts) <= MAX_PIECES else parts[:half] + parts[-half:]
    return [text[:PIECE_CHARS], *(part[:PIECE_CHARS] for part in chosen)]


log = logging.getLogger(__name__)

FOREIGN = 2000
"""Latin texts that a multilingual model embeds too, so that a question in another language finds
them; a longer list is found by that language's own terms only."""

FRESH = 1.0
"""Seconds after which it is asked whether another server has changed a list."""

BLOCKED_DAYS = 90
"""For how long blocked questions are kept for review: those of a quarter."""

INLINE_CHARS = 2000

_BEYOND_LATIN = 0x370
_ENGLISH, _OTHER = "en", "zh"
"""A language for each of the bundled models."""


@dataclass
class _List:
    """One tenant's topics, and the search structures made from them."""

    topics: tuple[Topic, ...]
    phrases: Phrases
    owners: Mapping[str, list[TopicMatch]]
    matrices: dict[str, "asyncio.Task[TopicMatrix]"] = field(default_factory=dict)


class TopicCollection:
    """`ports.Topics` on a store; `open` makes one."""

    def __init__(self, store: TopicStore, embedders: Embedders, keep_days: int) -> None:
        self._store = store
        self._embedders = embedders
        self._keep_days = keep_days
        self._lists: dict[str, _List] = {}
        self._editing = asyncio.Lock()
        self._number = -1
        self._until = 0.0

    @classmethod
    async def open(
        cls, store: TopicStore, embedders: Embedders, keep_days: int
    ) -> "TopicCollection":
        """Read every tenant's list. Blocked questions are kept for `keep_days`, if any."""
        opened = cls(store, embedders, keep_days)
        await opened._read_changes()
        return opened

    async def reload(self) -> None:
        self._number, self._until = -1, 0.0
        await self._refresh()

    async def list_all(self, tenant: str) -> Sequence[Topic]:
        await self._refresh()
        return self._topics(tenant)

    def _topics(self, tenant: str) -> Sequence[Topic]:
        known = self._lists.get(tenant)
        return known.topics if known else ()

    async def _refresh(self) -> None:
        """Read the changes of other servers, unless the lists are fresh."""
        if time.monotonic() < self._until or self._editing.locked():
            return
        async with self._editing:
            try:
                await self._read_changes()
            except StateUnavailable as error:
                log.warning("The forbidden topics stay as they were: %s", error)

    async def _read_changes(self) -> None:
        """Read the lists again if they have changed; unchanged topics keep their vectors."""
        number = await self._store.number()
        if number != self._number:
            stored = await self._store.tenants()
            for tenant in self._lists.keys() - stored.keys():
                del self._lists[tenant]
            for tenant, topics in stored.items():
                new = await asyncio.to_thread(_topic_list, topics)
                if new.topics != self._topics(tenant):
                    self._lists[tenant] = new
            self._number = number
        self._until = time.monotonic() + FRESH

    async def find_named(self, tenant: str, texts: Sequence[str]) -> list[list[TopicMatch]]:
        await self._refresh()
        known = self._lists.get(tenant)
        if known is None:
            return [[] for _ in texts]
        if sum(map(len, texts)) > INLINE_CHARS:
            return await asyncio.to_thread(lambda: [_term_matches(known, text) for text in texts])
        return [_term_matches(known, text) for text in texts]

    async def alike(
        self, tenant: str, texts: Sequence[str], least: float
    ) -> list[list[TopicMatch]]:
        await self._refresh()
        known = self._lists.get(tenant)
        if known is None or not known.topics:
            return [[] for _ in texts]
        return await asyncio.gather(*(self._similar_topics(known, text, least) for text in texts))

    async def put(self, tenant: str, topics: Sequence[Topic]) -> None:
        async with self._editing:
            await self._read_changes()
            new = {topic.id: topic for topic in topics}
            kept = [topic for topic in self._topics(tenant) if topic.id not in new]
            changed = await asyncio.to_thread(_topic_list, [*kept, *new.values()])
            vectors = await self._new_vectors(list(new.values()))
            await self._store.put(list(new.values()))
            for fingerprint, packed in vectors.items():
                await self._store.keep_vectors(fingerprint, packed)
            self._lists[tenant] = changed

    async def remove(self, tenant: str, ids: Sequence[str]) -> None:
        async with self._editing:
            await self._read_changes()
            gone = set(ids)
            await self._store.remove([t.id for t in self._topics(tenant) if t.id in gone])
            kept = [topic for topic in self._topics(tenant) if topic.id not in gone]
            if kept:
                self._lists[tenant] = await asyncio.to_thread(_topic_list, kept)
            else:
                self._lists.pop(tenant, None)

    async def record(self, blocked: BlockedQuestion) -> None:
        if self._keep_days:
            await self._store.record(blocked, self._keep_days)

    async def list_blocked(self, tenant: str, limit: int) -> list[BlockedQuestion]:
        return await self._store.list_blocked(tenant, limit)

    async def aclose(self) -> None:
        """Cancel the embeddings that are still running."""
        tasks = [task for known in self._lists.values() for task in known.matrices.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _new_vectors(self, topics: Sequence[Topic]) -> dict[str, dict[str, bytes]]:
        """Vectors of new topics by the model of their own language, by fingerprint and id."""
        made: dict[str, dict[str, bytes]] = {}
        for language in (_ENGLISH, _OTHER):
            embedder = self._embedders.choose(language)
            own = [topic for topic in topics if self._is_topic_embedder(topic, embedder)]
            if own and embedder.fingerprint not in made:
                made[embedder.fingerprint] = await pack_vectors(own, embedder)
        return made

    def _is_topic_embedder(self, topic: Topic, embedder: Embedder) -> bool:
        """Tell whether this is the model for the topic's script: the one for English for Latin."""
        latin = all(ord(char) < _BEYOND_LATIN for char in topic.term)
        best = self._embedders.choose(_ENGLISH if latin else _OTHER)
        return best.fingerprint == embedder.fingerprint

    async def _similar_topics(self, known: _List, text: str, least: float) -> list[TopicMatch]:
        embedder = self._embedders.choose(detect(text))
        matrix = await self._matrix(known, embedder)
        if not len(matrix.vectors):
            language = _ENGLISH if embedder.multilingual else _OTHER
            matrix = await self._matrix(known, self._embedders.choose(language))
        if not len(matrix.vectors):
            return []
        best = await matrix.near(replace_surrogates(text), least)
        return [match_topic(known.topics[place], score) for place, score in best]

    async def _matrix(self, known: _List, embedder: Embedder) -> TopicMatrix:
        """Return the matrix for an embedder, made once; who waits for it may leave."""
        task = known.matrices.get(embedder.fingerprint)
        if task is None or has_failed(task):
            task = asyncio.create_task(self._build_matrix(known, embedder))
            known.matrices[embedder.fingerprint] = task
        return await asyncio.shield(task)

    async def _build_matrix(self, known: _List, embedder: Embedder) -> TopicMatrix:
        """The stored vectors of the topics, completed by the embedder where they are missing."""
        topics, tenant = known.topics, known.topics[0].tenant
        kept = await self._store.vectors(tenant, embedder.fingerprint)
        foreign = sum(len(topic_texts(topic)) for topic in topics) <= FOREIGN
        chosen = [
            (place, topic)
            for place, topic in enumerate(topics)
            if self._is_topic_embedder(topic, embedder) or (foreign and embedder.multilingual)
        ]
        missing = [topic for _, topic in chosen if topic.id not in kept]
        added = await pack_vectors(missing, embedder)
        if added:
            async with self._editing:
                # A topic that was changed meanwhile must not get the vectors of its old text.
                if self._lists.get(tenant) is known:
                    await self._store.keep_vectors(embedder.fingerprint, added)
        return TopicMatrix.of(chosen, {**kept, **added}, embedder)


def _topic_list(topics: Sequence[Topic]) -> _List:
    ordered = tuple(sorted(topics, key=lambda topic: (topic.term, topic.id)))
    owners: dict[str, list[TopicMatch]] = {}
    for topic in ordered:
        owners.setdefault(topic.term, []).append(TopicMatch(topic, "exact", 1.0))
        for synonym in topic.synonyms:
            owners.setdefault(synonym, []).append(TopicMatch(topic, "synonym", 0.9))
    return _List(ordered, Phrases(owners), owners)


def _term_matches(known: _List, text: str) -> list[TopicMatch]:
    found = [
        TopicMatch(match.topic, match.match, match.score, (phrase.start, phrase.end))
        for phrase in known.phrases.find(text)
        for match in known.owners[phrase.phrase]
    ]
    return sorted(found, key=lambda match: -match.score)

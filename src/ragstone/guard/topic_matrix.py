"""Forbidden topics as unit vectors in one small matrix, and which of them a text is near to."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragstone.core.records import MatchType, Topic, TopicMatch
from ragstone.guard.likeness import CONTEXTUAL, EXACT, SYNONYM, likeness
from ragstone.language.sentences import sentences
from ragstone.ports import Embedder, Vectors

BATCH = 16
"""Texts embedded at a time, so that questions come in between."""

LONG = 200
MOST_PIECES = 16
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
        """The matrix of topics with their places in the list, from what `pack_vectors` made of
        them."""
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
        """Their places, and their best score over their texts and the question's pieces."""
        # One by one: the product with a vector is half again as fast as with a matrix of one.
        cosines = np.max([self.vectors @ piece for piece in asked], axis=0)
        scores = likeness(np.maximum.reduceat(cosines, self.starts), self.embedder.cosines)
        near = np.flatnonzero(scores >= least)
        best = near[np.argsort(-scores[near], kind="stable")][:NEAREST]
        return [(self.places[i], float(scores[i])) for i in best]


async def pack_vectors(topics: Sequence[Topic], embedder: Embedder) -> dict[str, bytes]:
    """The vectors of the texts of each topic, by its id, as they are stored."""
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
    """What a question is compared with."""
    return (topic.term, *topic.synonyms, *topic.examples)


def match_topic(topic: Topic, score: float) -> TopicMatch:
    """What a score says of a topic."""
    kind = next(name for least, name in _TYPES if score >= least)
    return TopicMatch(topic, kind, score)


def _pieces(text: str) -> list[str]:
    if len(text) <= LONG:
        return [text]
    parts = [text[span.start : span.end] for span in sentences(text)]
    half = MOST_PIECES // 2
    chosen = parts if len(parts) <= MOST_PIECES else parts[:half] + parts[-half:]
    return [text[:PIECE_CHARS], *(part[:PIECE_CHARS] for part in chosen)]

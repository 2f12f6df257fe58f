"""How rare tokens are in each collection, and its languages, from a sample of its chunks that is
kept for a while."""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragstone.core.chunk import Chunk
from ragstone.core.records import Collection
from ragstone.language.late_interaction import EncodedQuestion, LateQuery, late_query
from ragstone.language.words import inverse_document_frequency
from ragstone.ports import ChunkIndex, Embedder, Embedders, LateEmbedder

BROAD, NARROW = 0.25, 0.40
"""Mean rarity of the tokens of a topical and of a specific question. Between them lie most
questions: cranfield .25 to .38 (a narrow field, broad questions), squad2_dev .32 to .56."""


@dataclass(frozen=True, slots=True)
class Rarity:
    """Document frequencies of token ids among `sampled` chunks."""

    sampled: int
    frequency: Counter[int]

    @classmethod
    def of(cls, texts: Iterable[Iterable[int]]) -> "Rarity":
        """Count in how many of `texts` (their token ids) each token occurs."""
        frequency: Counter[int] = Counter()
        sampled = 0
        for ids in texts:
            frequency.update(set(ids))
            sampled += 1
        return cls(sampled, frequency)

    def idf(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """Compute the inverse document frequencies (n,), as BM25 defines them."""
        found = (self.frequency.get(token, 0) for token in ids)
        return np.array(
            [inverse_document_frequency(self.sampled, holding) for holding in found], np.float32
        )

    def specificity(self, ids: Sequence[int]) -> float:
        """Tell how specific a question of these tokens is for the collection, 0 (topical) to 1.

        The mean inverse document frequency, a predictor of how well the words alone will do
        (He and Ounis, "Inferring query performance", 2004), by its greatest possible value.
        """
        if not len(ids) or not self.sampled:
            return 1.0
        mean = float(self.idf(ids).mean()) / math.log(self.sampled + 1)
        return min(1.0, max(0.0, (mean - BROAD) / (NARROW - BROAD)))


SAMPLE = 1000
"""Chunks in the sample. The index scans in the order of ids, which are hashes, so the first ones
are a fair sample; the ranking is the same as with all of them (`benchmarks/results/notes.md`)."""

SECONDS = 600.0
"""How long a sample is used."""

GROWTH_SECONDS = 5.0
"""How long the sample of a collection that has fewer chunks than that is used."""


MIN_LANGUAGE = 0.01
"""Share of the sample from which a language counts: names and code are taken for others."""


@dataclass(frozen=True, slots=True)
class _Sample:
    rarity: Rarity
    languages: frozenset[str]
    until: float


class SampledRarity:
    """`ports.Statistics` for collections whose embedder gives token ids."""

    def __init__(self, index: ChunkIndex, embedders: Embedders) -> None:
        self._index = index
        self._embedders = embedders
        self._kept: dict[Collection, _Sample] = {}
        self._sampling: dict[Collection, asyncio.Task[_Sample]] = {}

    async def specificity(self, collection: Collection, question: str) -> float | None:
        embedder = self._embedders.find_indexing(collection)
        if not isinstance(embedder, LateEmbedder):
            return None
        [ids] = await embedder.token_ids([question])
        return (await self.rarity(collection, embedder)).specificity(ids)

    async def late_query(
        self, collection: Collection, question: EncodedQuestion
    ) -> LateQuery | None:
        embedder = self._embedders.find_indexing(collection)
        if question.tokens is None or not isinstance(embedder, LateEmbedder):
            return None
        ids = question.tokens.ids.tolist()
        rarity = await self.rarity(collection, embedder)
        weights = embedder.token_weights(ids, rarity.idf(ids))
        return late_query(question.tokens, weights, embedder.token_scale())

    async def rarity(self, collection: Collection, embedder: LateEmbedder) -> Rarity:
        """Return the rarity of the embedder's tokens in `collection`."""
        return (await self._sample(collection, embedder)).rarity

    async def languages(self, collection: Collection) -> frozenset[str]:
        embedder = self._embedders.find_indexing(collection)
        return (await self._sample(collection, embedder)).languages

    async def _sample(self, collection: Collection, embedder: Embedder) -> _Sample:
        kept = self._kept.get(collection)
        if kept and time.monotonic() < kept.until:
            return kept
        task = self._sampling.get(collection)
        if task is None:
            task = asyncio.create_task(self._read_sample(collection, embedder))
            self._sampling[collection] = task
        return kept if kept else await asyncio.shield(task)

    async def _read_sample(self, collection: Collection, embedder: Embedder) -> _Sample:
        try:
            found: list[Chunk] = []
            async for chunks in self._index.scan(collection, batch=SAMPLE):
                found = chunks
                break
            texts = [chunk.searchable for chunk in found]
            ids = await embedder.token_ids(texts) if isinstance(embedder, LateEmbedder) else []
            counts = Counter(chunk.language for chunk in found if chunk.language)
            least = MIN_LANGUAGE * counts.total()
            lasts = SECONDS if len(found) >= SAMPLE else GROWTH_SECONDS
            sample = _Sample(
                Rarity.of(ids),
                frozenset(language for language, number in counts.items() if number >= least),
                time.monotonic() + lasts,
            )
            self._kept[collection] = sample
            return sample
        finally:
            self._sampling.pop(collection, None)

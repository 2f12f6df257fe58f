"""How rare tokens are in each collection, from a sample of its chunks that is kept for a while."""

import asyncio
import time
from dataclasses import dataclass

from ragstone.core.records import Collection
from ragstone.ports import ChunkIndex, Embedders, LateEmbedder
from ragstone.retrieve.rarity import Rarity

SAMPLE = 1000
"""Chunks in the sample. The index scans in the order of ids, which are hashes, so the first ones
are a fair sample; the ranking is the same as with all of them (`benchmarks/results/notes.md`)."""

SECONDS = 600.0
"""How long a sample is used."""

GROWTH_SECONDS = 5.0
"""How long the sample of a collection that has fewer chunks than that is used."""


@dataclass(frozen=True, slots=True)
class _Kept:
    rarity: Rarity
    until: float


class SampledRarity:
    """`ports.Statistics` for collections whose embedder gives token ids."""

    def __init__(self, index: ChunkIndex, embedders: Embedders) -> None:
        self._index = index
        self._embedders = embedders
        self._kept: dict[Collection, _Kept] = {}
        self._sampling: dict[Collection, asyncio.Task[Rarity]] = {}

    async def specificity(self, collection: Collection, question: str) -> float | None:
        embedder = self._embedders.of(collection)
        if not isinstance(embedder, LateEmbedder):
            return None
        [ids] = await embedder.token_ids([question])
        return (await self.rarity(collection, embedder)).specificity(ids)

    async def rarity(self, collection: Collection, embedder: LateEmbedder) -> Rarity:
        """The rarity of the embedder's tokens in `collection`."""
        kept = self._kept.get(collection)
        if kept and time.monotonic() < kept.until:
            return kept.rarity
        task = self._sampling.get(collection)
        if task is None:
            task = asyncio.create_task(self._sample(collection, embedder))
            self._sampling[collection] = task
        return kept.rarity if kept else await asyncio.shield(task)

    async def _sample(self, collection: Collection, embedder: LateEmbedder) -> Rarity:
        try:
            texts: list[str] = []
            async for chunks in self._index.scan(collection, batch=SAMPLE):
                texts = [chunk.searchable for chunk in chunks]
                break
            rarity = Rarity.of(await embedder.token_ids(texts) if texts else [])
            lasts = SECONDS if len(texts) >= SAMPLE else GROWTH_SECONDS
            self._kept[collection] = _Kept(rarity, time.monotonic() + lasts)
            return rarity
        finally:
            self._sampling.pop(collection, None)

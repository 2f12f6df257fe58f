"""An index where every collection is in the place that small ones share, beside a neighbour that
holds chunks of the same ids."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ragstone.core.chunk import Chunk
from ragstone.core.records import Collection
from ragstone.ports import Vectors


class SharedWithOthers:
    """`ports.ChunkIndex` over one that can share. What is written is written to the neighbour too,
    with words and readers that no other chunk has, and is never deleted there."""

    searches_late = True

    def __init__(self, index: Any) -> None:
        self._index = index

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._index, name)
        return lambda collection, *rest, **named: method(
            replace(collection, shared=True), *rest, **named
        )

    async def upsert(
        self,
        collection: Collection,
        chunks: Sequence[Chunk],
        vectors: Vectors | None = None,
        tokens: Sequence[bytes] | None = None,
    ) -> None:
        await self._index.upsert(replace(collection, shared=True), chunks, vectors, tokens)
        theirs = [replace(chunk, text=f"neighbour {chunk.text}") for chunk in chunks]
        await self._index.upsert(neighbour(collection), theirs, vectors, tokens)

    async def ready(self) -> None:
        await self._index.ready()

    async def aclose(self) -> None:
        await self._index.aclose()


def neighbour(collection: Collection) -> Collection:
    """Another collection in the same place."""
    return replace(collection, id=f"{collection.id} beside", shared=True)

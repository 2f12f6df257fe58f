"""Gives chunks their vectors, behind the text: the index itself knows which ones wait.

While one batch is in the model, the next is read and the last is written, so that the model is
never idle for the index's sake.
"""

import asyncio
from collections.abc import Callable, Sequence

from ragstone.core.chunk import Chunk
from ragstone.core.records import Collection
from ragstone.ports import Catalog, ChunkIndex, Embedder, Embedders, LateEmbedder, Vectors

BATCH = 64
"""Chunks in one call of the embedder: enough to sort by length, few enough to show progress."""

IDLE_SECONDS = 0.05


async def embed_pending(
    index: ChunkIndex,
    catalog: Catalog,
    embedders: Embedders,
    collection: Collection,
    more_to_come: Callable[[], bool],
    report: Callable[[int], None],
    with_tokens: bool = True,
) -> None:
    """Embed until nothing waits and `more_to_come` says no; `report` hears each batch's size.

    `with_tokens` keeps the token vectors of embedders that give them.
    """
    embedder, bridge = embedders.of(collection), embedders.bridging(collection)
    writer = _Writer(index, collection, report)
    try:
        while True:
            last = not more_to_come()
            await _embed_waiting(index, embedder, bridge, collection, writer, with_tokens)
            await _mark_ready(index, catalog, collection)
            if last:
                return
            await asyncio.sleep(IDLE_SECONDS)
    finally:
        await writer.settle()


async def embed(
    embedder: Embedder, chunks: Sequence[Chunk], with_tokens: bool, bridge: Embedder | None = None
) -> tuple[Vectors, list[bytes] | None]:
    """The chunks' vectors, and their token vectors if they are wanted and the model gives them.
    Where there is a `bridge`, it gives those in other languages than English theirs."""
    texts = [chunk.searchable for chunk in chunks]
    tokens: list[bytes] | None = None
    if with_tokens and isinstance(embedder, LateEmbedder):
        vectors, tokens = await embedder.embed_with_tokens(texts)
    else:
        vectors = await embedder.embed_passages(texts)
    foreign = [place for place, chunk in enumerate(chunks) if chunk.language not in ("", "en")]
    if bridge and foreign:
        vectors[foreign] = await bridge.embed_passages([texts[place] for place in foreign])
    return vectors, tokens


async def _embed_waiting(
    index: ChunkIndex,
    embedder: Embedder,
    bridge: Embedder | None,
    collection: Collection,
    writer: "_Writer",
    with_tokens: bool,
) -> None:
    """Embed until nothing waits: read, embed and write three batches at a time."""
    batch = await _chunks_without_vectors(index, collection, set())
    while batch:
        async with asyncio.TaskGroup() as group:
            vectors = group.create_task(embed(embedder, batch, with_tokens, bridge))
            await writer.settle()
            following = await _chunks_without_vectors(
                index, collection, {c.chunk_id for c in batch}
            )
        writer.begin(batch, *vectors.result())
        batch = following
    await writer.settle()


async def _chunks_without_vectors(
    index: ChunkIndex, collection: Collection, busy: set[str]
) -> list[Chunk]:
    found = await index.without_vectors(collection, len(busy) + BATCH)
    return [chunk for chunk in found if chunk.chunk_id not in busy][:BATCH]


class _Writer:
    """Writes one batch of vectors at a time, in the background."""

    def __init__(
        self, index: ChunkIndex, collection: Collection, report: Callable[[int], None]
    ) -> None:
        self._index = index
        self._collection = collection
        self._report = report
        self._task: asyncio.Task[None] | None = None

    def begin(
        self, batch: Sequence[Chunk], vectors: Vectors, tokens: Sequence[bytes] | None
    ) -> None:
        self._task = asyncio.create_task(self._write(batch, vectors, tokens))

    async def settle(self) -> None:
        """Wait for the batch that is being written; leaving early does not stop it."""
        if self._task is not None:
            await asyncio.shield(self._task)

    async def _write(
        self, batch: Sequence[Chunk], vectors: Vectors, tokens: Sequence[bytes] | None
    ) -> None:
        ids = [chunk.chunk_id for chunk in batch]
        await self._index.set_vectors(self._collection, ids, vectors, tokens)
        self._report(len(batch))


async def _mark_ready(index: ChunkIndex, catalog: Catalog, collection: Collection) -> None:
    """Documents that had their text before a scan found nothing waiting have all vectors."""
    documents = await catalog.documents(collection.tenant, collection.id, status="text")
    if documents and not await index.without_vectors(collection, 1):
        await catalog.embedded([document.id for document in documents])

"""Writes a backup while everything goes on."""

import asyncio
import time
from collections.abc import AsyncGenerator, Set
from functools import partial
from pathlib import Path

from ragstone import __version__
from ragstone.backup.archive import ArchivePart, ArchiveWriter, Batch, Manifest
from ragstone.core.errors import InputError
from ragstone.core.records import Collection
from ragstone.ports import Catalog, ChunkIndex, StateDump
from ragstone.service.maintenance import Upkeep

BATCH = 512


async def back_up(
    file: Path, index: ChunkIndex, catalog: Catalog, state: StateDump
) -> AsyncGenerator[Upkeep, None]:
    """Write the state and the index to `file`, as of one moment, and tell how far it is.

    A document that is changed meanwhile is in the backup as it was: nothing is purged before the
    searches that go on have ended, and this is one. New versions wait for it to end.
    """
    if await asyncio.to_thread(file.exists):
        raise InputError(f"There is a file {file} already. Choose another name.")
    writer = ArchiveWriter(file)
    await asyncio.to_thread(writer.__enter__)
    try:
        async with catalog.snapshot():
            rows, parts, live, held_then = 0, 0, set[str](), set[tuple[str, str]]()
            async with state.snapshot() as tables:
                async for table, some in tables:
                    await asyncio.to_thread(writer.rows, parts, table, some)
                    rows, parts = rows + len(some), parts + 1
                    if table == "revisions":
                        live.update(row["name"] for row in some)
                    if table == "collections":
                        held_then.update((row["tenant"], row["id"]) for row in some)
            yield Upkeep("state", rows, rows)
            held: list[ArchivePart] = []
            for collection in await catalog.collections():
                if (collection.tenant, collection.id) not in held_then:
                    continue
                saving = _Saving(writer, index, collection, len(held), live)
                async for step in saving.steps():
                    yield step
                held.append(saving.part)
        manifest = Manifest(__version__, state.schema, time.time(), rows, parts, tuple(held))
        size = await asyncio.to_thread(writer.close, manifest)
    finally:
        await asyncio.to_thread(writer.__exit__, None, None, None)
    chunks = sum(part.chunks for part in held)
    note = f"{len(held):,} collections with {chunks:,} chunks and {rows:,} rows in {size:,} bytes."
    yield Upkeep("done", chunks, chunks, finished=True, notes=(note,))


class _Saving:
    """One collection on its way into the file; `part` says what became of it."""

    def __init__(
        self,
        writer: ArchiveWriter,
        index: ChunkIndex,
        collection: Collection,
        number: int,
        live: Set[str],
    ) -> None:
        self._writer = writer
        self._index = index
        self._number = number
        self._live = live
        self.part = ArchivePart(collection, 0, 0)

    async def steps(self) -> AsyncGenerator[Upkeep, None]:
        collection = self.part.collection
        total = await self._index.count(collection)
        async for some in self._index.scan(collection, batch=BATCH):
            chunks = [chunk for chunk in some if chunk.revision in self._live]
            ids = [chunk.chunk_id for chunk in chunks]
            vectors, tokens = await asyncio.gather(
                self._index.vectors(collection, ids), self._index.tokens(collection, ids)
            )
            write = partial(self._writer.batch, self._number, self.part.batches)
            await asyncio.to_thread(write, Batch(chunks, vectors, tokens))
            self.part = ArchivePart(
                collection, self.part.chunks + len(chunks), self.part.batches + 1
            )
            yield Upkeep(collection.name, self.part.chunks, total)

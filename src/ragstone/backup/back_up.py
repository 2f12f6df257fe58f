"""Writes a backup while everything goes on."""

import asyncio
import time
from collections.abc import AsyncGenerator, Set
from functools import partial
from pathlib import Path

from ragstone import __version__
from ragstone.backup.archive import ArchivePart, ArchiveWriter, Batch, Manifest, Original
from ragstone.core.errors import InputError
from ragstone.core.records import Collection
from ragstone.ingest.handed import Originals
from ragstone.ports import Catalog, ChunkIndex, StateDump
from ragstone.service.maintenance import Upkeep

BATCH = 512


async def back_up(
    file: Path, index: ChunkIndex, catalog: Catalog, state: StateDump, originals: Originals
) -> AsyncGenerator[Upkeep, None]:
    """Write the state, the index and the uploads to `file`, as of one moment, and tell how far it
    is.

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
            documents = set[str]()
            async with state.snapshot() as tables:
                async for table, some in tables:
                    await asyncio.to_thread(writer.rows, parts, table, some)
                    rows, parts = rows + len(some), parts + 1
                    if table == "revisions":
                        live.update(row["name"] for row in some)
                    if table == "documents":
                        documents.update(row["id"] for row in some)
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
            saved = _Uploads(writer, originals, documents)
            async for step in saved.steps():
                yield step
        manifest = Manifest(
            __version__,
            state.schema,
            time.time(),
            rows,
            parts,
            tuple(held),
            originals=len(saved.written),
        )
        size = await asyncio.to_thread(writer.close, manifest)
    finally:
        await asyncio.to_thread(writer.__exit__, None, None, None)
    chunks = sum(part.chunks for part in held)
    notes = [
        f"{len(held):,} collections with {chunks:,} chunks, {len(saved.written):,} uploads and "
        f"{rows:,} rows in {size:,} bytes.",
        *saved.notes(),
    ]
    yield Upkeep("done", chunks, chunks, finished=True, notes=tuple(notes))


class _Uploads:
    """The uploads of these documents on their way into the file."""

    def __init__(self, writer: ArchiveWriter, originals: Originals, documents: Set[str]) -> None:
        self._writer = writer
        self._originals = originals
        self._documents = documents
        self._lost = 0
        self.written: list[Original] = []

    async def steps(self) -> AsyncGenerator[Upkeep, None]:
        kept = await asyncio.to_thread(self._originals.all)
        mine = [(document, file) for document, file in kept if document in self._documents]
        for done, (document, file) in enumerate(mine, 1):
            number = len(self.written)
            one = await asyncio.to_thread(self._writer.original, number, document, file)
            if one is None:
                self._lost += 1
            else:
                self.written.append(one)
            yield Upkeep("originals", done, len(mine))
        await asyncio.to_thread(self._writer.originals, self.written)

    def notes(self) -> list[str]:
        if not self._lost:
            return []
        return [f"{self._lost:,} uploads could not be read and are not in it."]


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

"""Writes a backup while everything goes on."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path

from ragstone import __version__
from ragstone.backup.archive import ArchivePart, ArchiveWriter, Batch, Manifest, Original
from ragstone.core.errors import InputError
from ragstone.core.records import Collection
from ragstone.ingest.handed import Linked, Originals
from ragstone.ports import Catalog, ChunkIndex, Row, StateDump
from ragstone.service.maintenance import Upkeep

BATCH = 512

TOLD = 20
"""Parts of the state after which it is told how far it is."""


async def back_up(
    file: Path, index: ChunkIndex, catalog: Catalog, state: StateDump, originals: Originals
) -> AsyncGenerator[Upkeep, None]:
    """Write the state, the index and the uploads to `file`, as of one moment, and tell how far it
    is.

    Nobody waits for it. What is replaced, deleted or dropped meanwhile, by whatever server, is
    hidden at once and stays in the index until this has ended.
    """
    if await asyncio.to_thread(file.exists):
        raise InputError(f"There is a file {file} already. Choose another name.")
    writer = ArchiveWriter(file)
    await asyncio.to_thread(writer.__enter__)
    links = Linked(None, ())
    try:
        async with catalog.keeping():
            rows, parts, then = 0, 0, _Then()
            async with state.snapshot() as tables:
                links = await asyncio.to_thread(originals.linked)
                async for table, some in tables:
                    await asyncio.to_thread(writer.rows, parts, table, some)
                    rows, parts = rows + len(some), parts + 1
                    then.add(table, some)
                    if parts % TOLD == 0:
                        yield Upkeep("state", rows)
            yield Upkeep("state", rows, rows)
            held: list[ArchivePart] = []
            for collection in sorted(then.collections, key=lambda one: (one.tenant, one.name)):
                saving = _Saving(writer, index, collection, len(held), then)
                async for step in saving.steps():
                    yield step
                held.append(saving.part)
        saved = _Uploads(writer, links, then.documents)
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
        await asyncio.to_thread(links.drop)
        await asyncio.to_thread(writer.__exit__, None, None, None)
    chunks = sum(part.chunks for part in held)
    notes = [
        f"{len(held):,} collections with {chunks:,} chunks, {len(saved.written):,} uploads and "
        f"{rows:,} rows in {size:,} bytes.",
        *saved.notes(),
    ]
    yield Upkeep("done", chunks, chunks, finished=True, notes=tuple(notes))


@dataclass
class _Then:
    """What there was at the moment of the backup: collections, documents, the revisions that
    answered, and how many chunks each collection had."""

    collections: list[Collection] = field(default_factory=list)
    documents: set[str] = field(default_factory=set)
    live: set[str] = field(default_factory=set)
    chunks: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, table: str, rows: list[Row]) -> None:
        """Take up some rows of the state."""
        if table == "revisions":
            self.live.update(row["name"] for row in rows)
        if table == "documents":
            self.documents.update(row["id"] for row in rows)
            for row in rows:
                self.chunks[row["tenant"], row["collection"]] += row["chunks"]
        if table == "collections":
            names = [one.name for one in fields(Collection)]
            self.collections += (Collection(**{name: row[name] for name in names}) for row in rows)


class _Uploads:
    """The uploads of these documents on their way into the file."""

    def __init__(self, writer: ArchiveWriter, links: Linked, documents: set[str]) -> None:
        self._writer = writer
        self._mine = [(one, file) for one, file in links.files if one in documents]
        self._lost = 0
        self.written: list[Original] = []

    async def steps(self) -> AsyncGenerator[Upkeep, None]:
        for done, (document, file) in enumerate(self._mine, 1):
            number = len(self.written)
            one = await asyncio.to_thread(self._writer.original, number, document, file)
            if one is None:
                self._lost += 1
            else:
                self.written.append(one)
            yield Upkeep("originals", done, len(self._mine))
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
        then: _Then,
    ) -> None:
        self._writer = writer
        self._index = index
        self._number = number
        self._live = then.live
        self._total = then.chunks[collection.tenant, collection.id]
        self.part = ArchivePart(collection, 0, 0)

    async def steps(self) -> AsyncGenerator[Upkeep, None]:
        collection = self.part.collection
        async for some in self._index.scan(collection, batch=BATCH):
            chunks = [chunk for chunk in some if chunk.revision in self._live]
            ids = [chunk.chunk_id for chunk in chunks]
            vectors, tokens = await asyncio.gather(
                self._index.vectors(collection, ids), self._index.tokens(collection, ids)
            )
            write = partial(self._writer.batch, self._number, self.part.batches)
            await asyncio.to_thread(write, Batch(chunks, vectors, tokens))
            done = self.part.chunks + len(chunks)
            self.part = ArchivePart(collection, done, self.part.batches + 1)
            # Summaries are chunks that no document counts.
            yield Upkeep(collection.name, done, max(done, self._total))

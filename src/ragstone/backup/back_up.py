"""Writes a backup while everything goes on."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Container, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragstone import __version__
from ragstone.backup.chain import MAX_FILES, Chain, checksum
from ragstone.backup.manifest import (
    FORMAT,
    INCREMENTAL,
    ArchivePart,
    Batch,
    ChunkRecord,
    Digests,
    Manifest,
    Original,
    digest_array,
    new_id,
    places,
    sort_digests,
)
from ragstone.backup.writer import (
    ArchiveWriter,
    Member,
    PackedOriginal,
    chunk_records,
    pack_batch,
    pack_gone,
    pack_original,
    pack_rows,
)
from ragstone.core.chunk import Chunk
from ragstone.core.errors import InputError
from ragstone.core.records import Collection
from ragstone.core.wording import format_count
from ragstone.ingest.uploads import Linked, Originals
from ragstone.ports import Catalog, ChunkIndex, Row, StateDump
from ragstone.service.maintenance import Upkeep

BATCH = 512

TOLD = 20
"""Parts of the state after which it is told how far it is."""

AT_ONCE = 2
"""Batches that are read, and others that are compressed, at the same time. More gain nothing: most
of reading is Python's own work, of which one thread at a time does some, and questions would wait.
Each batch is in memory: a few megabytes, and twenty with token vectors."""


async def write_backup(
    file: Path,
    index: ChunkIndex,
    catalog: Catalog,
    state: StateDump,
    originals: Originals,
    since: Path | None = None,
    at_once: int = AT_ONCE,
) -> AsyncGenerator[Upkeep, None]:
    """Write the state, the index and the uploads to `file`, as of one moment, and tell how far it
    is; with `since`, of index and uploads only what that backup and those before it lack.

    Nobody waits for it. What is replaced, deleted or dropped meanwhile, by whatever server, is
    hidden at once and stays in the index until this has ended. Raises InputError.
    """
    if await asyncio.to_thread(file.exists):
        raise InputError(f"There is a file {file} already. Choose another name.")
    chain = await asyncio.to_thread(_open_chain, since) if since else None
    try:
        if chain:
            checking = chain.check(parse=False)  # What wrote them knew what it wrote.
            while done := await asyncio.to_thread(next, checking, 0):
                yield Upkeep("earlier backups", done, len(chain))
            await asyncio.to_thread(lambda: chain.base)
        async with aclosing(
            _Backup(file, index, state, originals, chain, at_once).steps(catalog)
        ) as steps:
            async for step in steps:
                yield step
    finally:
        if chain:
            await asyncio.to_thread(chain.close)


def _open_chain(since: Path) -> Chain:
    chain = Chain(since)
    if len(chain) == MAX_FILES:
        chain.close()
        raise InputError(
            f"{since.name} continues {MAX_FILES - 1} others, which is as many as can be. Write a "
            "whole backup."
        )
    return chain


class _Backup:
    """A backup on its way into its file."""

    def __init__(
        self,
        file: Path,
        index: ChunkIndex,
        state: StateDump,
        originals: Originals,
        chain: Chain | None,
        at_once: int,
    ) -> None:
        self._writer = ArchiveWriter(file)
        self._index = index
        self._state = state
        self._originals = originals
        self._chain = chain
        self._at_once = at_once
        self._packing = _Packing(self._writer, at_once)

    async def steps(self, catalog: Catalog) -> AsyncGenerator[Upkeep, None]:
        writer, packing, chain = self._writer, self._packing, self._chain
        await asyncio.to_thread(writer.__enter__)
        links = Linked(None, ())
        try:
            async with catalog.keep_all():
                rows, parts, then = 0, 0, _Then()
                async with self._state.snapshot() as tables:
                    links = await asyncio.to_thread(self._originals.link_all)
                    async for table, some in tables:
                        await packing.add(partial(pack_rows, parts, table, some))
                        rows, parts = rows + len(some), parts + 1
                        then.add(table, some)
                        if parts % TOLD == 0:
                            yield Upkeep("state", rows)
                # The order of a backup must not depend on the database.
                collections = sorted(then.collections, key=lambda item: (item.tenant, item.name))
                if chain:
                    _check_related(chain, collections)
                yield Upkeep("state", rows, rows)
                saving = [
                    self._begin_saving(collection, number, then)
                    for number, collection in enumerate(collections)
                ]
                async with aclosing(self._save(saving)) as saved:
                    async for step in saved:
                        yield step
            uploads = _Uploads(writer, links, then.documents, chain, self._at_once)
            async for step in uploads.steps():
                yield step
            manifest = Manifest(
                __version__,
                self._state.schema,
                time.time(),
                rows,
                parts,
                tuple(item.part() for item in saving),
                INCREMENTAL if chain else FORMAT,
                len(uploads.told),
                new_id(),
                chain.base if chain else None,
            )
            size = await asyncio.to_thread(writer.close, manifest)
        finally:
            await packing.aclose()
            await asyncio.to_thread(links.drop)
            await asyncio.to_thread(writer.__exit__, None, None, None)
        chunks = sum(part.chunks for part in manifest.parts)
        written = len(uploads.told) - uploads.kept_count
        notes = [
            f"{format_count(len(saving), 'collection')} with {format_count(chunks, 'chunk')}, "
            f"{format_count(written, 'upload')} and {format_count(rows, 'row')} in {size:,} bytes.",
            *self._describe_chain(manifest, uploads),
            *uploads.notes(),
        ]
        yield Upkeep("done", chunks, chunks, finished=True, notes=tuple(notes))

    def _begin_saving(self, collection: Collection, number: int, then: "_Then") -> "_Saving":
        key, held = (collection.tenant, collection.id), None
        if self._chain:
            held = self._chain.content.get(key, sort_digests(()))
        return _Saving(collection, number, then, held)

    async def _save(self, saving: Sequence["_Saving"]) -> AsyncGenerator[Upkeep, None]:
        """Write the chunks of all collections: some are read while others are compressed."""
        reading: deque[tuple[_Saving, asyncio.Task[_Read]]] = deque()
        try:
            for item in saving:
                async for some in self._index.scan(item.collection, batch=BATCH):
                    reading.append((item, asyncio.create_task(self._read(item, some))))
                    while len(reading) >= self._at_once:
                        yield await self._take_first(reading)
                item.last = True
                if not any(of is item for of, _ in reading):
                    await self._pack(item.rest())
            while reading:
                yield await self._take_first(reading)
            await self._packing.finish()
        finally:
            await _cancel([task for _, task in reading])

    async def _read(self, saving: "_Saving", some: Sequence[Chunk]) -> "_Read":
        """The chunks of a batch that the earlier backups lack, and which of them they have."""
        chunks = saving.as_then(some)
        ids = [chunk.chunk_id for chunk in chunks]
        vectors, tokens = await asyncio.gather(
            self._index.vectors(saving.collection, ids), self._index.tokens(saving.collection, ids)
        )
        return await asyncio.to_thread(saving.compare, Batch(chunks, vectors, tokens))

    async def _take_first(self, reading: deque[tuple["_Saving", "asyncio.Task[_Read]"]]) -> Upkeep:
        saving, task = reading[0]
        await self._pack(saving.take(await task))
        reading.popleft()
        if saving.last and not any(of is saving for of, _ in reading):
            await self._pack(saving.rest())
        # Summaries are chunks that no document counts.
        return Upkeep(saving.collection.name, saving.done, max(saving.done, saving.expected))

    async def _pack(self, packs: Sequence[Callable[[], list[Member]]]) -> None:
        for pack in packs:
            await self._packing.add(pack)

    def _describe_chain(self, manifest: Manifest, uploads: "_Uploads") -> list[str]:
        if not manifest.base:
            return []
        kept, files = sum(part.kept for part in manifest.parts), len(self._chain or ()) + 1
        return [
            f"It continues {manifest.base.name}: {format_count(kept, 'chunk')} and "
            f"{format_count(uploads.kept_count, 'upload')} are in earlier files. To restore it, "
            f"all {files:,} are needed."
        ]


def _check_related(chain: Chain, collections: Sequence[Collection]) -> None:
    """Raise InputError if a backup has nothing to do with what is to be written."""
    theirs = {part.key for part in chain.manifest.parts}
    if theirs and not theirs & {(collection.tenant, collection.id) for collection in collections}:
        raise InputError(
            f"{chain.last.file.name} is a backup of another Ragstone, or of one that has nothing "
            "of it any more: no collection in it is here. Write a whole backup, without --since."
        )


async def _cancel(tasks: Sequence["asyncio.Task[object]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class _Packing:
    """What is compressed, several at a time, and then written in its order."""

    def __init__(self, writer: ArchiveWriter, at_once: int) -> None:
        self._writer = writer
        self._at_once = at_once
        self._tasks: deque[asyncio.Task[list[Member]]] = deque()

    async def add(self, pack: Callable[[], list[Member]]) -> None:
        """Have something compressed, once there is room."""
        self._tasks.append(asyncio.create_task(asyncio.to_thread(pack)))
        while len(self._tasks) >= self._at_once:
            await self._write_first()

    async def finish(self) -> None:
        """Write all."""
        while self._tasks:
            await self._write_first()

    async def _write_first(self) -> None:
        members = await self._tasks[0]
        self._tasks.popleft()
        await asyncio.to_thread(self._writer.add, members)

    async def aclose(self) -> None:
        """Give up what is not written."""
        await _cancel(list(self._tasks))


@dataclass
class _Then:
    """What there was at the moment of the backup: collections, documents, the revisions that
    answered, and how many chunks each collection had."""

    collections: list[Collection] = field(default_factory=list)
    documents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Those who might read them, which may change while their chunks are written."""
    live: set[str] = field(default_factory=set)
    chunks: Counter[tuple[str, str]] = field(default_factory=Counter)
    readers: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    """Each list of readers once: many documents have the same."""

    def add(self, table: str, rows: list[Row]) -> None:
        """Take up some rows of the state."""
        if table == "revisions":
            self.live.update(row["name"] for row in rows)
        if table == "documents":
            for row in rows:
                allowed = tuple(row["allowed"])
                self.documents[row["id"]] = self.readers.setdefault(allowed, allowed)
                self.chunks[row["tenant"], row["collection"]] += row["chunks"]
        if table == "collections":
            names = [item.name for item in fields(Collection)]
            self.collections += (Collection(**{name: row[name] for name in names}) for row in rows)


@dataclass(frozen=True, slots=True)
class _Read:
    """Of a batch, what is to be written, its digests if they are wanted, and where the others stand
    among what is held."""

    new: Sequence[ChunkRecord]
    digests: Sequence[bytes] = ()
    kept: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))


class _Saving:
    """One collection on its way into the file. Of what the earlier backups of an incremental one
    have, `held`, nothing is written again. `last` says that everything was scanned."""

    def __init__(
        self, collection: Collection, number: int, then: _Then, held: Digests | None
    ) -> None:
        self.collection = collection
        self.expected = then.chunks[collection.tenant, collection.id]
        self._then = then
        self.done = 0
        self.last = False
        self._number = number
        self._held = held
        self._seen = np.zeros(0 if held is None else len(held), bool)
        self._waiting: list[ChunkRecord] = []
        self._written: list[bytes] = []
        self._chunks = self._batches = 0

    def as_then(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Return those of some chunks that answered at the moment of the backup, for who might read
        them then."""
        allowed = self._then.documents
        return [
            chunk
            if chunk.allowed == allowed.get(chunk.document_id, chunk.allowed)
            else replace(chunk, allowed=allowed[chunk.document_id])
            for chunk in chunks
            # Revisions that were published meanwhile are not in the state that was written.
            if chunk.revision in self._then.live
        ]

    def compare(self, batch: Batch) -> _Read:
        """Find what is held; for a thread."""
        records = chunk_records(batch)
        if self._held is None:
            return _Read(records)
        digests = [record.digest for record in records]
        found = places(digest_array(digests), self._held)
        new = np.flatnonzero(found < 0)
        return _Read(
            [records[at] for at in new.tolist()],
            [digests[at] for at in new.tolist()],
            found[found >= 0],
        )

    def take(self, read: _Read) -> list[Callable[[], list[Member]]]:
        """Take up a batch; what is to be compressed now."""
        self.done += len(read.new) + len(read.kept)
        self._seen[read.kept] = True
        self._waiting += read.new
        self._written += read.digests
        ready = []
        while len(self._waiting) >= BATCH:
            ready.append(self._pack(BATCH))
        return ready

    def rest(self) -> list[Callable[[], list[Member]]]:
        """Return what is to be compressed when everything was taken up."""
        last = [self._pack(BATCH)] if self._waiting else []
        gone = sort_digests(()) if self._held is None else self._held[~self._seen]
        return [*last, partial(pack_gone, self._number, gone)]

    def _pack(self, most: int) -> Callable[[], list[Member]]:
        some, self._waiting = self._waiting[:most], self._waiting[most:]
        pack = partial(pack_batch, self._number, self._batches, some)
        self._chunks, self._batches = self._chunks + len(some), self._batches + 1
        return pack

    def part(self) -> ArchivePart:
        """Return what became of it."""
        if self._held is None:
            return ArchivePart(self.collection, self._chunks, self._batches)
        kept = self._held[self._seen]
        content = checksum(sort_digests((kept.tobytes(), *self._written)))
        gone = len(self._held) - len(kept)
        return ArchivePart(self.collection, self._chunks, self._batches, len(kept), gone, content)


class _Uploads:
    """The uploads of these documents on their way into the file."""

    def __init__(
        self,
        writer: ArchiveWriter,
        links: Linked,
        documents: Container[str],
        chain: Chain | None,
        at_once: int,
    ) -> None:
        self._writer = writer
        self._mine = [(item, file) for item, file in links.files if item in documents]
        self._held = chain.has_upload if chain else None
        self._at_once = at_once
        self._lost = 0
        self.told: list[Original] = []

    @property
    def kept_count(self) -> int:
        """How many an earlier backup has."""
        return sum(item.kept for item in self.told)

    async def steps(self) -> AsyncGenerator[Upkeep, None]:
        """Several are read and compressed at once."""
        reading: deque[asyncio.Task[PackedOriginal | None]] = deque()
        mine = iter(self._mine)
        try:
            for done in range(1, len(self._mine) + 1):
                for document, file in islice(mine, self._at_once - len(reading)):
                    work = partial(pack_original, document, file, self._held)
                    reading.append(asyncio.create_task(asyncio.to_thread(work)))
                await self._take(await reading[0])
                reading.popleft()
                yield Upkeep("originals", done, len(self._mine))
        finally:
            await _cancel(list(reading))
        await asyncio.to_thread(self._writer.originals, self.told)

    async def _take(self, packed: PackedOriginal | None) -> None:
        write = partial(self._writer.original, len(self.told))
        one = await asyncio.to_thread(write, packed) if packed else None
        if one is None:
            self._lost += 1
        else:
            self.told.append(one)

    def notes(self) -> list[str]:
        if not self._lost:
            return []
        return [f"{format_count(self._lost, 'upload')} could not be read and thus not saved."]

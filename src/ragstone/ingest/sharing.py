"""What of an ingest other processes do: files that they read, and chunks that they embed. Of a
rebuild they embed chunks.

The process that runs the ingest goes on as if it were alone. While there are other processes it
offers some of the files and chunks that it would come to last, and does them itself if nobody takes
them, or whoever took them could not do them.

Parts of ingests that other processes run: files to read and write, chunks to embed.

What happens to a part's documents is told to whoever runs the ingest, who keeps the account of it.
"""

import asyncio
import logging
import socket
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from ragstone.core.errors import (
    DocumentError,
    EmptyDocument,
    StateUnavailable,
    UnknownCollection,
    UnreadableDocument,
)
from ragstone.core.records import Collection, Document
from ragstone.ingest import file_threads, uploads
from ragstone.ingest.batch_writer import BatchWriter, Done
from ragstone.ingest.comparison import ChangedFile
from ragstone.ingest.embedding import Pending, embed_chunks
from ragstone.ingest.files import FoundFile
from ragstone.ingest.parse_process import PARSE_PROCESSES
from ragstone.ingest.progress import Tracker
from ragstone.ingest.write import Writer, Written
from ragstone.ports import Catalog, ChunkIndex, Embedders, Parts
from ragstone.ports.jobs import DONE, EMBED_PART, FAILED, QUEUED, READ_PART, RUNNING, Job, NewPart
from ragstone.service import wire
from ragstone.settings import IngestSettings

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.25
"""How often it is looked what others have done."""

WAITING = 10_000
"""Changed files that wait for a process which reads them: comparing goes ahead, so that the time
that is left is known soon."""

MAX_FILES, MIN_FILES, MAX_BYTES = 64, 4, 64 << 20
MAX_CHUNKS, MIN_CHUNKS = 1_024, 32
"""The size of a part. It is less towards the end, that all end at once."""

SHORT_SECONDS, LONG_SECONDS = 4.0, 10.0
"""How long it takes others to embed a part: one that was done sooner is followed by larger ones,
one that took longer by smaller ones."""

WAITING_EACH = 2
"""Parts of a kind that wait for each other process: the next one is there when one is done."""

DEATHS = 2
"""Processes that may die of a part before it is done where the ingest runs."""

Refuse = Callable[[ChangedFile, DocumentError], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ReadOutcome:
    """How far a part is that reads files, by the ids of their documents. `back` are files that are
    not there, or not the same."""

    written: Mapping[str, Written] = field(default_factory=dict)
    failed: Mapping[str, tuple[str, bool]] = field(default_factory=dict)
    """Why, and whether it only has no text."""
    back: tuple[str, ...] = ()

    @property
    def document_ids(self) -> set[str]:
        """The documents of which something is known."""
        return {*self.written, *self.failed, *self.back}

    def format_progress(self) -> dict[str, Any]:
        """Write the progress as that of a job."""
        return {
            "written": {
                id: [item.chunks, item.pages, list(item.notes), item.embedded]
                for id, item in self.written.items()
            },
            "failed": {id: list(item) for id, item in self.failed.items()},
            "back": list(self.back),
        }

    @classmethod
    def from_progress(cls, progress: Mapping[str, Any]) -> "ReadOutcome":
        return cls(
            {
                id: Written(chunks, pages, tuple(notes), embedded)
                for id, (chunks, pages, notes, embedded) in progress.get("written", {}).items()
            },
            {id: (reason, empty) for id, (reason, empty) in progress.get("failed", {}).items()},
            tuple(progress.get("back", ())),
        )


def file_request(changed: ChangedFile) -> dict[str, Any]:
    """Return a file as the request of a part names it."""
    item = changed.item
    return {"source": item.place, "root": str(item.root), "document": wire.dump(changed.document)}


def parse_file_request(file: Mapping[str, Any], known: Document | None = None) -> ChangedFile:
    """Return the inverse of `file_request`, with the document that is known already."""
    document = wire.load(Document, file["document"])
    source, root = file["source"], Path(file["root"])
    item = FoundFile(source, document.path, root, document.size, document.modified)
    return ChangedFile(item, document, known)


class Sharing:
    """The parts of one ingest. Without `parts` nothing is shared."""

    def __init__(
        self,
        parts: Parts | None,
        job: str,
        collection: Collection,
        pending: Pending,
        tracker: Tracker,
        done: Done,
        refuse: Refuse,
    ) -> None:
        self._parts = parts
        self._job = job
        self._collection = collection
        self._pending = pending
        self._tracker = tracker
        self._done = done
        self._refuse = refuse
        self.files: asyncio.Queue[ChangedFile | None] = asyncio.Queue(WAITING)
        """Those that are to be read here, until somebody else takes them."""
        self._all_found = False
        self._reading: dict[str, dict[str, ChangedFile]] = {}
        self._embedding: dict[str, list[str]] = {}
        self._embedded: dict[str, int] = defaultdict(int)
        self._begun: dict[str, float] = {}
        self._most_chunks = 4 * MIN_CHUNKS
        self._helped: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        self._complaints: set[str] = set()
        self._ended = asyncio.Event()
        self._looked = asyncio.Event()

    @property
    def embedding(self) -> bool:
        """Whether others embed chunks that are not done."""
        return bool(self._embedding)

    def end(self) -> None:
        """Note that everything is done."""
        self._ended.set()

    async def all_read(self) -> None:
        """Wait until all is taken of the `files`, to which no more come, and others have read what
        they took; what they do not read is put there again."""
        self._all_found = True
        while self._parts and (self._reading or not self.files.empty()):
            self._looked.clear()
            await self._looked.wait()

    def count_taken(self) -> None:
        """A file was taken."""
        if self.files.empty():
            self._looked.set()

    async def run(self) -> None:
        """Offer parts of what waits, and take in what becomes of them, until the end."""
        if self._parts is None:
            return
        while not self._ended.is_set():
            try:
                await self._look(self._parts)
            except StateUnavailable as error:
                log.warning("What others do of an ingest is not known: %s", error)
            self._looked.set()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._ended.wait()
        self._say_who_helped()

    async def _look(self, parts: Parts) -> None:
        queued: dict[str, list[str]] = {READ_PART: [], EMBED_PART: []}
        over: list[str] = []
        if self._reading or self._embedding:
            there = {part.id: part for part in await parts.list_parts(self._job)}
            for part in there.values():
                await self._count_outcome(part)
                if part.state == QUEUED and part.deaths < DEATHS:
                    queued[part.kind].append(part.id)
                elif part.state != RUNNING:
                    over.append(part.id)
            over += [id for id in (*self._reading, *self._embedding) if id not in there]
            # The last part that nobody has begun comes back: waiting for it would take longer than
            # reading it here.
            if self._all_found and self.files.empty():
                over += queued[READ_PART][-1:]
            if not self._pending.chunks_in_memory and not self._pending.may_have_more:
                over += queued[EMBED_PART][-1:]
            if over:
                await self._end_parts(parts, over, set(there))
        others = await parts.others()
        if others:
            await self._offer(parts, others, {kind: len(ids) for kind, ids in queued.items()})

    async def _count_outcome(self, part: Job) -> None:
        """What is known of a part that was not known before."""
        who = part.worker or "one that died"
        if part.state == FAILED and part.error not in self._complaints:
            self._complaints.add(part.error)
            self._tracker.note(f"Another process ({who}) could not help: {part.error}")
        if part.kind == EMBED_PART:
            known = self._embedded[part.id]
            if (new := int(part.progress.get("embedded", 0)) - known) > 0:
                self._embedded[part.id] = known + new
                self._tracker.count_embedded(new)
                self._helped[who][1] += new
            self._take_time(part)
            return
        files = self._reading.get(part.id, {})
        outcome = ReadOutcome.from_progress(part.progress)
        written = [(files[id], item) for id, item in outcome.written.items() if id in files]
        if written:
            self._pending.count_written_elsewhere()
            await self._done(written)
            self._helped[who][0] += len(written)
            for changed, _ in written:
                del files[changed.document.id]
        for id, (reason, empty) in outcome.failed.items():
            if id in files:
                error = EmptyDocument(reason) if empty else DocumentError(reason)
                await self._refuse(files[id], error)
                self._helped[who][0] += 1
                del files[id]
        for id in outcome.back:
            if id in files:
                await self.files.put(files[id])
                del files[id]

    def _take_time(self, part: Job) -> None:
        """Learn from how long it takes to embed a part."""
        now = time.monotonic()
        if part.state == RUNNING:
            self._begun.setdefault(part.id, now)
        elif part.state == DONE:
            seconds = now - self._begun.pop(part.id, now)
            if seconds > LONG_SECONDS:
                # A slow process is not to hold the last chunks of an ingest.
                self._most_chunks = max(MIN_CHUNKS, self._most_chunks // 2)
            elif seconds < SHORT_SECONDS and self._embedded[part.id] == self._most_chunks:
                self._most_chunks = min(MAX_CHUNKS, self._most_chunks * 2)

    async def _end_parts(self, parts: Parts, ids: Sequence[str], there: set[str]) -> None:
        """Do here what is left of parts that are over, or that nobody works at."""
        gone = set(ids) - there | set(await parts.withdraw([id for id in ids if id in there]))
        for id in gone:
            for changed in self._reading.get(id, {}).values():
                await self.files.put(changed)
            self._reading.pop(id, None)
            self._begun.pop(id, None)
            if (chunks := self._embedding.pop(id, None)) is not None:
                if self._embedded.pop(id, 0) == len(chunks):
                    self._pending.remove_ids(chunks)
                else:
                    self._pending.put_back(chunks)

    async def _offer(self, parts: Parts, others: int, queued: Mapping[str, int]) -> None:
        """Have parts wait for the others, as long as enough is left."""
        new = []
        for _ in range(WAITING_EACH * others - queued[READ_PART]):
            # Half of an equal share, so that there is something to offer again until the end.
            most = min(MAX_FILES, self.files.qsize() // (2 * (others + 1)))
            some = list(self._some_files(most)) if most >= MIN_FILES else []
            if not some:
                break
            part = self._part(READ_PART, files=[file_request(item) for item in some])
            self._reading[part.id] = {item.document.id: item for item in some}
            new.append(part)
        for _ in range(WAITING_EACH * others - queued[EMBED_PART]):
            held = self._pending.chunks_in_memory
            most = min(
                self._most_chunks, held // (2 if self._pending.may_have_more else others + 1)
            )
            if most < MIN_CHUNKS:
                break
            ids = [chunk.chunk_id for chunk in self._pending.spare(most)]
            part = self._part(EMBED_PART, chunks=ids)
            self._embedding[part.id] = ids
            new.append(part)
        if new:
            await parts.offer(self._job, new)

    def _part(self, kind: str, **what: object) -> NewPart:
        return NewPart(uuid4().hex, kind, {"collection": wire.dump(self._collection), **what})

    def _some_files(self, most: int) -> Iterator[ChangedFile]:
        """Yield files that another process may see too; uploads are in the data directory of this
        one, and what is in an archive is known to it alone."""
        size = 0
        while most > 0 and size <= MAX_BYTES and not self.files.empty():
            changed = self.files.get_nowait()
            if changed is None or changed.item.handed is not None or changed.item.digest:
                self.files.put_nowait(changed)
                return
            most -= 1
            size += changed.item.size
            yield changed

    def _say_who_helped(self) -> None:
        if did := [
            f"{worker} read {files:,} files and embedded {chunks:,} chunks"
            for worker, (files, chunks) in sorted(self._helped.items())
            if files or chunks
        ]:
            self._tracker.note(f"Other processes helped: {'; '.join(did)}.")


Report = Callable[[Mapping[str, Any]], None]
Reads = Callable[
    [Collection, ChangedFile, Writer, BatchWriter, Pending], Awaitable[DocumentError | None]
]
"""Reads a file, to be written; gives why it cannot be read if it cannot."""


class Helping:
    """Does parts in this process."""

    def __init__(
        self,
        index: ChunkIndex,
        catalog: Catalog,
        embedders: Embedders,
        settings: IngestSettings,
        writer: Writer,
        read_file: Reads,
    ) -> None:
        self._index = index
        self._catalog = catalog
        self._embedders = embedders
        self._settings = settings
        self._writer = writer
        self._read_file = read_file

    async def read(self, part: Job, report: Report) -> None:
        """Read and write files. Raises UnreadableDocument where none of them is here."""
        collection = await self._collection(part)
        before = ReadOutcome.from_progress(part.progress)
        written, failed, back = dict(before.written), dict(before.failed), list(before.back)
        ids = [file["document"]["id"] for file in part.request["files"]]
        known = await self._catalog.find_documents(ids)
        files = [
            parse_file_request(file, known.get(id))
            for file, id in zip(part.request["files"], ids, strict=True)
            if id not in before.document_ids
        ]

        def tell() -> None:
            report(ReadOutcome(dict(written), dict(failed), tuple(back)).format_progress())

        async def finish_read(several: Sequence[tuple[ChangedFile, Written]]) -> None:
            written.update((changed.document.id, item) for changed, item in several)
            tell()

        roots = {str(changed.item.root) for changed in files}
        # The folder may be another one on this machine, or an older copy of it.
        there = await file_threads.run(roots, lambda: [_is_same(item) for item in files])
        if files and not any(there):
            raise UnreadableDocument(await file_threads.run(roots, _not_here, files))
        back += [item.document.id for item, same in zip(files, there, strict=True) if not same]
        left = iter([item for item, same in zip(files, there, strict=True) if same])
        writer = self._writer.for_part(part)
        pending = Pending(self._index, collection)  # Whoever runs the ingest sees to the vectors.

        async def read(batch: BatchWriter) -> None:
            for changed in left:
                error = await self._read_file(collection, changed, writer, batch, pending)
                if error:
                    empty = isinstance(error, EmptyDocument)
                    failed[changed.document.id] = error.message, empty
                    tell()

        try:
            async with (
                BatchWriter(writer, collection, pending, finish_read) as batch,
                asyncio.TaskGroup() as group,
            ):
                for _ in range(PARSE_PROCESSES):
                    group.create_task(read(batch))
            tell()
        finally:
            await asyncio.shield(self._catalog.mark_stopped(sorted(writer.begun)))

    async def embed(self, part: Job, report: Report) -> None:
        """Give chunks their vectors."""
        collection = await self._collection(part)
        ids: list[str] = part.request["chunks"]
        # Somebody who died may have begun with it.
        have = await self._index.vectors(collection, ids) if part.attempts > 1 else {}
        found = await self._index.fetch(collection, [id for id in ids if id not in have])
        done = len(ids) - len(found)

        def count_embedded(chunks: int) -> None:
            nonlocal done
            done += chunks
            report({"embedded": done})

        tokens = self._settings.keeps_token_vectors
        await embed_chunks(
            self._index, self._embedders, collection, list(found.values()), count_embedded, tokens
        )
        count_embedded(0)

    async def _collection(self, part: Job) -> Collection:
        collection = wire.load(Collection, part.request["collection"])
        known = await self._catalog.find_by_id(part.tenant, part.collection)
        # A rebuild makes the next one beside the one that is known.
        if known is None or collection.build not in (known.build, known.build + 1):
            raise UnknownCollection(part.collection)
        await self._index.create(collection)
        return collection


def _is_same(changed: ChangedFile) -> bool:
    """Tell whether this process sees what was found where the ingest runs."""
    document = changed.document
    try:
        return uploads.hash_document(changed.item, document)[0] == document.content_hash
    except DocumentError:
        return False


def _not_here(files: Sequence[ChangedFile]) -> str:
    source: Path = files[0].item.source
    folder = next((item for item in (source, *source.parents) if item.exists()), source)
    missing = source if folder == source else folder / source.relative_to(folder).parts[0]
    return (
        f"{socket.gethostname()} does not have {missing} as the process that runs the ingest has "
        "it. Mount the folder there too, at the same place, that it can help to read."
    )

"""Parts of ingests that other processes run: files to read and write, chunks to embed.

What happens to a part's documents is told to whoever runs the ingest, who keeps the account of it.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragstone.core.errors import DocumentError, EmptyDocument, UnknownCollection, UnreadableDocument
from ragstone.core.records import Collection
from ragstone.ingest import file_threads, uploads
from ragstone.ingest.batch_writer import BatchWriter
from ragstone.ingest.comparison import ChangedFile
from ragstone.ingest.embedding import Pending, embed_chunks
from ragstone.ingest.parse_process import PARSE_PROCESSES
from ragstone.ingest.sharing import ReadOutcome, parse_file_request
from ragstone.ingest.write import Writer, Written
from ragstone.ports import Catalog, ChunkIndex, Embedders
from ragstone.ports.jobs import Job
from ragstone.service import wire
from ragstone.settings import IngestSettings

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

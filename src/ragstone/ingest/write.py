"""Writes one document's new version: parse, chunk, index by keyword, publish.

A version is invisible until `publish`, so a crash at any point leaves the version before it
answering; doing it again from the start gives the same chunks under the same ids.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from ragstone.core.chunk import Chunk, revision
from ragstone.core.document import encode_blocks
from ragstone.core.errors import EmptyDocument
from ragstone.core.filters import eq
from ragstone.core.records import Collection, Document
from ragstone.ingest.chunk import TextPiece
from ragstone.ingest.parse_process import ParseProcesses, Reading
from ragstone.ingest.subject import subject
from ragstone.language.language import detect
from ragstone.ports import Catalog, ChunkIndex
from ragstone.settings import IngestSettings

SAMPLE_CHARS = 4000

OPENING_PIECES = 3
"""The first pieces of a document, which may say what it is about."""


def document_id(tenant: str, collection: str, path: str) -> str:
    """The same id for the same place in the collection of this id, so that a new version replaces
    the old one."""
    return str(uuid5(NAMESPACE_URL, f"ragstone:{tenant}\0{collection}\0{path}"))


@dataclass(frozen=True, slots=True)
class Written:
    """How much a document held."""

    chunks: int
    pages: int
    notes: tuple[str, ...] = ()
    """Sentences on what was left out of it."""


class Writer:
    """Writes documents; they are read in processes of their own."""

    def __init__(self, index: ChunkIndex, catalog: Catalog, settings: IngestSettings) -> None:
        self._index = index
        self._catalog = catalog
        self._processes = ParseProcesses(settings)

    async def write(
        self,
        collection: Collection,
        document: Document,
        file: Path | None = None,
        heavy: Callable[[], None] = lambda: None,
        folder: Path | None = None,
    ) -> Written:
        """Index `file`, else the one at `document.source`; raises DocumentError, and then nothing
        changed. A title that the document has already is kept. `heavy` is called if reading takes
        much memory. What the document includes must be in `folder`."""
        source = file or Path(document.source)
        async with self._processes.reading(source, heavy, folder) as reading:
            head = reading.head
            document = replace(
                document,
                title=document.title or head.title or Path(document.path).stem,
                media_type=head.media_type,
                metadata={**head.metadata, **(document.metadata or {})},
            )
            version = await self._catalog.begin(document)
            await self._index.delete(collection, eq("revision", revision(document.id, version)))
            written = await self._write_chunks(collection, document, version, reading)
        if not written.chunks:
            raise EmptyDocument("The file holds no text.")
        document = replace(document, chunks=written.chunks, pages=written.pages)
        await self._catalog.publish(document, version)
        return written

    async def _write_chunks(
        self, collection: Collection, document: Document, version: int, reading: Reading
    ) -> Written:
        chunks = pages = 0
        about: str | None = None
        async for batch in reading:
            if about is None:
                opening = "\n".join(piece.text for piece in batch[:OPENING_PIECES])
                about = subject(document.title, document.path, document.metadata or {}, opening)
            rows = [
                _chunk(collection, document, version, chunks + i, piece, about)
                for i, piece in enumerate(batch)
            ]
            await self._index.upsert(collection, rows)
            chunks += len(rows)
            pages = max([pages, *(piece.page or 0 for piece in batch)])
        return Written(chunks, reading.head.pages or pages, tuple(reading.head.notes))

    async def sample(self, file: Path, heavy: Callable[[], None] = lambda: None) -> str:
        """The beginning of a file's text; raises DocumentError."""
        return await self._processes.beginning(file, SAMPLE_CHARS, heavy)

    def close(self) -> None:
        """End the processes that read."""
        self._processes.close()


def _chunk(
    collection: Collection,
    document: Document,
    version: int,
    number: int,
    piece: TextPiece,
    about: str,
) -> Chunk:
    return Chunk(
        chunk_id=str(uuid5(NAMESPACE_URL, f"{document.id}@{version}#{number}")),
        document_id=document.id,
        version=version,
        chunk_index=number,
        text=piece.text,
        title=document.title,
        path=document.path,
        tenant=collection.tenant,
        collection=collection.id,
        start=piece.start,
        end=piece.end,
        page=piece.page,
        section=piece.section,
        kind=piece.kind,
        language=detect(piece.text) or collection.language,
        media_type=document.media_type,
        modified=document.modified,
        allowed=document.allowed,
        metadata=document.metadata or {},
        layout=encode_blocks(piece.blocks),
        subject=about,
    )

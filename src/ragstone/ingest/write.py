"""Writes one document's new version: parse, chunk, index by keyword, publish.

A version is invisible until `publish`, so a crash at any point leaves the version before it
answering; doing it again from the start gives the same chunks under the same ids.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar
from uuid import NAMESPACE_URL, uuid5

from ragstone.core.chunk import Chunk, revision
from ragstone.core.errors import EmptyDocument, RagstoneError, UnreadableDocument
from ragstone.core.filters import eq
from ragstone.core.records import Collection, Document
from ragstone.ingest.chunk import TextPiece, chunk
from ragstone.ingest.document import Parsed
from ragstone.ingest.parse import parse
from ragstone.language.language import detect
from ragstone.language.tokens import count
from ragstone.ports import Catalog, ChunkIndex
from ragstone.settings import IngestSettings

log = logging.getLogger(__name__)

T = TypeVar("T")

BATCH = 128
"""Chunks in memory at once, whatever the document's size."""


def document_id(tenant: str, collection: str, path: str) -> str:
    """The same id for the same place in the collection of this id, so that a new version replaces
    the old one."""
    return str(uuid5(NAMESPACE_URL, f"ragstone:{tenant}\0{collection}\0{path}"))


@dataclass(frozen=True, slots=True)
class Written:
    """How much a document held."""

    chunks: int
    pages: int


class Writer:
    """Writes documents, one at a time: the parsers of one thread are not shared."""

    def __init__(self, index: ChunkIndex, catalog: Catalog, settings: IngestSettings) -> None:
        self._index = index
        self._catalog = catalog
        self._settings = settings
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="parse")

    async def write(
        self, collection: Collection, document: Document, file: Path | None = None
    ) -> Written:
        """Index `file`, else the one at `document.source`; raises DocumentError, and then nothing
        changed. A title that the document has already is kept."""
        place = file or Path(document.source)
        parsed = await self._in_thread(parse, place, self._settings)
        document = replace(
            document,
            title=document.title or parsed.title or Path(document.path).stem,
            media_type=parsed.media_type,
            metadata={**parsed.metadata, **(document.metadata or {})},
        )
        version = await self._catalog.begin(document)
        await self._index.delete(collection, eq("revision", revision(document.id, version)))
        written = await self._write_chunks(collection, document, version, parsed)
        if not written.chunks:
            raise EmptyDocument("The file holds no text.")
        document = replace(document, chunks=written.chunks, pages=written.pages)
        await self._catalog.publish(document, version)
        return written

    async def _write_chunks(
        self, collection: Collection, document: Document, version: int, parsed: Parsed
    ) -> Written:
        pieces = self.pieces(parsed)
        chunks = pages = 0
        while batch := await self._in_thread(lambda: list(islice(pieces, BATCH))):
            rows = [
                _chunk(collection, document, version, chunks + i, piece)
                for i, piece in enumerate(batch)
            ]
            await self._index.upsert(collection, rows)
            chunks += len(rows)
            pages = max([pages, *(piece.page or 0 for piece in batch)])
        return Written(chunks, parsed.pages or pages)

    def pieces(self, parsed: Parsed) -> Iterator[TextPiece]:
        """The document's chunks, lazily, as the settings cut them."""
        settings = self._settings
        length = len if settings.chunk_unit == "characters" else count
        return chunk(parsed.blocks, settings.chunk_size, settings.chunk_overlap, length)

    async def sample(self, source: str, characters: int = 4000) -> str:
        """The beginning of a file's text."""

        def read() -> str:
            text = ""
            for block in parse(Path(source), self._settings).blocks:
                text += block.text + "\n"
                if len(text) >= characters:
                    break
            return text[:characters]

        return await self._in_thread(read)

    async def _in_thread(self, function: Callable[..., T], *arguments: object) -> T:
        """Run a parser; whatever it stumbles over is this document's failure alone."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, partial(function, *arguments))
        except RagstoneError:
            raise
        except Exception as error:
            log.exception("A parser broke")
            raise UnreadableDocument(
                f"The parser failed on this file ({type(error).__name__}); the log says more."
            ) from error

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


def _chunk(
    collection: Collection, document: Document, version: int, number: int, piece: TextPiece
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
        blocks=piece.blocks,
    )

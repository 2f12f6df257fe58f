"""Writes new versions of documents: parse, chunk, index by keyword, publish; short ones together.

A version is invisible until `publish`, so a crash at any point leaves the version before it
answering; doing it again from the start gives the same chunks under the same ids.

A text that the collection has embedded already keeps its vectors: in the version before, or in
another document with the same content, as after a file was renamed or copied.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import numpy as np

from ragstone.core.chunk import Chunk, chunk_id, revision
from ragstone.core.document import encode_blocks
from ragstone.core.errors import EmptyDocument
from ragstone.core.filters import AnyOf
from ragstone.core.metadata import cut_metadata
from ragstone.core.records import Collection, Document
from ragstone.ingest.chunk import TextPiece
from ragstone.ingest.document import cut_title
from ragstone.ingest.embedding import Pending
from ragstone.ingest.parse_messages import ArchiveMember
from ragstone.ingest.parse_process import ParseProcesses, Reading
from ragstone.ingest.subject import find_subject
from ragstone.ingest.turns import NOBODY, Owner
from ragstone.language.language import detect
from ragstone.ports import Begun, Catalog, ChunkIndex, Vectors
from ragstone.ports.jobs import Job

MAX_COMPARED_CHUNKS = 8_192
"""Chunks of other versions that are looked at for one write."""

MAX_MOVE = 256
"""By how many places a text may have moved in its document."""


@dataclass(frozen=True, slots=True)
class KnownVectors:
    """A chunk's vector, and its packed token vectors if there are some."""

    vector: Vectors
    tokens: bytes | None


async def find_known_vectors(
    index: ChunkIndex,
    catalog: Catalog,
    collection: Collection,
    documents: Sequence[Document],
    rows: Sequence[Chunk],
) -> Mapping[str, KnownVectors]:
    """Return what is known of `rows`, chunks of new versions of `documents`, by their ids."""
    before = await catalog.find_documents([document.id for document in documents])
    hashes = {document.content_hash for document in documents if document.content_hash}
    same = await catalog.of_content(collection.tenant, collection.id, hashes)
    own = await _fetch_near(index, collection, before.values(), rows)
    others = await _fetch_near(index, collection, same.values(), rows)
    by_text = {_embedding_key(chunk): id for id, chunk in own.items()}
    by_content = {
        (hash_of, *_content_key(others[id])): id
        for hash_of, item in same.items()
        for id in (chunk_id(item.id, item.version, n) for n in range(item.chunks))
        if id in others
    }
    content = {document.id: document.content_hash for document in documents}
    there: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        known = by_text.get(_embedding_key(row)) or by_content.get(
            (content[row.document_id], *_content_key(row))
        )
        if known:
            there[known].append(row.chunk_id)
    if not there:
        return {}
    vectors = await index.vectors(collection, list(there))
    tokens = await index.tokens(collection, list(vectors))
    return {
        row: KnownVectors(vector, tokens.get(id))
        for id, vector in vectors.items()
        for row in there[id]
    }


async def _fetch_near(
    index: ChunkIndex, collection: Collection, sources: Iterable[Document], rows: Sequence[Chunk]
) -> Mapping[str, Chunk]:
    """Return the chunks of documents that answer which may have the texts of `rows`."""
    first = max(0, min(row.chunk_index for row in rows) - MAX_MOVE)
    last = max(row.chunk_index for row in rows) + MAX_MOVE
    ids = [
        chunk_id(source.id, source.version, number)
        for source in sources
        if source.version
        for number in range(first, min(source.chunks, last))
    ][:MAX_COMPARED_CHUNKS]
    return await index.fetch(collection, ids) if ids else {}


def _embedding_key(chunk: Chunk) -> tuple[str, str]:
    """Return what a chunk's vectors are made of: its language decides which model reads it."""
    return chunk.searchable, chunk.language


def _content_key(chunk: Chunk) -> tuple[int, str, tuple[str, ...], str]:
    """Return what a chunk of the same content says, whatever the document is called: a renamed file
    is not embedded anew for its name, which its words have at once."""
    return chunk.chunk_index, chunk.text, chunk.section, chunk.language


SAMPLE_CHARS = 4000

LONG = 256
"""Chunks from which a document is written while it is read, instead of together with others."""

OPENING_PIECES = 3
"""The first pieces of a document, which may say what it is about."""


def document_id(tenant: str, collection: str, path: str) -> str:
    """Return the same id for the same place in the collection of this id, so that a new version
    replaces the old one."""
    return str(uuid5(NAMESPACE_URL, f"ragstone:{tenant}\0{collection}\0{path}"))


@dataclass(frozen=True, slots=True)
class Written:
    """How much a document held, and of how many of its chunks the vectors were known."""

    chunks: int
    pages: int
    notes: tuple[str, ...] = ()
    """Sentences on what was left out of it."""
    embedded: int = 0


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document that was read whole, not written yet."""

    document: Document
    pieces: Sequence[TextPiece]
    pages: int


class Writer:
    """Writes documents; they are read in processes of their own."""

    def __init__(
        self,
        index: ChunkIndex,
        catalog: Catalog,
        processes: ParseProcesses,
        part: Job | None = None,
    ) -> None:
        self._index = index
        self._catalog = catalog
        self._processes = processes
        self._part = part
        self.begun: set[str] = set()
        """The revisions that were begun for the part."""

    def for_part(self, part: Job) -> "Writer":
        """Make a writer for a part of an ingest, which writes only as long as its worker has
        that."""
        return Writer(self._index, self._catalog, self._processes, part)

    async def write(
        self,
        collection: Collection,
        document: Document,
        file: Path | None = None,
        folder: Path | None = None,
        captions: Mapping[str, str] = {},
    ) -> Written:
        """Index `file`, else the one at `document.source`; raises DocumentError, and then nothing
        changed. A title that the document has already is kept. What the document includes must be
        in `folder`; `captions` are what a model said of its pictures, by their digests."""
        pending = Pending(self._index, collection)
        document = replace(document, own_readers=None)  # Whoever may read it by now.
        source = file or Path(document.source)
        read = await self.read(
            collection, document, source, pending, folder=folder, captions=captions
        )
        if isinstance(read, Written):
            return read
        [written] = await self.put(collection, [read], pending)
        return written

    async def read(
        self,
        collection: Collection,
        document: Document,
        file: Path,
        pending: Pending,
        heavy: Callable[[], None] = lambda: None,
        folder: Path | None = None,
        captions: Mapping[str, str] = {},
    ) -> ReadDocument | Written:
        """Read a file, to be `put` with others; a long one is written at once. As `write`. `heavy`
        is called if reading takes much memory."""
        owner = Owner(collection.tenant, collection.id)
        async with self._processes.open_reading(
            file, document.size, heavy, folder, captions, owner
        ) as reading:
            head = reading.head
            document = replace(
                document,
                title=cut_title(document.title or head.title or Path(document.path).stem),
                media_type=head.media_type,
                metadata={**cut_metadata(head.metadata), **(document.metadata or {})},
            )
            pieces: list[TextPiece] = []
            async with aclosing(reading.batches()) as batches:
                async for batch in batches:
                    pieces += batch
                    if len(pieces) >= LONG:
                        rest = _prepend(pieces, batches)
                        return await self._write_long(collection, document, reading, rest, pending)
        if not pieces:
            raise EmptyDocument("The file holds no text.")
        pages = head.pages or max(piece.page or 0 for piece in pieces)
        document = replace(document, left_out=reading.notes)
        return ReadDocument(document, pieces, pages)

    async def _write_long(
        self,
        collection: Collection,
        document: Document,
        reading: Reading,
        batches: AsyncIterator[Sequence[TextPiece]],
        pending: Pending,
    ) -> Written:
        """Write a document while the rest of it is read."""
        [begun] = await self._begin(collection, [document])
        chunks = embedded = pages = 0
        about: str | None = None
        async for pieces in batches:
            about = _subject(document, pieces) if about is None else about
            rows = _chunks(collection, document, begun.version, chunks, pieces, about)
            chunks += len(rows)
            pages = max([pages, *(piece.page or 0 for piece in pieces)])
            embedded += await self._upsert(collection, [document], rows, pending)
        pages = reading.head.pages or pages
        notes = reading.notes
        await self._catalog.publish_all(
            [replace(document, chunks=chunks, pages=pages, version=begun.version, left_out=notes)]
        )
        return Written(chunks, pages, notes, embedded)

    async def put(
        self, collection: Collection, several: Sequence[ReadDocument], pending: Pending
    ) -> list[Written]:
        """Write documents, all or none of them. Raises UnknownCollection."""
        documents = [document.document for document in several]
        begun = await self._begin(collection, documents)
        rows: list[Chunk] = []
        for document, version in zip(several, begun, strict=True):
            about = _subject(document.document, document.pieces)
            rows += _chunks(
                collection, document.document, version.version, 0, document.pieces, about
            )
            await asyncio.sleep(0)
        known = await self._upsert(collection, documents, rows, pending)
        await self._catalog.publish_all(
            [
                replace(
                    document.document,
                    chunks=len(document.pieces),
                    pages=document.pages,
                    version=now.version,
                )
                for document, now in zip(several, begun, strict=True)
            ]
        )
        first, *others = (
            Written(len(item.pieces), item.pages, item.document.left_out) for item in several
        )
        return [replace(first, embedded=known), *others]

    async def _begin(
        self, collection: Collection, documents: Sequence[Document]
    ) -> Sequence[Begun]:
        """Return versions to write, without what a writer that died has left of them."""
        begun = await self._catalog.begin_all(documents, self._part)
        pairs = list(zip(documents, begun, strict=True))
        if self._part:
            self.begun |= {revision(item.id, now.version) for item, now in pairs}
        left = tuple(revision(item.id, now.version) for item, now in pairs if now.resumed)
        # Chunks that a writer who died has left would be found beside the new ones.
        if left:
            await self._index.delete(collection, AnyOf("revision", left))
        return begun

    async def _upsert(
        self,
        collection: Collection,
        documents: Sequence[Document],
        rows: Sequence[Chunk],
        pending: Pending,
    ) -> int:
        """Write chunks, those that the collection has embedded already with their vectors; how
        many those are."""
        known = await find_known_vectors(self._index, self._catalog, collection, documents, rows)
        told = [row for row in rows if row.chunk_id in known]
        new = [row for row in rows if row.chunk_id not in known]
        if told:
            vectors = np.stack([known[row.chunk_id].vector for row in told])
            tokens = [known[row.chunk_id].tokens for row in told]
            packed = [token for token in tokens if token is not None]
            # The index takes token vectors for all rows of a call or for none.
            whole = packed if len(packed) == len(told) else None
            await self._index.upsert(collection, told, vectors, whole)
        with pending.mark_writing(new):
            await self._index.upsert(collection, new)
        return len(told)

    async def sample(
        self, file: Path, size: int, heavy: Callable[[], None] = lambda: None, owner: Owner = NOBODY
    ) -> str:
        """Return the beginning of the text of a file of so many bytes; raises DocumentError."""
        return await self._processes.read_beginning(file, size, SAMPLE_CHARS, heavy, owner)

    async def members(
        self, file: Path, size: int, folder: Path | None, heavy: Callable[[], None], owner: Owner
    ) -> list[ArchiveMember]:
        """Return the members of an archive; see `ParseProcesses.members`."""
        return await self._processes.members(file, size, folder, heavy, owner)

    async def aclose(self) -> None:
        """End the processes that read."""
        await self._processes.aclose()


async def _prepend(
    pieces: Sequence[TextPiece], batches: AsyncIterator[Sequence[TextPiece]]
) -> AsyncIterator[Sequence[TextPiece]]:
    yield pieces
    async for batch in batches:
        yield batch


def _subject(document: Document, pieces: Sequence[TextPiece]) -> str:
    opening = "\n".join(piece.text for piece in pieces[:OPENING_PIECES])
    return find_subject(document.title, document.path, document.metadata or {}, opening)


def _chunks(
    collection: Collection,
    document: Document,
    version: int,
    first: int,
    pieces: Sequence[TextPiece],
    about: str,
) -> list[Chunk]:
    return [
        _chunk(collection, document, version, first + i, piece, about)
        for i, piece in enumerate(pieces)
    ]


def _chunk(
    collection: Collection,
    document: Document,
    version: int,
    number: int,
    piece: TextPiece,
    about: str,
) -> Chunk:
    return Chunk(
        chunk_id=chunk_id(document.id, version, number),
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
        # Short texts and numbers have no language that can be told.
        language=detect(piece.text) or collection.language,
        media_type=document.media_type,
        modified=document.modified,
        allowed=document.allowed,
        metadata=document.metadata or {},
        layout=encode_blocks(piece.blocks),
        subject=about,
    )

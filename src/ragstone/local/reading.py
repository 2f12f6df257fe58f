"""Documents as text, from the chunks of the index, and their metadata, from the catalog."""

import asyncio
import base64
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from uuid import UUID

from ragstone.core.chunk import MADE, Chunk, join_chunks, revision
from ragstone.core.clock import calendar_time
from ragstone.core.document import cut_blocks
from ragstone.core.errors import (
    DocumentError,
    UnknownCollection,
    UnknownDocument,
    UnknownFolder,
    UnknownOriginal,
    UnknownPassage,
    UnknownPicture,
)
from ragstone.core.filters import (
    And,
    AnyOf,
    Filter,
    Scalar,
    eq,
    exclude_hidden,
    path_filter,
    reader_filter,
    token,
)
from ragstone.core.records import Collection, Document
from ragstone.core.turn import Principal
from ragstone.ingest import file_threads
from ragstone.ingest.formats.image_file import detect_media_type
from ragstone.ingest.places import open_regular
from ragstone.ingest.uploads import Originals
from ragstone.language.similar_names import MAX_NAMES, find_similar
from ragstone.ports import Adapters, ValueCount
from ragstone.service.reading import (
    PASSAGE_CONTEXT,
    ChunkPlace,
    DocumentText,
    DrawnPicture,
    Facet,
    FacetValue,
    Folder,
    OriginalPart,
)

Draw = Callable[[Document, str], Awaitable[bytes]]
"""Draws a picture of a document by its id; raises DocumentError."""


class LocalReading:
    """`service.Reading` on the index of this process."""

    def __init__(self, adapters: Adapters, originals: Originals, draw: Draw) -> None:
        self._adapters = adapters
        self._originals = originals
        self._draw = draw

    async def read(
        self,
        principal: Principal,
        collection: str,
        path: str,
        offset: int,
        limit: int,
        *,
        operator: bool = False,
    ) -> DocumentText:
        known = await self._find_collection(principal, collection)
        readers = None if operator else principal.names
        document = await self._document(readers, known, path)
        chunks = await self._chunks(readers, known, document)
        part = _cut(replace(document, collection=known.name), chunks, offset, offset + limit)
        if offset:
            return part
        found = await self._adapters.catalog.find_copies(
            known.tenant, known.id, [document.content_hash], readers
        )
        copies = found.get(document.content_hash, ())
        return replace(part, copies=tuple(item.path for item in copies if item.id != document.id))

    async def passage(self, principal: Principal, collection: str, passage: str) -> DocumentText:
        known = await self._find_collection(principal, collection)
        try:
            # Indexes take nothing else for an id.
            id = str(UUID(passage))
            cited = (await self._adapters.index.fetch(known, [id]))[id]
            document = await self._document(principal.names, known, cited.document_id)
        except (ValueError, KeyError, UnknownDocument) as error:
            raise UnknownPassage(passage) from error
        chunks = await self._chunks(principal.names, known, document)
        if cited not in chunks:
            raise UnknownPassage(passage)
        page = [chunk for chunk in chunks if chunk.page == cited.page]
        start = max(cited.start - PASSAGE_CONTEXT, page[0].start)
        end = min(cited.end + PASSAGE_CONTEXT, max(chunk.end for chunk in page))
        return _cut(replace(document, collection=known.name), chunks, start, end)

    async def original(
        self, principal: Principal, collection: str, path: str, offset: int, limit: int
    ) -> OriginalPart:
        known = await self._find_collection(principal, collection)
        document = await self._document(principal.names, known, path)
        folder = Path(document.source).parent
        return await file_threads.run([folder], self._part, document, offset, limit)

    async def picture(
        self, principal: Principal, collection: str, path: str, picture: str
    ) -> DrawnPicture:
        known = await self._find_collection(principal, collection)
        document = await self._document(principal.names, known, path)
        chunks = await self._chunks(principal.names, known, document)
        if not any(picture in block.pictures for chunk in chunks for block in chunk.blocks):
            raise UnknownPicture(document.path)
        try:
            data = await self._draw(document, picture)
            media_type = detect_media_type(data)
        except DocumentError as error:
            raise UnknownPicture(document.path) from error
        return DrawnPicture(media_type, base64.b64encode(data).decode())

    async def _chunks(
        self, readers: Sequence[str] | None, collection: Collection, document: Document
    ) -> list[Chunk]:
        """Return what the document consists of, as far as `readers` may read it, in order; None is
        all."""
        where: Filter = eq("revision", revision(document.id, document.version))
        if readers is not None:
            where = And((AnyOf("allowed", tuple(readers)), where))
        found: list[Chunk] = []
        async for batch in self._adapters.index.scan(collection, where):
            found += [chunk for chunk in batch if chunk.kind not in MADE]
        return sorted(found, key=attrgetter("start", "end"))

    def _part(self, document: Document, offset: int, limit: int) -> OriginalPart:
        kept = self._originals.find_file(document.id)
        try:
            with open(kept or document.source, "rb", opener=open_regular) as file:
                about = os.fstat(file.fileno())
                # A copy of ours is replaced with its document; a file of the user's may be changed.
                same = (about.st_size, calendar_time(about.st_mtime)) == (
                    document.size,
                    document.modified,
                )
                if not (kept or same):
                    raise UnknownOriginal(document.path)
                file.seek(offset)
                part = base64.b64encode(file.read(limit)).decode()
        except (OSError, ValueError) as error:
            raise UnknownOriginal(document.path) from error
        return OriginalPart(part, offset, about.st_size)

    async def facets(
        self, principal: Principal, collection: str, *, key: str = "", limit: int = 10
    ) -> list[Facet]:
        known, names = await self._find_collection(principal, collection), set(principal.names)
        keys = await self._adapters.catalog.metadata_keys(known.tenant, known.id)
        shown = sorted(
            item
            for item, readers in keys.items()
            if key in ("", item) and any(names & set(allowed) for allowed in readers)
        )
        values = await self._adapters.catalog.metadata_values(known.tenant, known.id, shown)
        facets = [_facet(item, values[item], names, limit) for item in shown]
        return [facet for facet in facets if facet.different]

    async def folders(
        self, principal: Principal, collection: str, below: str = "", limit: int = 1000
    ) -> list[Folder]:
        known = await self._find_collection(principal, collection)
        found = await self._adapters.catalog.folders(
            known.tenant, known.id, principal.names, below, limit
        )
        inside = "/" + below.strip("/") if below.strip("/") else ""
        return [Folder(f"{inside}/{name}", documents) for name, documents in found.items()]

    async def check_folder(self, principal: Principal, collection: str, path: str) -> None:
        if self._adapters.external_retriever is not None:
            return
        known = await self._find_collection(principal, collection)
        async with self._adapters.catalog.snapshot(known) as hidden:
            visible = exclude_hidden(hidden)
            where = And((reader_filter(principal), visible, path_filter(path)))
            if await self._adapters.index.count(known, where):
                return
        found = await self._adapters.catalog.documents(
            known.tenant, known.id, readers=principal.names, limit=MAX_NAMES
        )
        paths = [item.path for item in found if item.version]
        raise UnknownFolder(path, await asyncio.to_thread(_nearest_places, path, paths))

    async def _find_collection(self, principal: Principal, collection: str) -> Collection:
        known = await self._adapters.catalog.collection(principal.tenant, collection)
        if known is None:
            raise UnknownCollection(collection)
        return known

    async def _document(
        self, readers: Sequence[str] | None, collection: Collection, path: str
    ) -> Document:
        found = await self._adapters.catalog.documents(
            collection.tenant, collection.id, readers=readers, named=[path]
        )
        if shown := [item for item in found if item.version]:
            return shown[0]
        raise UnknownDocument(path)


def _cut(document: Document, chunks: Sequence[Chunk], start: int, end: int) -> DocumentText:
    text, blocks = join_chunks(chunks)
    return DocumentText(
        document,
        text[start:end],
        start,
        len(text),
        cut_blocks(blocks, start, end),
        tuple(
            ChunkPlace(c.chunk_id, c.start, c.end, c.page, c.kind, c.language)
            for c in chunks
            if c.start < end and start < c.end
        ),
    )


def _facet(key: str, counted: Sequence[ValueCount], names: set[str], limit: int) -> Facet:
    values: dict[str, Scalar] = {}
    counts = Counter[str]()
    for count in counted:
        if names & set(count.allowed):
            name = token(key, count.value)
            values.setdefault(name, count.value)
            counts[name] += count.documents
    most = sorted(counts.items(), key=lambda found: (-found[1], found[0]))[:limit]
    return Facet(key, tuple(FacetValue(values[name], n) for name, n in most), len(counts))


def _nearest_places(path: str, paths: Sequence[str]) -> list[str]:
    """Return the folders and documents whose names are like `path`, the most alike first."""
    folders = {
        "/" + "/".join(parts[:end])
        for parts in (item.strip("/").split("/") for item in paths)
        for end in range(1, len(parts))
    }
    places = [*sorted(folders), *sorted(paths)][:MAX_NAMES]
    wanted = "/" + path.strip("/")
    by_name = {place.rpartition("/")[2]: place for place in reversed(places)}
    near = find_similar(wanted, places)
    near += [by_name[name] for name in find_similar(wanted.rpartition("/")[2], by_name)]
    return list(dict.fromkeys(near))[:3]

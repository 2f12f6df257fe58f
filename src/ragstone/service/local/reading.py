"""Documents as text, from the chunks of the index, and their metadata, from the catalog."""

import asyncio
import base64
import difflib
import os
import stat
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ragstone.core.chunk import MADE, Chunk, joined, revision
from ragstone.core.document import cut_blocks
from ragstone.core.errors import (
    DocumentError,
    UnknownCollection,
    UnknownDocument,
    UnknownFolder,
    UnknownOriginal,
    UnknownPicture,
)
from ragstone.core.filters import And, Scalar, but_hidden, eq, readable, token, under
from ragstone.core.records import Collection, Document
from ragstone.core.turn import Principal
from ragstone.ingest.formats.redrawn import media_type_of
from ragstone.ingest.handed import Originals
from ragstone.ports import Adapters, ValueCount
from ragstone.service.reading import (
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

MOST_NAMES = 5_000
"""Names that are compared with one that is unknown."""


class LocalReading:
    """`service.Reading` on the index of this process."""

    def __init__(self, adapters: Adapters, originals: Originals, draw: Draw) -> None:
        self._adapters = adapters
        self._originals = originals
        self._draw = draw

    async def read(
        self, principal: Principal, collection: str, path: str, offset: int, limit: int
    ) -> DocumentText:
        known = await self._known(principal, collection)
        document = await self._document(principal, known, path)
        where = And((readable(principal), eq("revision", revision(document.id, document.version))))
        chunks: list[Chunk] = []
        async for some in self._adapters.index.scan(known, where):
            chunks += some
        document = replace(document, collection=known.name)
        own = sorted((c for c in chunks if c.kind not in MADE), key=lambda c: (c.start, c.end))
        text, blocks = joined(own)
        end = offset + limit
        return DocumentText(
            document,
            text[offset:end],
            offset,
            len(text),
            cut_blocks(blocks, offset, end),
            tuple(
                ChunkPlace(c.chunk_id, c.start, c.end, c.page, c.kind, c.language)
                for c in own
                if c.start < end and offset < c.end
            ),
        )

    async def original(
        self, principal: Principal, collection: str, path: str, offset: int, limit: int
    ) -> OriginalPart:
        known = await self._known(principal, collection)
        document = await self._document(principal, known, path)
        return await asyncio.to_thread(self._part, document, offset, limit)

    async def picture(
        self, principal: Principal, collection: str, path: str, picture: str
    ) -> DrawnPicture:
        known = await self._known(principal, collection)
        document = await self._document(principal, known, path)
        try:
            data = await self._draw(document, picture)
            media_type = media_type_of(data)
        except DocumentError as error:
            raise UnknownPicture(document.path) from error
        return DrawnPicture(media_type, base64.b64encode(data).decode())

    def _part(self, document: Document, offset: int, limit: int) -> OriginalPart:
        kept = self._originals.of(document)
        try:
            with (kept or Path(document.source)).open("rb") as file:
                about = os.fstat(file.fileno())
                # A copy of ours is replaced with its document; a file of the user's may be changed.
                same = (about.st_size, about.st_mtime) == (document.size, document.modified)
                if not stat.S_ISREG(about.st_mode) or not (kept or same):
                    raise UnknownOriginal(document.path)
                file.seek(offset)
                part = base64.b64encode(file.read(limit)).decode()
        except (OSError, ValueError) as error:
            raise UnknownOriginal(document.path) from error
        return OriginalPart(part, offset, about.st_size)

    async def facets(
        self, principal: Principal, collection: str, *, key: str = "", limit: int = 10
    ) -> list[Facet]:
        known, names = await self._known(principal, collection), set(principal.names)
        keys = await self._adapters.catalog.metadata_keys(known.tenant, known.id)
        shown = sorted(
            one
            for one, readers in keys.items()
            if key in ("", one) and any(names & set(allowed) for allowed in readers)
        )
        values = await self._adapters.catalog.metadata_values(known.tenant, known.id, shown)
        facets = [_facet(one, values[one], names, limit) for one in shown]
        return [facet for facet in facets if facet.different]

    async def folders(
        self, principal: Principal, collection: str, below: str = "", limit: int = 1000
    ) -> list[Folder]:
        known = await self._known(principal, collection)
        found = await self._adapters.catalog.folders(
            known.tenant, known.id, principal.names, below, limit
        )
        inside = "/" + below.strip("/") if below.strip("/") else ""
        return [Folder(f"{inside}/{name}", documents) for name, documents in found.items()]

    async def check_folder(self, principal: Principal, collection: str, path: str) -> None:
        if self._adapters.external_retriever is not None:
            return
        known = await self._known(principal, collection)
        async with self._adapters.catalog.snapshot(known) as hidden:
            visible = but_hidden(hidden)
            where = And((readable(principal), visible, under(path)))
            if await self._adapters.index.count(known, where):
                return
        found = await self._adapters.catalog.documents(
            known.tenant, known.id, readers=principal.names, limit=MOST_NAMES
        )
        paths = [one.path for one in found if one.version]
        raise UnknownFolder(path, _nearest_places(path, paths))

    async def _known(self, principal: Principal, collection: str) -> Collection:
        known = await self._adapters.catalog.collection(principal.tenant, collection)
        if known is None:
            raise UnknownCollection(collection)
        return known

    async def _document(self, principal: Principal, collection: Collection, path: str) -> Document:
        found = await self._adapters.catalog.documents(
            collection.tenant, collection.id, readers=principal.names, named=[path]
        )
        if shown := [one for one in found if one.version]:
            return shown[0]
        raise UnknownDocument(path)


def _facet(key: str, counted: Sequence[ValueCount], names: set[str], limit: int) -> Facet:
    values: dict[str, Scalar] = {}
    counts = Counter[str]()
    for one in counted:
        if names & set(one.allowed):
            name = token(key, one.value)
            values.setdefault(name, one.value)
            counts[name] += one.documents
    most = sorted(counts.items(), key=lambda found: (-found[1], found[0]))[:limit]
    return Facet(key, tuple(FacetValue(values[name], n) for name, n in most), len(counts))


def _nearest_places(path: str, paths: Sequence[str]) -> list[str]:
    """The folders and documents whose names are most like `path`; the first folders if none are."""
    folders = {
        "/" + "/".join(parts[:end])
        for parts in (one.strip("/").split("/") for one in paths)
        for end in range(1, len(parts))
    }
    places = [*sorted(folders), *sorted(paths)][:MOST_NAMES]
    wanted = "/" + path.strip("/")
    by_name = {place.rpartition("/")[2]: place for place in reversed(places)}
    near = difflib.get_close_matches(wanted, places, 3)
    near += [by_name[n] for n in difflib.get_close_matches(wanted.rpartition("/")[2], by_name, 3)]
    return list(dict.fromkeys(near))[:3] or places[:3]

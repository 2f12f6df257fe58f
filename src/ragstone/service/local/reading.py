"""Documents as text, from the chunks of the index."""

from dataclasses import replace

from ragstone.core.chunk import Chunk, joined, revision
from ragstone.core.document import cut_blocks
from ragstone.core.errors import UnknownCollection, UnknownDocument
from ragstone.core.filters import And, eq, readable
from ragstone.core.records import Collection, Document
from ragstone.core.turn import Principal
from ragstone.ports import Adapters
from ragstone.service.reading import ChunkPlace, DocumentText

MADE = frozenset({"question", "summary"})
"""Kinds of chunks that are no text of the document."""


class LocalReading:
    """`service.Reading` on the index of this process."""

    def __init__(self, adapters: Adapters) -> None:
        self._adapters = adapters

    async def read(
        self, principal: Principal, collection: str, path: str, offset: int, limit: int
    ) -> DocumentText:
        known = await self._adapters.catalog.collection(principal.tenant, collection)
        if known is None:
            raise UnknownCollection(collection)
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

    async def _document(self, principal: Principal, collection: Collection, path: str) -> Document:
        names, place = set(principal.names), "/" + path.strip("/")
        for one in await self._adapters.catalog.documents(collection.tenant, collection.id):
            if path == one.id or place == one.path:
                if one.version and names & set(one.allowed):
                    return one
                break
        raise UnknownDocument(path)

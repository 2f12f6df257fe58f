"""Documents as text, from the chunks of the index."""

from collections.abc import Iterable
from dataclasses import replace

from ragstone.core.chunk import Chunk, revision
from ragstone.core.errors import UnknownCollection, UnknownDocument
from ragstone.core.filters import And, eq, readable
from ragstone.core.records import Collection, Document
from ragstone.core.turn import Principal
from ragstone.ports import Adapters
from ragstone.service.reading import DocumentText

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
        text = joined(chunk for chunk in chunks if chunk.kind not in MADE)
        document = replace(document, collection=known.name)
        return DocumentText(document, text[offset : offset + limit], offset, len(text))

    async def _document(self, principal: Principal, collection: Collection, path: str) -> Document:
        names, place = set(principal.names), "/" + path.strip("/")
        for one in await self._adapters.catalog.documents(collection.tenant, collection.id):
            if path == one.id or place == one.path:
                if one.version and names & set(one.allowed):
                    return one
                break
        raise UnknownDocument(path)


def joined(chunks: Iterable[Chunk]) -> str:
    """The text that the chunks of one document hold together, each part of it once."""
    text, reached = list[str](), 0
    for chunk in sorted(chunks, key=lambda one: (one.start, one.end)):
        if chunk.end <= reached:
            continue
        if reached and chunk.start > reached:
            text.append("\n")
        text.append(chunk.text[max(0, reached - chunk.start) :])
        reached = chunk.end
    return "".join(text)

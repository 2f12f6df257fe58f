"""Documents as text, from the chunks of the index."""

from collections.abc import Iterable

from ragstone.chunk import Chunk, revision
from ragstone.errors import UnknownCollection, UnknownDocument
from ragstone.filters import And, eq, readable
from ragstone.ports import Kit
from ragstone.records import Document
from ragstone.service.reading import DocumentText
from ragstone.turn import Principal

MADE = frozenset({"question", "summary"})
"""Kinds of chunks that are no text of the document."""


class LocalReading:
    """`service.Reading` on the index of this process."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    async def read(
        self, principal: Principal, collection: str, path: str, offset: int, limit: int
    ) -> DocumentText:
        known = await self._kit.catalog.collection(principal.tenant, collection)
        if known is None:
            raise UnknownCollection(collection)
        document = await self._document(principal, collection, path)
        where = And((readable(principal), eq("revision", revision(document.id, document.version))))
        chunks: list[Chunk] = []
        async for some in self._kit.index.scan(known, where):
            chunks += some
        text = joined(chunk for chunk in chunks if chunk.kind not in MADE)
        return DocumentText(document, text[offset : offset + limit], offset, len(text))

    async def _document(self, principal: Principal, collection: str, path: str) -> Document:
        names, place = set(principal.names), "/" + path.strip("/")
        for one in await self._kit.catalog.documents(principal.tenant, collection):
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

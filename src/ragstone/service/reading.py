"""The indexed text of a document, and what was read as what."""

from dataclasses import dataclass
from typing import Protocol

from ragstone.core.document import BlockSpan
from ragstone.core.records import Document
from ragstone.core.turn import Principal
from ragstone.service.allowed import allowed
from ragstone.service.bounds import Offset


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """Where a chunk stands in its document's text, and the chunk's page, kind and language."""

    chunk_id: str
    start: int
    end: int
    page: int | None
    kind: str
    language: str


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A part of a document's text: from the character `offset` on, of `total`.

    `blocks` are what the part consists of, counted in `text`; `chunks` those that it touches,
    counted in the whole text, as the spans of sources are.
    """

    document: Document
    text: str
    offset: int
    total: int
    blocks: tuple[BlockSpan, ...] = ()
    chunks: tuple[ChunkPlace, ...] = ()


class ReadingService(Protocol):
    """Documents as text."""

    @allowed("reader")
    async def read(
        self, principal: Principal, collection: str, path: str, offset: Offset, limit: Offset
    ) -> DocumentText:
        """At most `limit` characters of the document with this path or id.

        Raises UnknownCollection, and UnknownDocument where the principal may read none.
        """
        ...

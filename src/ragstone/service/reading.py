"""The indexed text of a document."""

from dataclasses import dataclass
from typing import Protocol

from ragstone.core.records import Document
from ragstone.core.turn import Principal
from ragstone.service.allowed import allowed
from ragstone.service.bounds import Offset


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A part of a document's text: from the character `offset` on, of `total`."""

    document: Document
    text: str
    offset: int
    total: int


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

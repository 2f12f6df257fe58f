"""The indexed text of a document, what was read as what, and what is known of all documents."""

from dataclasses import dataclass
from typing import Annotated, Protocol

from pydantic import Field

from ragstone.core.document import BlockSpan
from ragstone.core.records import Document
from ragstone.core.turn import Principal
from ragstone.service.routes import Count, Offset, require_role, route, text

Path = Annotated[str, text(4_096)]
ChunkId = Annotated[str, text(255)]
Bytes = Annotated[int, Field(ge=1, le=4_000_000)]

PASSAGE_CONTEXT = 4_000
"""Characters of a document that are shown before and after one of its passages."""


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
    counted in the whole text, as the spans of sources are. `copies` are the paths of the other
    documents with this content that the principal may read, told with the first part.
    """

    document: Document
    text: str
    offset: int
    total: int
    blocks: tuple[BlockSpan, ...] = ()
    chunks: tuple[ChunkPlace, ...] = ()
    copies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OriginalPart:
    """A part of the file that a document was read from: from the byte `offset` on, of `total`, in
    base64."""

    base64: str
    offset: int
    total: int


@dataclass(frozen=True, slots=True)
class DrawnPicture:
    """A picture of a document, drawn anew as PNG or JPEG, in base64."""

    media_type: str
    base64: str


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value of metadata, and how many documents have it."""

    value: str | int | float | bool
    documents: int


@dataclass(frozen=True, slots=True)
class Facet:
    """A key of metadata: its most frequent values, and how many different ones there are."""

    key: str
    values: tuple[FacetValue, ...]
    different: int


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder by its path, and how many documents lie in it or deeper."""

    path: str
    documents: int


class ReadingService(Protocol):
    """Documents as text."""

    @require_role("reader")
    async def read(
        self,
        principal: Principal,
        collection: str,
        path: str,
        offset: Offset,
        limit: Offset,
        *,
        operator: bool = False,
    ) -> DocumentText:
        """At most `limit` characters of the document with this path or id.

        Raises UnknownCollection, and UnknownDocument where the principal may read none; the
        operator reads any.
        """
        ...

    @require_role("reader", guests=True)
    async def passage(
        self, principal: Principal, collection: str, passage: ChunkId
    ) -> DocumentText:
        """The passage with this chunk id, as a source names it, and what stands around it: the rest
        of its page, at most PASSAGE_CONTEXT characters on either side.

        Raises UnknownCollection, and UnknownPassage where the principal may read none.
        """
        ...

    @require_role("reader")
    async def original(
        self, principal: Principal, collection: str, path: str, offset: Offset, limit: Bytes
    ) -> OriginalPart:
        """At most `limit` bytes of the file that the document with this path or id was read from.

        Raises UnknownCollection, UnknownDocument where the principal may read none, and
        UnknownOriginal where the file is not here, or is no longer the one that was read.
        """
        ...

    @require_role("reader", guests=True)
    async def picture(
        self, principal: Principal, collection: str, path: str, picture: Path
    ) -> DrawnPicture:
        """A picture of the document with this path or id, by the id that its blocks and sources
        give it.

        Raises UnknownCollection, UnknownDocument where the principal may read none, and
        UnknownPicture where no passage names it, or the file is not here or no longer holds it.
        """
        ...

    @require_role("reader")
    @route(
        "GET",
        "/collections/{name:path}/facets",
        "facets",
        key=Field(max_length=1_000, description="Only this key."),
        limit=Field(ge=1, le=1_000, description="Most values of a key."),
    )
    async def facets(
        self, principal: Principal, collection: str, *, key: Path = "", limit: Count = 10
    ) -> list[Facet]:
        """The metadata of the documents that the principal may read, by key: at most `limit` values
        of each. With a `key`, only this one; none if no document has it.

        Raises UnknownCollection.
        """
        ...

    @require_role("reader")
    @route(
        "GET",
        "/collections/{name:path}/folders",
        "folders",
        below=Field(description="In this folder."),
        limit=Field(ge=1, le=10_000, description="Most folders."),
    )
    async def folders(
        self, principal: Principal, collection: str, below: Path = "", limit: Count = 1000
    ) -> list[Folder]:
        """The first folders directly in the folder `below`, empty for the collection itself, by
        path, with how many documents that the principal may read; none for a folder that is not
        there.

        Raises UnknownCollection.
        """
        ...

    @require_role("reader")
    async def check_folder(self, principal: Principal, collection: str, path: Path) -> None:
        """Raise UnknownFolder, which names the nearest, unless the principal may read a document at
        this path or below it. Raises UnknownCollection."""
        ...

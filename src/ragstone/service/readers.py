"""Who may read documents, and why: a document's own readers, its folders', its collection's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from pydantic import AfterValidator, Field

from ragstone.core.filters import Scalar
from ragstone.core.readers import ReadersReason, normalize_folder
from ragstone.core.turn import Principal
from ragstone.service.reading import Path
from ragstone.service.routes import require_role, route, text

MAX_NAMES = 1_000
"""Names in one list of readers."""

Names = Annotated[
    Sequence[Annotated[str, text(1_000)]],
    Field(
        max_length=MAX_NAMES,
        description="`*` for everyone, `user:NAME`, `group:NAME`; none for those of above.",
    ),
]

Paths = Annotated[Sequence[Path], Field(max_length=10_000)]


@dataclass(frozen=True, slots=True)
class ReadersView:
    """Who may read what is at a path, nobody without `readers`, and why: the `reasons` in the order
    in which each narrowed down what the one before let in. `exists` is false for a path where no
    document is; then it is who could read one that comes."""

    path: str
    readers: tuple[str, ...]
    reasons: tuple[ReadersReason, ...]
    exists: bool = True


@dataclass(frozen=True, slots=True)
class FolderRule:
    """The readers of a folder, of the whole collection where `folder` is empty. `by` is who says
    so: its `ragstone.yaml`, or an administrator."""

    folder: str
    readers: tuple[str, ...]
    by: Literal["file", "administrator"]


class ReadersService(Protocol):
    """Readers of documents, folders and collections. What changes them holds at once, in the index,
    the cache, the graph and what was answered before, without reading a file again."""

    @require_role("reader")
    @route(
        "GET",
        "/collections/{name:path}/readers",
        path=Field(description="A path, or a document's id."),
    )
    async def explain(
        self, principal: Principal, collection: str, path: Path, admin: bool = False
    ) -> ReadersView:
        """Who may read a document, and why; an administrator (`admin`) also asks of one that the
        principal may not read, and of a path where none is yet.

        Raises UnknownDocument, UnknownCollection.
        """
        ...

    @require_role("admin")
    @route(
        "PUT",
        "/collections/{name:path}/readers",
        "documents",
        paths=Field(description="Ids or paths of documents, or folders."),
        below=Field(description="In this folder or deeper."),
        having=Field(max_length=100, description="With these values in their metadata."),
    )
    async def give(
        self,
        principal: Principal,
        collection: str,
        readers: Names,
        *,
        paths: Paths | None = None,
        below: Path = "",
        having: Mapping[str, Scalar] | None = None,
    ) -> int:
        """Set the readers of documents, whatever their folders say; without `readers` they have
        those of their folders and collection again. How many documents it concerned.

        They are those with these ids or `paths`, or in a folder that is among them, in the folder
        `below` or deeper, and `having` these values in their metadata; all of these conditions, and
        at least one. Raises InputError, UnknownDocument, UnknownCollection.
        """
        ...

    @require_role("admin")
    @route("GET", "/collections/{name:path}/folder-readers", "folders")
    async def folders(self, principal: Principal, collection: str) -> list[FolderRule]:
        """The folders that have readers of their own, the collection's among them, by path."""
        ...

    @require_role("admin")
    @route(
        "PUT",
        "/collections/{name:path}/folder-readers",
        {"folder": "folder", "readers": "readers"},
        folder=(
            Field("", description="A folder; empty for the whole collection."),
            AfterValidator(normalize_folder),
        ),
    )
    async def set_folder(
        self, principal: Principal, collection: str, folder: Path, readers: Names
    ) -> None:
        """Set the readers of a folder, for what is in it or deeper and for what comes; of the
        collection with an empty `folder`, which may be still to come. They hold instead of what
        files of this folder and of those above say. Without `readers` the folder has none of its
        own. Raises InputError."""
        ...

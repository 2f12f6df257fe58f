"""The port of the chunk index."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from ragstone.core.chunk import Chunk
from ragstone.core.errors import ConfigError
from ragstone.core.filters import EVERYTHING, Filter
from ragstone.core.records import Collection
from ragstone.core.turn import Ask, Hit, Plan, RankedList
from ragstone.language.late_interaction import LateQuery
from ragstone.ports.embedding import Vectors


@dataclass(frozen=True, slots=True)
class Search:
    """One search of one list: by `vector` or by late interaction with `late` if there is one of
    them, else by the words of `text`."""

    text: str
    vector: Vectors | None = None
    late: LateQuery | None = None

    @property
    def source(self) -> Literal["dense", "bm25", "late"]:
        """What its list is called."""
        if self.late is not None:
            return "late"
        return "bm25" if self.vector is None else "dense"


class ChunkIndex(Protocol):
    """Chunks of every collection with their vectors, searchable under a filter.

    Every method raises UnknownCollection for a collection that was not opened, InvalidFilter for
    a filter that `filters.validate` refuses, IndexUnavailable when the backend does not answer,
    and StorageFull when it cannot write. Writes are durable when they return.
    """

    async def create(self, collection: Collection) -> None:
        """Make room for `collection` if there is none yet."""
        ...

    async def drop(self, collection: Collection) -> None:
        """Forget `collection` and everything in it."""
        ...

    async def upsert(
        self,
        collection: Collection,
        chunks: Sequence[Chunk],
        vectors: Vectors | None = None,
        tokens: Sequence[bytes] | None = None,
    ) -> None:
        """Write chunks, replacing those of the same id; without `vectors` by keyword only.

        `tokens` are each chunk's packed token vectors, opaque but where `collection.late` is their
        length: then late interaction finds the chunks by them.
        """
        ...

    async def set_vectors(
        self,
        collection: Collection,
        ids: Sequence[str],
        vectors: Vectors,
        tokens: Sequence[bytes] | None = None,
    ) -> None:
        """Give existing chunks their vectors; ids that no longer exist are ignored."""
        ...

    async def without_vectors(
        self, collection: Collection, limit: int, where: Filter = EVERYTHING
    ) -> list[Chunk]:
        """Return chunks that have no vector yet, at most `limit`."""
        ...

    async def count_without_vectors(
        self, collection: Collection, where: Filter = EVERYTHING
    ) -> int:
        """Tell how many chunks inside `where` have no vector yet."""
        ...

    async def search(
        self,
        collection: Collection,
        searches: Sequence[Search],
        where: Filter,
        limit: int,
        exact: bool = False,
    ) -> list[RankedList]:
        """Return one list of at most `limit` ids per search, best first, all inside `where`.

        Raises InputError for a search that the collection has no vectors for.
        """
        ...

    async def fetch(self, collection: Collection, ids: Sequence[str]) -> dict[str, Chunk]:
        """Return the chunks of `ids` that exist."""
        ...

    async def vectors(self, collection: Collection, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of the chunks of `ids` that have one, each of shape (dimensions,)."""
        ...

    async def tokens(self, collection: Collection, ids: Sequence[str]) -> dict[str, bytes]:
        """Return the packed token vectors of the chunks of `ids` that have some."""
        ...

    def scan(
        self, collection: Collection, where: Filter = EVERYTHING, batch: int = 256
    ) -> AsyncIterator[list[Chunk]]:
        """Return every chunk inside `where`, in batches."""
        ...

    async def delete(self, collection: Collection, where: Filter) -> None:
        """Delete every chunk inside `where`."""
        ...

    async def count(self, collection: Collection, where: Filter = EVERYTHING) -> int: ...

    async def facet(
        self, collection: Collection, field: str, where: Filter = EVERYTHING, limit: int = 100
    ) -> dict[str, int]:
        """Tell how many chunks inside `where` hold each value of a keyword field, most first."""
        ...

    async def optimize(self, collection: Collection) -> None:
        """Build the search structures for what was written since the last call."""
        ...

    async def ready(self) -> None:
        """Raise IndexUnavailable unless searches would work."""
        ...


@runtime_checkable
class LoadsInBulk(Protocol):
    """An index that writes much at once faster when nobody searches what is written."""

    def bulk_load(self, collection: Collection) -> AbstractAsyncContextManager[None]:
        """Write durably until the exit; what is written need not be found yet."""
        ...


def bulk_load(index: ChunkIndex, collection: Collection) -> AbstractAsyncContextManager[None]:
    """Return a bulk load of a collection that nobody searches, as fast as its index can."""
    return index.bulk_load(collection) if isinstance(index, LoadsInBulk) else nullcontext()


@runtime_checkable
class SearchesLate(Protocol):
    """An index that may be searched by late interaction."""

    searches_late: bool


def check_late(index: ChunkIndex, collection: Collection) -> None:
    """Raise ConfigError where a collection is to be searched by late interaction and the index
    cannot."""
    if collection.late and not (isinstance(index, SearchesLate) and index.searches_late):
        raise ConfigError(
            f"The index of INDEX__URL cannot search collection {collection.name!r} by late "
            "interaction. Set INGEST__TOKEN_VECTORS=rerank and run 'ragstone rebuild', or keep "
            "chunks in Qdrant Edge, Qdrant, PostgreSQL or Elasticsearch."
        )


@runtime_checkable
class Moves(Protocol):
    """An index whose collections are on their way to another one."""

    home: str
    """The `Collection.place` of those that are there."""


@runtime_checkable
class Shares(Protocol):
    """An index that keeps small collections together in one place, each as a part of it."""

    shared_chunks: int
    """A new collection begins there if it will have fewer chunks, and has a place of its own from
    so many on; 0 for none."""


@runtime_checkable
class Erases(Protocol):
    """An index whose files can be rid of what was deleted."""

    async def erase(self, collection: Collection, deleted: bool) -> None:
        """Leave nothing of deleted chunks in the collection's files; `deleted` says that some have
        just been deleted. Takes long, and searches go on meanwhile."""
        ...


async def erase(index: ChunkIndex, collection: Collection, deleted: bool) -> None:
    """`Erases.erase` where the index can; others clean up by themselves, some day."""
    if isinstance(index, Erases):
        await index.erase(collection, deleted)


def may_share(index: ChunkIndex, chunks: int) -> bool:
    """Return the `Collection.shared` of one of so many chunks that is new in the index."""
    return isinstance(index, Shares) and chunks < index.shared_chunks


def home(index: ChunkIndex) -> str:
    """Return the `Collection.place` of a new collection."""
    return index.home if isinstance(index, Moves) else ""


class Retriever(Protocol):
    """Somebody else's search, asked instead of the index."""

    async def search(self, ask: Ask, plan: Plan) -> list[Hit]:
        """Return its passages, best first, at most `plan.top_k`. Raises IndexUnavailable where the
        local index is to answer instead, RetrievalUnavailable where nothing is."""
        ...


class ToolSearch(Retriever, Protocol):
    """The search of a gateway of tools."""

    def serves(self, organisation: str) -> bool:
        """Tell whether the organisation may have a search there."""
        ...


@runtime_checkable
class RetrievalServer(Retriever, Protocol):
    """A whole retrieval service."""

    async def ready(self) -> None:
        """Raise Unavailable unless searches would work."""
        ...

    async def aclose(self) -> None: ...

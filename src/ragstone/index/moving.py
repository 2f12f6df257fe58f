"""Two chunk indexes as one, while collections move from the old one to the new one."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from hashlib import sha256
from urllib.parse import urlsplit

from ragstone.core.chunk import Chunk
from ragstone.core.filters import EVERYTHING, Filter
from ragstone.core.records import Collection
from ragstone.core.turn import RankedList
from ragstone.index.connect import OpenIndex
from ragstone.ports import Search, SearchesLate, Shares, Vectors, loading


def place_of(url: str) -> str:
    """What `Collection.place` says of the index at an address: the same for every user of it."""
    split = urlsplit(url)
    address = (split.scheme.lower(), split.netloc.rpartition("@")[2].lower(), split.path)
    return sha256("\n".join(address).encode()).hexdigest()[:16]


class MovingIndex:
    """`ports.ChunkIndex` where a collection is in the index that its place says: in `new` if that
    is `home`, else in `old`."""

    def __init__(self, old: OpenIndex, new: OpenIndex, home: str) -> None:
        self._old = old
        self._new = new
        self.home = home
        self.searches_late = isinstance(new, SearchesLate) and new.searches_late
        self.shared_chunks = new.shared_chunks if isinstance(new, Shares) else 0

    @property
    def both(self) -> tuple[OpenIndex, OpenIndex]:
        """The old index, and the new one."""
        return self._old, self._new

    def of(self, collection: Collection) -> OpenIndex:
        """The index that the collection is in."""
        return self._new if collection.place == self.home else self._old

    async def create(self, collection: Collection) -> None:
        await self.of(collection).create(collection)

    async def drop(self, collection: Collection) -> None:
        await self.of(collection).drop(collection)

    async def upsert(
        self,
        collection: Collection,
        chunks: Sequence[Chunk],
        vectors: Vectors | None = None,
        tokens: Sequence[bytes] | None = None,
    ) -> None:
        await self.of(collection).upsert(collection, chunks, vectors, tokens)

    async def set_vectors(
        self,
        collection: Collection,
        ids: Sequence[str],
        vectors: Vectors,
        tokens: Sequence[bytes] | None = None,
    ) -> None:
        await self.of(collection).set_vectors(collection, ids, vectors, tokens)

    async def without_vectors(
        self, collection: Collection, limit: int, where: Filter = EVERYTHING
    ) -> list[Chunk]:
        return await self.of(collection).without_vectors(collection, limit, where)

    async def count_without_vectors(
        self, collection: Collection, where: Filter = EVERYTHING
    ) -> int:
        return await self.of(collection).count_without_vectors(collection, where)

    async def search(
        self,
        collection: Collection,
        searches: Sequence[Search],
        where: Filter,
        limit: int,
        exact: bool = False,
    ) -> list[RankedList]:
        return await self.of(collection).search(collection, searches, where, limit, exact)

    async def fetch(self, collection: Collection, ids: Sequence[str]) -> dict[str, Chunk]:
        return await self.of(collection).fetch(collection, ids)

    async def vectors(self, collection: Collection, ids: Sequence[str]) -> dict[str, Vectors]:
        return await self.of(collection).vectors(collection, ids)

    async def tokens(self, collection: Collection, ids: Sequence[str]) -> dict[str, bytes]:
        return await self.of(collection).tokens(collection, ids)

    def scan(
        self, collection: Collection, where: Filter = EVERYTHING, batch: int = 256
    ) -> AsyncIterator[list[Chunk]]:
        return self.of(collection).scan(collection, where, batch)

    async def delete(self, collection: Collection, where: Filter) -> None:
        await self.of(collection).delete(collection, where)

    async def count(self, collection: Collection, where: Filter = EVERYTHING) -> int:
        return await self.of(collection).count(collection, where)

    async def facet(
        self, collection: Collection, field: str, where: Filter = EVERYTHING, limit: int = 100
    ) -> dict[str, int]:
        return await self.of(collection).facet(collection, field, where, limit)

    async def optimize(self, collection: Collection) -> None:
        await self.of(collection).optimize(collection)

    def loading(self, collection: Collection) -> AbstractAsyncContextManager[None]:
        """`ports.LoadsInBulk`."""
        return loading(self.of(collection), collection)

    async def ready(self) -> None:
        for one in self.both:
            await one.ready()

    async def aclose(self) -> None:
        for one in self.both:
            await one.aclose()

"""Two chunk indexes as one, while collections move from the old one to the new one."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import wraps
from hashlib import sha256
from typing import Concatenate, ParamSpec, TypeVar, cast
from urllib.parse import urlsplit

from ragstone.core.records import Collection
from ragstone.index.connect import OpenIndex
from ragstone.ports import ChunkIndex, SearchesLate, Shares, erase, loading


def place_of(url: str) -> str:
    """What `Collection.place` says of the index at an address: the same for every user of it."""
    split = urlsplit(url)
    address = (split.scheme.lower(), split.netloc.rpartition("@")[2].lower(), split.path)
    return sha256("\n".join(address).encode()).hexdigest()[:16]


P = ParamSpec("P")
R = TypeVar("R")


def _forwarded(
    method: Callable[Concatenate[ChunkIndex, P], R],
) -> Callable[Concatenate["MovingIndex", P], R]:
    """A method of the port as that of the index which its first argument, a collection, is in."""

    @wraps(method)
    def forward(self: "MovingIndex", /, *arguments: P.args, **named: P.kwargs) -> R:
        collection = cast(Collection, arguments[0] if arguments else named["collection"])
        call: Callable[P, R] = getattr(self.of(collection), method.__name__)
        return call(*arguments, **named)

    return forward


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

    create = _forwarded(ChunkIndex.create)
    drop = _forwarded(ChunkIndex.drop)
    upsert = _forwarded(ChunkIndex.upsert)
    set_vectors = _forwarded(ChunkIndex.set_vectors)
    without_vectors = _forwarded(ChunkIndex.without_vectors)
    count_without_vectors = _forwarded(ChunkIndex.count_without_vectors)
    search = _forwarded(ChunkIndex.search)
    fetch = _forwarded(ChunkIndex.fetch)
    vectors = _forwarded(ChunkIndex.vectors)
    tokens = _forwarded(ChunkIndex.tokens)
    scan = _forwarded(ChunkIndex.scan)
    delete = _forwarded(ChunkIndex.delete)
    count = _forwarded(ChunkIndex.count)
    facet = _forwarded(ChunkIndex.facet)
    optimize = _forwarded(ChunkIndex.optimize)

    def loading(self, collection: Collection) -> AbstractAsyncContextManager[None]:
        """`ports.LoadsInBulk`."""
        return loading(self.of(collection), collection)

    async def erase(self, collection: Collection, deleted: bool) -> None:
        """`ports.Erases`."""
        await erase(self.of(collection), collection, deleted)

    async def ready(self) -> None:
        for one in self.both:
            await one.ready()

    async def aclose(self) -> None:
        for one in self.both:
            await one.aclose()

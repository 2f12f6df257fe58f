"""Two chunk indexes as one, while collections move from the old one to the new one."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import wraps
from hashlib import sha256
from typing import Concatenate, ParamSpec, TypeVar, cast
from urllib.parse import urlsplit

from ragstone.core.records import Collection
from ragstone.index.connect import OpenIndex
from ragstone.ports import ChunkIndex, SearchesLate, Shares, bulk_load, erase


def index_place(url: str) -> str:
    """What `Collection.place` says of the index at an address: the same for every user of it."""
    split = urlsplit(url)
    address = (split.scheme.lower(), split.netloc.rpartition("@")[2].lower(), split.path)
    return sha256("\n".join(address).encode()).hexdigest()[:16]


P = ParamSpec("P")
R = TypeVar("R")


def _forward(
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

    create = _forward(ChunkIndex.create)
    drop = _forward(ChunkIndex.drop)
    upsert = _forward(ChunkIndex.upsert)
    set_vectors = _forward(ChunkIndex.set_vectors)
    without_vectors = _forward(ChunkIndex.without_vectors)
    count_without_vectors = _forward(ChunkIndex.count_without_vectors)
    search = _forward(ChunkIndex.search)
    fetch = _forward(ChunkIndex.fetch)
    vectors = _forward(ChunkIndex.vectors)
    tokens = _forward(ChunkIndex.tokens)
    scan = _forward(ChunkIndex.scan)
    delete = _forward(ChunkIndex.delete)
    count = _forward(ChunkIndex.count)
    facet = _forward(ChunkIndex.facet)
    optimize = _forward(ChunkIndex.optimize)

    def bulk_load(self, collection: Collection) -> AbstractAsyncContextManager[None]:
        """`ports.LoadsInBulk`."""
        return bulk_load(self.of(collection), collection)

    async def erase(self, collection: Collection, deleted: bool) -> None:
        """`ports.Erases`."""
        await erase(self.of(collection), collection, deleted)

    async def ready(self) -> None:
        for item in self.both:
            await item.ready()

    async def aclose(self) -> None:
        for item in self.both:
            await item.aclose()

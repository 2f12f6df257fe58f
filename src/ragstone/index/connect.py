"""Which chunk index, or which service that is asked instead of one, an address means."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import wraps
from hashlib import sha256
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar, cast
from urllib.parse import unquote, urlsplit, urlunsplit

from pydantic import SecretStr

from ragstone.core.errors import ConfigError
from ragstone.core.records import Collection
from ragstone.index.edge.index import EdgeIndex
from ragstone.index.options import IndexOptions, read_options
from ragstone.ports import ChunkIndex, RetrievalServer, SearchesLate, Shares, bulk_load, erase
from ragstone.registry import Extension, Registry
from ragstone.settings import IndexSettings
from ragstone.settings.storage import EMBEDDED

EDGE = ""
"""The scheme of no address."""


class OpenIndex(ChunkIndex, Protocol):
    """An index that wants to be closed."""

    async def aclose(self) -> None: ...


def connect(settings: IndexSettings, data: Path) -> OpenIndex:
    """The index at `settings.url`; without one, or with the address of a service that is asked
    instead, Qdrant Edge in the directory `data`.

    Raises ConfigError for an address of no kind that is known.
    """
    scheme = _scheme(settings)
    if names_retriever(settings):
        scheme = EDGE
    if scheme not in INDEXES:
        raise ConfigError(
            f"INDEX__URL begins with {scheme!r}. Use one of "
            f"{', '.join(f'{name}://' for name in INDEXES if name)}, "
            f"{', '.join(f'{name}+http://' for name in RETRIEVERS)}, or leave it empty."
        )
    return INDEXES.make(scheme, settings, data)


@dataclass(frozen=True, slots=True)
class ConnectedIndex:
    """The index of the settings, and every one that it asks."""

    index: OpenIndex
    parts: Sequence[OpenIndex]


def connect_all(settings: IndexSettings, data: Path) -> ConnectedIndex:
    """Return the index at `settings.url`, or, where collections are moved there from another one,
    both as one. Raises ConfigError."""
    if not settings.from_url:
        index = connect(settings, data)
        return ConnectedIndex(index, (index,))
    url = "" if settings.from_url == EMBEDDED else settings.from_url
    before = readdress(settings, *split_key(url))
    if any(names_retriever(item) for item in (before, settings)):
        raise ConfigError("A retrieval service holds no collections of ours: nothing can move.")
    # Another user or password does not make it another index.
    if index_place(url) == index_place(settings.url):
        raise ConfigError(
            "INDEX__FROM_URL and INDEX__URL are the same: set INDEX__URL to where collections are "
            "to be, or take INDEX__FROM_URL away."
        )
    parts = connect(before, data), connect(settings, data)
    return ConnectedIndex(MovingIndex(*parts, index_place(settings.url)), parts)


def names_retriever(settings: IndexSettings) -> bool:
    """Tell whether the address is that of a service that is asked instead of an index."""
    return bool(_retriever(_scheme(settings)))


def external_retriever(settings: IndexSettings) -> RetrievalServer | None:
    """Return the retrieval service of the settings, if the index is one; raises ConfigError."""
    name = _retriever(_scheme(settings))
    return RETRIEVERS.make(name, settings) if name else None


def _scheme(settings: IndexSettings) -> str:
    return settings.url.split(":", 1)[0].lower()


def _retriever(scheme: str) -> str:
    """The retrieval service that a scheme such as `kdb+http` names, empty if it names an index."""
    name, plus, _ = scheme.partition("+")
    return name if plus and scheme not in INDEXES and name in RETRIEVERS else ""


def split_key(url: str) -> tuple[str, SecretStr]:
    """Return an address without the key that it holds as a password, and that key. That of
    PostgreSQL keeps it, as its client reads it there."""
    split = urlsplit(url)
    if not split.password or split.scheme.startswith("postgres"):
        return url, SecretStr("")
    bare = split._replace(netloc=split.netloc.rpartition("@")[2])
    return urlunsplit(bare), SecretStr(unquote(split.password))


def readdress(settings: IndexSettings, url: str, key: SecretStr) -> IndexSettings:
    """The settings for an index at another address, with the options if it is of the same kind."""
    made = settings.model_copy(update={"url": url, "api_key": key})
    kinds = {INDEXES[name].target for name in map(_scheme, (made, settings)) if name in INDEXES}
    # Options of one kind are none of another, which would refuse them.
    return made if len(kinds) == 1 else made.model_copy(update={"options": {}})


def _edge(settings: IndexSettings, data: Path) -> OpenIndex:
    read_options(IndexOptions, settings.options)
    return EdgeIndex(data)


INDEXES: Registry[OpenIndex] = Registry(
    "ragstone.indexes",
    "chunk index",
    {EDGE: Extension(_edge, "Where INDEX__URL is empty: Qdrant Edge in the data directory")},
    makes=OpenIndex,
)
"""Chunk indexes by the scheme of INDEX__URL, made of the settings of the index and the directory of
Qdrant Edge."""

RETRIEVERS: Registry[RetrievalServer] = Registry(
    "ragstone.retrievers", "retrieval service", {}, makes=RetrievalServer
)
"""Retrieval services by what stands before the `+` in the scheme of INDEX__URL, made of the
settings of the index."""


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
        call: Callable[P, R] = getattr(self.find_index(collection), method.__name__)
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

    def find_index(self, collection: Collection) -> OpenIndex:
        """Return the index that the collection is in."""
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
        return bulk_load(self.find_index(collection), collection)

    async def erase(self, collection: Collection, deleted: bool) -> None:
        await erase(self.find_index(collection), collection, deleted)

    async def ready(self) -> None:
        for item in self.both:
            await item.ready()

    async def aclose(self) -> None:
        for item in self.both:
            await item.aclose()

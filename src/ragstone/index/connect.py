"""Which chunk index, or which service that is asked instead of one, an address means."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import SecretStr

from ragstone.core.errors import ConfigError
from ragstone.index.edge.index import EdgeIndex
from ragstone.index.options import IndexOptions, read_options
from ragstone.ports import ChunkIndex, Retriever
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
    """The index at `settings.url`, or, where collections are moved there from another one, both as
    one. Raises ConfigError."""
    if not settings.from_url:
        index = connect(settings, data)
        return ConnectedIndex(index, (index,))
    from ragstone.index.moving import MovingIndex, index_place

    url = "" if settings.from_url == EMBEDDED else settings.from_url
    before = settings_at(settings, url, settings.from_api_key)
    if any(names_retriever(item) for item in (before, settings)):
        raise ConfigError("A retrieval service holds no collections of ours: nothing can move.")
    if index_place(url) == index_place(settings.url):
        raise ConfigError(
            "INDEX__FROM_URL and INDEX__URL are the same: set INDEX__URL to where collections are "
            "to be, or take INDEX__FROM_URL away."
        )
    parts = connect(before, data), connect(settings, data)
    return ConnectedIndex(MovingIndex(*parts, index_place(settings.url)), parts)


def names_retriever(settings: IndexSettings) -> bool:
    """Whether the address is that of a service that is asked instead of an index."""
    return bool(_retriever(_scheme(settings)))


def external_retriever(settings: IndexSettings) -> Retriever | None:
    """The retrieval service of the settings, if the index is one; raises ConfigError."""
    name = _retriever(_scheme(settings))
    return RETRIEVERS.make(name, settings) if name else None


def _scheme(settings: IndexSettings) -> str:
    return settings.url.split(":", 1)[0].lower()


def _retriever(scheme: str) -> str:
    """The retrieval service that a scheme such as `kdb+http` names, empty if it names an index."""
    name, plus, _ = scheme.partition("+")
    return name if plus and scheme not in INDEXES and name in RETRIEVERS else ""


def settings_at(settings: IndexSettings, url: str, key: SecretStr) -> IndexSettings:
    """The settings for an index at another address, with the options if it is of the same kind."""
    made = settings.model_copy(update={"url": url, "api_key": key})
    kinds = {INDEXES[name].target for name in map(_scheme, (made, settings)) if name in INDEXES}
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

_SERVICES = "ragstone.index.external_retriever"

RETRIEVERS: Registry[Retriever] = Registry(
    "ragstone.retrievers",
    "retrieval service",
    {
        "kdb": Extension(f"{_SERVICES}:knowledge_base", "A knowledge database that is searched"),
        "retrieval": Extension(f"{_SERVICES}:retrieval_service", "A retrieval service"),
    },
    makes=Retriever,
)
"""Retrieval services by what stands before the `+` in the scheme of INDEX__URL, made of the
settings of the index."""

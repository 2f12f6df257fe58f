"""Which chunk index an address means."""

from pathlib import Path
from typing import Protocol

from ragstone.core.errors import ConfigError
from ragstone.index.edge.index import EdgeIndex
from ragstone.ports import ChunkIndex
from ragstone.settings import IndexSettings

ELASTICSEARCH = "elasticsearch+"
ELSEWHERE = ("kdb", "retrieval")
"""Schemes of services that are asked instead of an index, which then stays beside them."""


class OpenIndex(ChunkIndex, Protocol):
    """An index that wants to be closed."""

    async def aclose(self) -> None: ...


def connect(settings: IndexSettings, data: Path) -> OpenIndex:
    """The index at `settings.url`; without one, Qdrant Edge in the directory `data`.

    Raises ConfigError for an address of no kind that is known.
    """
    url, key = settings.url, settings.api_key.get_secret_value()
    scheme = url.split(":", 1)[0].lower()
    if not url or scheme.split("+", 1)[0] in ELSEWHERE:
        return EdgeIndex(data)
    if scheme in ("elasticsearch+http", "elasticsearch+https"):
        from ragstone.index.elasticsearch.index import ElasticsearchIndex

        return ElasticsearchIndex(url[len(ELASTICSEARCH) :], key, settings.timeout)
    if scheme in ("postgresql", "postgres"):
        return _postgres(url, settings.timeout)
    if scheme in ("http", "https"):
        return _qdrant(url, key, settings.timeout)
    raise ConfigError(
        f"INDEX__URL begins with {scheme!r}; use http:// for Qdrant, postgresql:// "
        "or elasticsearch+http:// for those, kdb+http:// or retrieval+http://, or leave it empty."
    )


def _postgres(url: str, timeout: float) -> OpenIndex:
    try:
        from ragstone.index.postgres.index import PostgresIndex
    except ImportError as error:
        raise ConfigError(
            "INDEX__URL is a PostgreSQL address: install what it needs with "
            "pip install 'ragstone[postgres]'."
        ) from error
    return PostgresIndex(url, timeout)


def _qdrant(url: str, key: str, timeout: float) -> OpenIndex:
    try:
        from ragstone.index.qdrant.index import QdrantIndex
    except ImportError as error:
        raise ConfigError(
            "INDEX__URL is the address of a Qdrant server: install what it needs with "
            "pip install 'ragstone[qdrant]'."
        ) from error
    return QdrantIndex(url, key, timeout)

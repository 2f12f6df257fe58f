"""Which chunk index an address means."""

from pathlib import Path
from typing import Protocol

from ragstone.errors import ConfigError
from ragstone.index.edge import EdgeIndex
from ragstone.index.elasticsearch import ElasticsearchIndex
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
        return ElasticsearchIndex(url[len(ELASTICSEARCH) :], key, settings.timeout)
    raise ConfigError(
        f"INDEX__URL begins with {scheme!r}; use elasticsearch+http:// or elasticsearch+https://, "
        "kdb+http:// or retrieval+http://, or leave it empty."
    )

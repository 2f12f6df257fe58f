"""Which chunk index, or which service that is asked instead of one, an address means."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ragstone.core.errors import ConfigError
from ragstone.index.edge.index import EdgeIndex
from ragstone.index.retries import Retries
from ragstone.ports import ChunkIndex, Retriever
from ragstone.registry import Extension, Registry
from ragstone.settings import IndexSettings
from ragstone.settings.storage import EMBEDDED

EDGE = ""
"""The scheme of no address."""

ELASTICSEARCH = "elasticsearch+"


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
    before = settings.model_copy(update={"url": url, "api_key": settings.from_api_key})
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


def _edge(settings: IndexSettings, data: Path) -> OpenIndex:
    return EdgeIndex(data)


def _elasticsearch(settings: IndexSettings, data: Path) -> OpenIndex:
    from ragstone.index.elasticsearch.index import ElasticsearchIndex
    from ragstone.index.elasticsearch.options import USUAL, ElasticsearchOptions

    options = ElasticsearchOptions(
        shards=settings.shards,
        replicas=settings.replicas,
        refresh_interval=settings.refresh_interval,
        m=settings.hnsw_m or USUAL.m,
        ef_construction=settings.hnsw_ef_construction
        or max(USUAL.ef_construction, 2 * (settings.hnsw_m or 0)),
        candidates=settings.hnsw_ef_search or USUAL.candidates,
        quantization=settings.quantization or USUAL.quantization,
        rescore=settings.rescore,
        oversampling=settings.oversampling,
        write_chunks=settings.write_chunks,
        write_bytes=settings.write_mb * 2**20,
    )
    url, key = settings.url[len(ELASTICSEARCH) :], settings.api_key.get_secret_value()
    retries = _retries(settings)
    return ElasticsearchIndex(url, key, settings.timeout, options=options, retries=retries)


def _postgres(settings: IndexSettings, data: Path) -> OpenIndex:
    from ragstone.index.postgres.building import Hnsw
    from ragstone.index.postgres.connection import EF_SEARCH, PostgresConnections
    from ragstone.index.postgres.index import SHARED_CHUNKS, PostgresIndex

    database = PostgresConnections(
        settings.url,
        settings.timeout,
        settings.api_key.get_secret_value(),
        settings.connections,
        settings.hnsw_ef_search or EF_SEARCH,
    )
    hnsw = Hnsw.from_settings(settings.hnsw_m, settings.hnsw_ef_construction, settings.halfvec)
    shared = SHARED_CHUNKS if settings.shared_chunks is None else settings.shared_chunks
    return PostgresIndex(database, hnsw, shared)


def _qdrant(settings: IndexSettings, data: Path) -> OpenIndex:
    from ragstone.index.qdrant.index import QdrantIndex
    from ragstone.index.qdrant.options import QdrantOptions

    options = QdrantOptions(
        shards=settings.shards,
        copies=None if settings.replicas is None else 1 + settings.replicas,
        write_consistency=settings.write_consistency,
        payload_on_disk=settings.payload_on_disk,
        vectors_on_disk=settings.vectors_on_disk,
        m=settings.hnsw_m,
        ef_construction=settings.hnsw_ef_construction,
        ef_search=settings.hnsw_ef_search,
        quantization=settings.quantization,
        rescore=settings.rescore,
        oversampling=settings.oversampling,
        write_chunks=settings.write_chunks,
        write_bytes=settings.write_mb * 2**20,
    )
    key, retries = settings.api_key.get_secret_value(), _retries(settings)
    return QdrantIndex(
        settings.url,
        key,
        settings.timeout,
        options=options,
        retries=retries,
        shared_chunks=settings.shared_chunks or 0,
    )


def _retries(settings: IndexSettings) -> Retries:
    return Retries(settings.retries, settings.retry_pause)


_POSTGRES = Extension(_postgres, "PostgreSQL with pgvector", extra="postgres")
_QDRANT = Extension(_qdrant, "A Qdrant server or cluster", extra="qdrant")
_ELASTICSEARCH = Extension(_elasticsearch, "Elasticsearch")

INDEXES: Registry[OpenIndex] = Registry(
    "ragstone.indexes",
    "chunk index",
    {
        EDGE: Extension(_edge, "Where INDEX__URL is empty: Qdrant Edge in the data directory"),
        "http": _QDRANT,
        "https": _QDRANT,
        "postgresql": _POSTGRES,
        "postgres": _POSTGRES,
        "elasticsearch+http": _ELASTICSEARCH,
        "elasticsearch+https": _ELASTICSEARCH,
    },
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

"""How PostgreSQL keeps and searches collections, as far as `index.options` says."""

from typing import ClassVar

from pydantic import Field

from ragstone.index.options import GraphOptions
from ragstone.plugins.postgres.building import Hnsw
from ragstone.plugins.postgres.connection import EF_SEARCH

SHARED_CHUNKS = 500
"""Chunks below which a collection shares a table where the options do not say: so many are
compared one by one in the time that a search by indexes takes."""


class PostgresOptions(GraphOptions):
    """What pgvector and its connections can be told."""

    kind: ClassVar[str] = "a PostgreSQL index"

    connections: int = Field(8, ge=1, le=1000, description="Connections of one process, at most.")
    shared_chunks: int = Field(
        SHARED_CHUNKS,
        ge=0,
        le=10_000,
        description="Chunks below which new collections share a table.",
    )
    halfvec: bool = Field(
        False,
        description="Whether vectors are indexed at half precision, in half the memory; those of "
        "more than 2,000 numbers always are.",
    )
    hnsw_ef_search: int = Field(
        EF_SEARCH, ge=1, le=1000, description="Candidates of a search by meaning."
    )

    @property
    def hnsw(self) -> Hnsw:
        """How vectors are indexed; pgvector refuses fewer candidates than twice the links."""
        usual = Hnsw()
        links = self.hnsw_m or usual.m
        candidates = self.hnsw_ef_construction or max(usual.ef_construction, 2 * links)
        return Hnsw(links, candidates, self.halfvec)

"""How Elasticsearch keeps and searches a collection, as far as the settings say."""

from dataclasses import dataclass
from typing import Any

from ragstone.settings.storage import Quantization

TYPES: dict[Quantization, str] = {
    "none": "hnsw",
    "int8": "int8_hnsw",
    "binary": "bbq_hnsw",
}
"""How vectors are indexed; the last keeps a bit of each number."""

OVERSAMPLING: dict[Quantization, float] = {"int8": 2.0, "binary": 3.0}

QUANTIZES_FROM = (8, 18)
"""The first version that ranks what quantized vectors found anew by whole ones. Without it scores
would be other than in the other indexes, and thresholds are compared with them."""

NUM_CANDIDATES = 100
"""Candidates that kNN considers in a shard, at least; Elasticsearch takes up to 10,000."""

MAX_HITS = 10_000
"""`index.max_result_window`, the hits that one search may return by default."""


@dataclass(frozen=True, slots=True)
class ElasticsearchOptions:
    """What None says is left to the server; the settings of the index describe each."""

    shards: int | None = None
    replicas: int | None = None
    refresh_interval: float | None = None
    m: int = 16
    ef_construction: int = 100
    candidates: int = NUM_CANDIDATES
    quantization: Quantization = "none"
    rescore: bool = True
    oversampling: float | None = None
    write_chunks: int = 128
    write_bytes: int = 8 * 2**20

    def new(self) -> dict[str, Any]:
        """The settings of a new index."""
        parts = {} if self.shards is None else {"number_of_shards": self.shards}
        return {**parts, **self.changeable_options()}

    def changeable_options(self) -> dict[str, Any]:
        """Those of them that an index may be given later."""
        found: dict[str, Any] = {}
        if self.replicas is not None:
            found["number_of_replicas"] = self.replicas
        if self.refresh_interval is not None:
            milliseconds = round(1000 * self.refresh_interval)
            found["refresh_interval"] = f"{milliseconds}ms" if milliseconds else "-1"
        return found

    def vector(self, dimensions: int) -> dict[str, Any]:
        """The field of a vector."""
        return {
            "type": "dense_vector",
            "dims": dimensions,
            "index": True,
            "similarity": "cosine",
            "index_options": {
                "type": TYPES[self.quantization],
                "m": self.m,
                "ef_construction": self.ef_construction,
            },
        }

    def knn(self, limit: int) -> dict[str, Any]:
        """How a search for the nearest vectors looks."""
        found: dict[str, Any] = {
            "k": limit,
            "num_candidates": min(max(limit, self.candidates), MAX_HITS),
        }
        if self.rescore and self.quantization != "none":
            factor = self.oversampling or OVERSAMPLING[self.quantization]
            found["rescore_vector"] = {"oversample": factor}
        return found


USUAL = ElasticsearchOptions()

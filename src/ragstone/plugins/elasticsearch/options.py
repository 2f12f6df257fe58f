"""How Elasticsearch keeps and searches a collection, as far as `index.options` says."""

from typing import Any, ClassVar

from pydantic import Field

from ragstone.index.options import ClusterOptions, Quantization
from ragstone.settings.section import Seconds

TYPES: dict[Quantization, str] = {"none": "hnsw", "int8": "int8_hnsw", "binary": "bbq_hnsw"}
"""How vectors are indexed; the last keeps a bit of each number."""

OVERSAMPLING: dict[Quantization, float] = {"int8": 2.0, "binary": 3.0}

QUANTIZES_FROM = (8, 18)
"""The first version that ranks what quantized vectors found anew by whole ones. Without it scores
would be other than in the other indexes, and thresholds are compared with them."""

LINKS, BUILDING = 16, 100
"""Links of a vector, and candidates while its graph is built, unless the options say."""

NUM_CANDIDATES = 100
"""Candidates that kNN considers in a shard, at least; Elasticsearch takes up to 10,000."""

MAX_HITS = 10_000
"""`index.max_result_window`, the hits that one search may return by default."""


class ElasticsearchOptions(ClusterOptions):
    """What None says is left to the server, but for the graph, which has LINKS and BUILDING."""

    kind: ClassVar[str] = "an Elasticsearch index"

    refresh_interval: Seconds | None = Field(
        None,
        ge=0,
        description="Seconds after which writes become visible by themselves; every write ends "
        "with that, so it may be long, and 0 is never.",
    )
    hnsw_ef_search: int = Field(
        NUM_CANDIDATES,
        ge=1,
        le=MAX_HITS,
        description="Candidates of a search by meaning in each shard (num_candidates), at least.",
    )
    quantization: Quantization = Field(
        "none",
        description="What is searched instead of whole vectors, in new collections: int8, bytes; "
        "binary, bits. Elasticsearch has it from 8.18 on.",
    )

    def new(self) -> dict[str, Any]:
        """Return the settings of a new index."""
        parts = {} if self.shards is None else {"number_of_shards": self.shards}
        return {**parts, **self.changeable_options()}

    def changeable_options(self) -> dict[str, Any]:
        """Return those of them that an index may be given later."""
        found: dict[str, Any] = {}
        if self.replicas is not None:
            found["number_of_replicas"] = self.replicas
        if self.refresh_interval is not None:
            milliseconds = round(1000 * self.refresh_interval)
            found["refresh_interval"] = f"{milliseconds}ms" if milliseconds else "-1"
        return found

    def vector(self, dimensions: int) -> dict[str, Any]:
        """Return the field of a vector."""
        links = self.hnsw_m or LINKS
        return {
            "type": "dense_vector",
            "dims": dimensions,
            "index": True,
            "similarity": "cosine",
            "index_options": {
                "type": TYPES[self.quantization],
                "m": links,
                "ef_construction": self.hnsw_ef_construction or max(BUILDING, 2 * links),
            },
        }

    def knn(self, limit: int) -> dict[str, Any]:
        """Tell how a search for the nearest vectors looks."""
        found: dict[str, Any] = {
            "k": limit,
            "num_candidates": min(max(limit, self.hnsw_ef_search), MAX_HITS),
        }
        if self.rescore and self.quantization != "none":
            factor = self.oversampling or OVERSAMPLING[self.quantization]
            found["rescore_vector"] = {"oversample": factor}
        return found


USUAL = ElasticsearchOptions()

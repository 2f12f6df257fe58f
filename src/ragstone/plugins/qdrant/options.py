"""How a Qdrant server keeps and searches a collection, as far as `index.options` says."""

from typing import Any, ClassVar

from pydantic import Field, model_validator
from qdrant_client import models

from ragstone.core.records import Collection
from ragstone.index.edge.shard import DENSE, LATE
from ragstone.index.late import DIMENSIONS
from ragstone.index.options import ClusterOptions, Quantization

QUANTIZE_FROM = 100_000
"""Chunks from which dense vectors are searched as bytes: 150 MB as floats of 384 dimensions."""

BINARY_OVERSAMPLING = 3.0
"""Bits order candidates roughly: for each that is wanted whole vectors rank three anew, as
Elasticsearch has it by default."""


class QdrantOptions(ClusterOptions):
    """What None says is left to the server.

    Without `quantization`, `optimize` has the server search bytes from QUANTIZE_FROM chunks on.
    """

    kind: ClassVar[str] = "a Qdrant index"

    write_consistency: int | None = Field(
        None,
        ge=1,
        le=101,
        description="Copies of a part, of 1 + replicas, that must hold a write before it counts.",
    )
    payload_on_disk: bool | None = Field(
        None, description="Whether texts and fields are read from the disk instead of memory."
    )
    vectors_on_disk: bool | None = Field(
        None,
        description="Whether whole vectors are read from the disk; not given, once they are "
        "quantized from 100,000 chunks on.",
    )
    hnsw_ef_search: int | None = Field(
        None, ge=1, le=10_000, description="Candidates of a search by meaning."
    )
    quantization: Quantization | None = Field(
        None,
        description="What is searched instead of whole vectors: int8, bytes, a quarter of the "
        "memory; binary, bits, a thirty-second; not given, bytes from 100,000 chunks on.",
    )
    shared_chunks: int = Field(
        0,
        ge=0,
        le=10_000,
        description="Chunks below which new collections share a collection of Qdrant 1.19 or "
        "later, where their vectors are compared one by one; 0 is none.",
    )

    @model_validator(mode="after")
    def _copies_suffice(self) -> "QdrantOptions":
        wanted = self.write_consistency
        if wanted is not None and wanted > 1 + (self.replicas or 0):
            raise ValueError("write_consistency must be at most 1 + replicas")
        return self

    @property
    def copies(self) -> int | None:
        """Qdrant's replication factor: the first copy of a part and those beside it."""
        return None if self.replicas is None else 1 + self.replicas

    def of(self, collection: Collection) -> "QdrantOptions":
        """Return these, but for what collections share: nothing is searched there by a graph, or by
        less than whole vectors."""
        if not collection.shared:
            return self
        plain = {"hnsw_m": 0, "hnsw_ef_construction": None, "quantization": "none"}
        return self.model_copy(update=plain)

    def hnsw(self) -> models.HnswConfigDiff | None:
        """Tell how the graph is built; None if nothing is said of it."""
        if self.hnsw_m is None and self.hnsw_ef_construction is None:
            return None
        return models.HnswConfigDiff(m=self.hnsw_m, ef_construct=self.hnsw_ef_construction)

    def vectors(self, collection: Collection) -> dict[str, models.VectorParams]:
        """Return the parameters of the dense vectors of a new collection, and of those by which
        late interaction finds candidates where it does."""
        cosine = models.Distance.COSINE
        found = {
            DENSE: models.VectorParams(
                size=collection.dimensions,
                distance=cosine,
                on_disk=self.vectors_on_disk,
                quantization_config=quantization_config(self.quantization),
            )
        }
        if collection.late:
            found[LATE] = models.VectorParams(
                size=DIMENSIONS,
                distance=cosine,
                datatype=models.Datatype.FLOAT16,
                on_disk=self.vectors_on_disk,
            )
        return found

    def new(self) -> dict[str, Any]:
        """Return what else `create_collection` gets."""
        return {
            "shard_number": self.shards,
            "replication_factor": self.copies,
            "write_consistency_factor": self.write_consistency,
            "on_disk_payload": self.payload_on_disk,
            "hnsw_config": self.hnsw(),
        }

    def changes(self, config: models.CollectionConfig) -> dict[str, Any]:
        """Return what `update_collection` gets, so that a collection of other settings has these;
        empty if it has them. The number of shards never changes."""
        held, graph = config.params, config.hnsw_config
        params = {
            name: wanted
            for name, wanted in (
                ("replication_factor", self.copies),
                ("write_consistency_factor", self.write_consistency),
                ("on_disk_payload", self.payload_on_disk),
            )
            if wanted is not None and wanted != getattr(held, name)
        }
        links = {
            name: wanted
            for name, wanted in (("m", self.hnsw_m), ("ef_construct", self.hnsw_ef_construction))
            if wanted is not None and wanted != getattr(graph, name)
        }
        vectors = self._vector_changes(held.vectors if isinstance(held.vectors, dict) else {})
        return {
            name: change
            for name, change in (
                ("collection_params", models.CollectionParamsDiff(**params) if params else None),
                ("hnsw_config", models.HnswConfigDiff(**links) if links else None),
                ("vectors_config", vectors or None),
            )
            if change is not None
        }

    def smaller(self) -> models.VectorParamsDiff:
        """What makes a large collection search bytes where nothing is said of quantization."""
        on_disk = self.vectors_on_disk is not False
        return models.VectorParamsDiff(
            on_disk=on_disk, quantization_config=quantization_config("int8")
        )

    def search_params(self, exact: bool) -> models.SearchParams:
        """Tell how a search by meaning looks."""
        oversampling = self.oversampling
        if oversampling is None and self.quantization == "binary":
            oversampling = BINARY_OVERSAMPLING
        return models.SearchParams(
            exact=exact,
            hnsw_ef=self.hnsw_ef_search,
            quantization=models.QuantizationSearchParams(
                ignore=exact, rescore=self.rescore, oversampling=oversampling
            ),
        )

    def _vector_changes(
        self, held: dict[str, models.VectorParams]
    ) -> dict[str, models.VectorParamsDiff]:
        found = {}
        for name, params in held.items():
            changes: dict[str, Any] = {}
            if self.vectors_on_disk is not None and self.vectors_on_disk != bool(params.on_disk):
                changes["on_disk"] = self.vectors_on_disk
            if name == DENSE and self.quantization not in (None, _kind(params)):
                changes["quantization_config"] = (
                    quantization_config(self.quantization) or models.Disabled.DISABLED
                )
            if changes:
                found[name] = models.VectorParamsDiff(**changes)
        return found


USUAL = QdrantOptions()


def quantization_config(
    kind: Quantization | None,
) -> models.ScalarQuantization | models.BinaryQuantization | None:
    """Configure quantized vectors, which stay in memory; None for none."""
    if kind == "int8":
        scalar = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
        return models.ScalarQuantization(scalar=scalar)
    if kind == "binary":
        return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True))
    return None


def _kind(params: models.VectorParams) -> str:
    held = params.quantization_config
    if isinstance(held, models.ScalarQuantization):
        return "int8"
    return "binary" if isinstance(held, models.BinaryQuantization) else "none"

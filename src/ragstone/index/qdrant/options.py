"""How a Qdrant server keeps and searches a collection, as far as the settings say."""

from dataclasses import dataclass, replace
from typing import Any

from qdrant_client import models

from ragstone.core.records import Collection
from ragstone.index.edge.shard import DENSE, LATE
from ragstone.index.late import DIMENSIONS
from ragstone.settings.storage import Quantization

QUANTIZE_FROM = 100_000
"""Chunks from which dense vectors are searched as bytes: 150 MB as floats of 384 dimensions."""
WRITE_CHUNKS = 128
WRITE_BYTES = 8 * 2**20
"""Bounds of one write; a server refuses requests of more than 32 MB unless told otherwise."""

BINARY_OVERSAMPLING = 3.0
"""Bits order candidates roughly: for each that is wanted whole vectors rank three anew, as
Elasticsearch has it by default."""


@dataclass(frozen=True, slots=True)
class QdrantOptions:
    """What None says is left to the server; the settings of the index describe each.

    Without `quantization`, `optimize` has the server search bytes from `quantize_from` chunks on.
    """

    shards: int | None = None
    copies: int | None = None
    write_consistency: int | None = None
    payload_on_disk: bool | None = None
    vectors_on_disk: bool | None = None
    m: int | None = None
    ef_construction: int | None = None
    ef_search: int | None = None
    quantization: Quantization | None = None
    quantize_from: int = QUANTIZE_FROM
    rescore: bool = True
    oversampling: float | None = None
    write_chunks: int = WRITE_CHUNKS
    write_bytes: int = WRITE_BYTES

    def of(self, collection: Collection) -> "QdrantOptions":
        """These, but for what collections share: nothing is searched there by a graph, or by less
        than whole vectors."""
        if not collection.shared:
            return self
        return replace(self, m=0, ef_construction=None, quantization="none")

    def hnsw(self) -> models.HnswConfigDiff | None:
        """How the graph is built; None if nothing is said of it."""
        if self.m is None and self.ef_construction is None:
            return None
        return models.HnswConfigDiff(m=self.m, ef_construct=self.ef_construction)

    def vectors(self, collection: Collection) -> dict[str, models.VectorParams]:
        """The parameters of the dense vectors of a new collection, and of those by which late
        interaction finds candidates where it does."""
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
        """What else `create_collection` gets."""
        return {
            "shard_number": self.shards,
            "replication_factor": self.copies,
            "write_consistency_factor": self.write_consistency,
            "on_disk_payload": self.payload_on_disk,
            "hnsw_config": self.hnsw(),
        }

    def changes(self, config: models.CollectionConfig) -> dict[str, Any]:
        """What `update_collection` gets, so that a collection of other settings has these; empty if
        it has them. The number of shards never changes."""
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
            for name, wanted in (("m", self.m), ("ef_construct", self.ef_construction))
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
        """How a search by meaning looks."""
        oversampling = self.oversampling
        if oversampling is None and self.quantization == "binary":
            oversampling = BINARY_OVERSAMPLING
        return models.SearchParams(
            exact=exact,
            hnsw_ef=self.ef_search,
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
    """Quantized vectors, which stay in memory; None for none."""
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

"""What Ragstone keeps on a Qdrant server: the schema, and how chunks become points and back."""

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid5

import numpy as np
import qdrant_edge as edge
from qdrant_client import models

from ragstone.core.chunk import Chunk
from ragstone.core.errors import IndexUnavailable
from ragstone.core.filters import tokens
from ragstone.core.records import Collection
from ragstone.index.bm25 import Bm25Encoder
from ragstone.index.edge.filter import PAIRS
from ragstone.index.edge.shard import (
    BM25,
    DENSE,
    FLOAT_FIELDS,
    INTEGER_FIELDS,
    KEYWORD_FIELDS,
    LATE,
)
from ragstone.ports import Vectors

FIELDS = {
    **dict.fromkeys(KEYWORD_FIELDS, models.PayloadSchemaType.KEYWORD),
    **dict.fromkeys(INTEGER_FIELDS, models.PayloadSchemaType.INTEGER),
    **dict.fromkeys(FLOAT_FIELDS, models.PayloadSchemaType.FLOAT),
}
"""Every payload field that filters use, with the type of its index."""

CHUNK = "chunk_id"

PART = "part"
"""The payload field that says which of the collections that share a Qdrant collection a point is
of."""

SPARSE = {BM25: models.SparseVectorParams(modifier=models.Modifier.IDF)}

JSON_NUMBER_BYTES = 22

TOKENS = "token_vectors"
"""The payload field of packed token vectors, in base64; read only when they are asked for."""

WITHOUT_TOKENS = models.PayloadSelectorExclude(exclude=[TOKENS])


@dataclass(frozen=True, slots=True)
class QdrantPlace:
    """Where the chunks of a collection are: the Qdrant collection of this name, or one `part` of
    it, a tenant in Qdrant's words."""

    name: str
    part: str = ""

    def point(self, chunk_id: str) -> str:
        """Return the id of a chunk's point: two parts may hold chunks of one id."""
        return str(uuid5(UUID(self.part), chunk_id)) if self.part else chunk_id

    def only(self, condition: models.Filter) -> models.Filter:
        """Return a filter that leaves no point of another part."""
        return models.Filter(must=[self._mine(), condition]) if self.part else condition

    @property
    def payload(self) -> dict[str, str]:
        """What says whose a point is."""
        return {PART: self.part} if self.part else {}

    @property
    def payload_fields(self) -> list[str] | bool:
        """What of the payload says which chunk a point is."""
        return [CHUNK] if self.part else False

    def rarity(self) -> models.IdfCorpusParams | None:
        """Return the points among which a word is rare; None for all."""
        if not self.part:
            return None
        return models.IdfCorpusParams(corpus=models.Filter(must=[self._mine()]))

    def chunk_id(self, record: models.Record | models.ScoredPoint) -> str:
        """The chunk that a point is; raises IndexUnavailable where it is none of this part."""
        if not self.part:
            return str(record.id)
        chunk_id = str((record.payload or {}).get(CHUNK))
        if self.point(chunk_id) != str(record.id):
            raise IndexUnavailable("The Qdrant server returned a chunk of another collection.")
        return chunk_id

    def _mine(self) -> models.FieldCondition:
        return models.FieldCondition(key=PART, match=models.MatchAny(any=[self.part]))


def collection_place(prefix: str, collection: Collection) -> QdrantPlace:
    """Return where a collection is; ids of any length and script become hex digits."""
    key = json.dumps([collection.tenant, collection.id]).encode()
    digest = hashlib.blake2b(key, digest_size=16).hexdigest()
    if not collection.shared:
        return QdrantPlace(f"{prefix}-{digest}-{collection.build}")
    kind = f"{collection.dimensions}{'-late' if collection.late else ''}"
    return QdrantPlace(f"{prefix}-shared-{kind}", str(uuid5(UUID(digest), str(collection.build))))


def batches(
    chunks: Sequence[Chunk],
    vectors: Vectors | None,
    tokens: Sequence[bytes] | None,
    late: Vectors | None,
    most: int,
    most_bytes: int,
) -> Iterator[slice]:
    """Yield the pieces of `chunks`, with what belongs to them, that one request may carry."""
    width = 0 if vectors is None else vectors.shape[-1]
    width += 0 if late is None else late.shape[-1]
    start = size = 0
    for end, chunk in enumerate(chunks):
        packed = len(tokens[end]) * 4 // 3 if tokens else 0
        bytes_ = width * JSON_NUMBER_BYTES + 8 * len(chunk.searchable) + packed
        if end > start and (end - start == most or size + bytes_ > most_bytes):
            yield slice(start, end)
            start, size = end, 0
        size += bytes_
    yield slice(start, len(chunks))


def points(
    chunks: Sequence[Chunk],
    vectors: Vectors | None,
    tokens: Sequence[bytes] | None,
    late: Vectors | None,
    bm25: Bm25Encoder,
    place: QdrantPlace,
) -> list[models.PointStruct]:
    """Return chunks as points: the sparse vector always, the others where there are some."""
    none = [None] * len(chunks)
    rows = none if vectors is None else vectors.tolist()
    held: Sequence[bytes | None] = none if tokens is None else tokens
    lates = none if late is None else late.tolist()
    return [_point(*item, bm25, place) for item in zip(chunks, rows, held, lates, strict=True)]


def pack_tokens(tokens: bytes) -> dict[str, str]:
    """Pack token vectors as payload."""
    return {TOKENS: base64.b64encode(tokens).decode()}


def vector_changes(
    rows: dict[str, dict[str, list[float]]], tokens: dict[str, bytes]
) -> list[models.UpdateOperation]:
    """Return the changes that give each chunk its vectors by their names and, where there are some,
    its token vectors."""
    pairs = [models.PointVectors(id=i, vector=dict(row)) for i, row in rows.items()]
    payloads = [
        models.SetPayloadOperation(
            set_payload=models.SetPayload(payload=pack_tokens(tokens[i]), points=[i])
        )
        for i in rows
        if i in tokens
    ]
    vectors = models.UpdateVectors(points=pairs)
    return [models.UpdateVectorsOperation(update_vectors=vectors), *payloads]


def read_tokens(record: models.Record) -> bytes | None:
    """Return the token vectors in `record` if it has some."""
    found = (record.payload or {}).get(TOKENS)
    return base64.b64decode(found) if isinstance(found, str) else None


def sparse(vector: edge.SparseVector) -> models.SparseVector:
    """Return the BM25 vector that Edge made, as Qdrant's JSON has it."""
    return models.SparseVector(indices=vector.indices, values=vector.values)


def read_chunk(collection: Collection, place: QdrantPlace, record: models.Record) -> Chunk:
    """The chunk in `record`; raises IndexUnavailable when it is none, or another collection's."""
    payload = record.payload or {}
    point = place.point(str(payload.get(CHUNK)))
    owner = (payload.get("tenant"), payload.get("collection"), point)
    if owner != (collection.tenant, collection.id, str(record.id)):
        raise IndexUnavailable(
            f"The Qdrant server returned something else than a chunk of {collection.name!r}. "
            "Check what else writes to that server."
        )
    if not isinstance(payload.get("text"), str):
        raise IndexUnavailable("The Qdrant server returned a chunk without text. Ingest it again.")
    try:
        return Chunk.from_payload(payload)
    except TypeError as error:
        raise IndexUnavailable(
            "The Qdrant server returned a chunk with fields missing. Ingest it again."
        ) from error


def read_vector(collection: Collection, record: models.Record) -> Vectors | None:
    """Return the dense vector in `record` if it has one."""
    named = record.vector
    row = named.get(DENSE) if isinstance(named, dict) else None
    if row is None:
        return None
    vector = np.asarray(row, np.float32)
    if vector.shape != (collection.dimensions,):
        raise IndexUnavailable(
            f"The Qdrant server returned a vector that is not of {collection.dimensions} numbers."
        )
    return vector


def _point(
    chunk: Chunk,
    row: list[float] | None,
    held: bytes | None,
    late: list[float] | None,
    bm25: Bm25Encoder,
    place: QdrantPlace,
) -> models.PointStruct:
    vector: dict[str, list[float] | models.SparseVector] = {
        BM25: sparse(bm25.document(chunk.searchable))
    }
    if row is not None:
        vector[DENSE] = row
    if late is not None:
        vector[LATE] = late
    payload = chunk.payload() | {PAIRS: list(tokens(chunk.metadata))} | place.payload
    if held is not None:
        payload |= pack_tokens(held)
    return models.PointStruct(id=place.point(chunk.chunk_id), vector=vector, payload=payload)

"""What Ragstone keeps on a Qdrant server: the schema, and how chunks become points and back."""

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence

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

SPARSE = {BM25: models.SparseVectorParams(modifier=models.Modifier.IDF)}

JSON_NUMBER_BYTES = 22

TOKENS = "token_vectors"
"""The payload field of packed token vectors, in base64; read only when they are asked for."""

WITHOUT_TOKENS = models.PayloadSelectorExclude(exclude=[TOKENS])


def qdrant_name(prefix: str, collection: Collection) -> str:
    """The Qdrant collection of `collection`; ids of any length and script become hex digits."""
    key = json.dumps([collection.tenant, collection.id]).encode()
    digest = hashlib.blake2b(key, digest_size=16).hexdigest()
    return f"{prefix}-{digest}-{collection.build}"


def batches(
    chunks: Sequence[Chunk],
    vectors: Vectors | None,
    tokens: Sequence[bytes] | None,
    late: Vectors | None,
    most: int,
    most_bytes: int,
) -> Iterator[slice]:
    """The pieces of `chunks`, with what belongs to them, that one request may carry."""
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
) -> list[models.PointStruct]:
    """Chunks as points: the sparse vector always, the others where there are some."""
    none = [None] * len(chunks)
    rows = none if vectors is None else vectors.tolist()
    held: Sequence[bytes | None] = none if tokens is None else tokens
    lates = none if late is None else late.tolist()
    return [_point(*one, bm25) for one in zip(chunks, rows, held, lates, strict=True)]


def packed(tokens: bytes) -> dict[str, str]:
    """Token vectors as payload."""
    return {TOKENS: base64.b64encode(tokens).decode()}


def vector_changes(
    rows: dict[str, dict[str, list[float]]], tokens: dict[str, bytes]
) -> list[models.UpdateOperation]:
    """The changes that give each chunk its vectors by their names and, where there are some, its
    token vectors."""
    pairs = [models.PointVectors(id=i, vector=dict(row)) for i, row in rows.items()]
    payloads = [
        models.SetPayloadOperation(
            set_payload=models.SetPayload(payload=packed(tokens[i]), points=[i])
        )
        for i in rows
        if i in tokens
    ]
    vectors = models.UpdateVectors(points=pairs)
    return [models.UpdateVectorsOperation(update_vectors=vectors), *payloads]


def tokens_of(record: models.Record) -> bytes | None:
    """The token vectors in `record` if it has some."""
    found = (record.payload or {}).get(TOKENS)
    return base64.b64decode(found) if isinstance(found, str) else None


def sparse(vector: edge.SparseVector) -> models.SparseVector:
    """The BM25 vector that Edge made, as Qdrant's JSON has it."""
    return models.SparseVector(indices=vector.indices, values=vector.values)


def chunk_of(collection: Collection, record: models.Record) -> Chunk:
    """The chunk in `record`; raises IndexUnavailable when it is none, or another collection's."""
    payload = record.payload or {}
    owner = (payload.get("tenant"), payload.get("collection"), payload.get("chunk_id"))
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


def vector_of(collection: Collection, record: models.Record) -> Vectors | None:
    """The dense vector in `record` if it has one."""
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
) -> models.PointStruct:
    vector: dict[str, list[float] | models.SparseVector] = {
        BM25: sparse(bm25.document(chunk.searchable))
    }
    if row is not None:
        vector[DENSE] = row
    if late is not None:
        vector[LATE] = late
    payload = chunk.payload() | {PAIRS: list(tokens(chunk.metadata))}
    if held is not None:
        payload |= packed(held)
    return models.PointStruct(id=chunk.chunk_id, vector=vector, payload=payload)

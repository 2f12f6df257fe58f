"""The tables of one collection in PostgreSQL, and how a chunk becomes a row.

Words are the sparse vectors of `bm25`, whose inner product with the rarity of the question's
words (`postgres_words.py`) is the BM25 score; an index over the words of each row finds the
candidates.
"""

import json
from hashlib import sha256
from typing import Any

import qdrant_edge as edge
from pgvector import SparseVector, Vector

from ragstone.core.chunk import Chunk
from ragstone.core.filters import tokens
from ragstone.core.records import Collection
from ragstone.index.bm25 import Bm25Encoder
from ragstone.index.postgres.filter import keyword

WORDS = 999_999_937
"""Different words; sparse vectors have at most 10^9 dimensions, and the words' hashes have 2^32."""

KEYWORDS = (
    "tenant",
    "collection",
    "document_id",
    "revision",
    "path",
    "media_type",
    "kind",
    "language",
)
LISTS = ("allowed", "folders", "pairs")
NUMBERS = ("page", "chunk_index", "version", "modified")
COLUMNS = ("chunk_id", *KEYWORDS, *LISTS, *NUMBERS, "payload", "words", "bm25", "dense", "tokens")


def table_name(collection: Collection) -> str:
    """A name that no other collection has and that needs no quoting."""
    identity = json.dumps([collection.tenant, collection.id, collection.build])
    return f"ragstone_{sha256(identity.encode()).hexdigest()[:32]}"


def schema(table: str, dimensions: int) -> list[str]:
    """The statements that make the tables and indexes, each of which may be there already."""
    columns = [
        'chunk_id text COLLATE "C" PRIMARY KEY',
        *(f"{name} text NOT NULL" for name in KEYWORDS),
        *(f"{name} text[] NOT NULL" for name in LISTS),
        *(f"{name} float8" for name in NUMBERS),
        "payload bytea NOT NULL",
        "words int4[] NOT NULL",
        f"bm25 sparsevec({WORDS}) NOT NULL",
        f"dense vector({dimensions})",
        "tokens bytea",
    ]
    made = [
        f"CREATE TABLE IF NOT EXISTS {table} ({', '.join(columns)})",
        f"CREATE TABLE IF NOT EXISTS {table}_words (word int4 PRIMARY KEY, chunks int8 NOT NULL)",
        f"CREATE INDEX IF NOT EXISTS {table}_dense ON {table} USING hnsw (dense vector_cosine_ops)",
        f"CREATE INDEX IF NOT EXISTS {table}_bm25 ON {table} USING gin (words)",
        f"CREATE INDEX IF NOT EXISTS {table}_wait ON {table} (chunk_id) WHERE dense IS NULL",
    ]
    for name in (*LISTS,):
        made.append(f"CREATE INDEX IF NOT EXISTS {table}_{name} ON {table} USING gin ({name})")
    for name in ("document_id", "revision", "path"):
        made.append(f"CREATE INDEX IF NOT EXISTS {table}_{name} ON {table} USING hash ({name})")
    return made


def row(
    chunk: Chunk, vector: Any, packed: bytes | None, bm25: Bm25Encoder
) -> tuple[tuple[Any, ...], list[int]]:
    """A chunk as the values of COLUMNS, and its words."""
    payload = chunk.payload()
    pairs = [keyword(pair) for pair in tokens(chunk.metadata)]
    lists = [[keyword(v) for v in payload[name]] for name in ("allowed", "folders")]
    weights = words(bm25.document(chunk.searchable))
    found = sorted(weights)
    values = (
        chunk.chunk_id,
        *(keyword(payload[name]) for name in KEYWORDS),
        *lists,
        pairs,
        *(payload[name] for name in NUMBERS),
        json.dumps(payload).encode(),
        found,
        SparseVector(weights, WORDS),
        None if vector is None else Vector(vector),
        packed,
    )
    return values, found


def words(sparse: edge.SparseVector) -> dict[int, float]:
    """A sparse vector by word; of two words of one number the heavier counts."""
    found: dict[int, float] = {}
    for index, value in zip(sparse.indices, sparse.values, strict=True):
        word = index % WORDS
        found[word] = max(value, found.get(word, 0.0))
    return found


def chunk_of(payload: bytes) -> Chunk:
    """The inverse of `row`."""
    return Chunk.from_payload(json.loads(payload))

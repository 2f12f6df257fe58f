"""Many chunks for the benchmark of PostgreSQL, written by COPY from several processes.

One chunk of ten is for one group alone, and one of a hundred for another. Vectors lie around 2,000
centres.
"""

import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Protocol
from uuid import UUID

import numpy as np
import psycopg
from pgvector.psycopg import register_vector

from ragstone.core.chunk import EVERYONE, Chunk
from ragstone.core.records import Collection
from ragstone.index.bm25 import Bm25Encoder
from ragstone.plugins.postgres import table as rows
from ragstone.plugins.postgres.building import Hnsw
from ragstone.plugins.postgres.words import EVERY_CHUNK
from ragstone.ports import Vectors

CENTRES = 2_000
NOISE = 0.7
PART = 5_000
"""Chunks of one COPY."""

LONGEST = 1_000
"""Characters of a text."""

WORDS = 60_000
SHARES = (1 / np.arange(10, WORDS + 10)).cumsum() / (1 / np.arange(10, WORDS + 10)).sum()
TYPES = {
    **dict.fromkeys(rows.KEYWORDS, "text"),
    **dict.fromkeys(rows.LISTS, "text[]"),
    **dict.fromkeys(rows.NUMBERS, "float8"),
    "chunk_id": "text",
    "payload": "bytea",
    "words": "int4[]",
    "bm25": "sparsevec",
    "dense": "vector",
    "tokens": "bytea",
}


class Texts(Protocol):
    """What chunks say, by their numbers."""

    def some(self, random: np.random.Generator, start: int, count: int) -> Iterator[str]: ...


@dataclass(frozen=True)
class Mixed:
    """Half the words of one passage and some of two others, in no order: as rare as in real text,
    and no two alike. Before them the first `real` passages as they are."""

    passages: tuple[str, ...]
    real: int = 0

    def some(self, random: np.random.Generator, start: int, count: int) -> Iterator[str]:
        words = [passage.split() for passage in self.passages]
        for number in range(start, start + count):
            if number < self.real:
                yield self.passages[number]
                continue
            first = words[number % len(words)]
            drawn = [first[i] for i in random.permutation(len(first))[: (len(first) + 1) // 2]]
            for other in random.integers(0, len(words), 2):
                if found := words[other]:
                    drawn += [found[i] for i in random.integers(0, len(found), len(first) // 4)]
            yield " ".join(drawn[i] for i in random.permutation(len(drawn)))[:LONGEST]


@dataclass(frozen=True)
class Synthetic:
    """Words as rare as in a language, 25 of them frequent in each document of 20 chunks."""

    def some(self, random: np.random.Generator, start: int, count: int) -> Iterator[str]:
        topic = np.zeros(25, int)
        for number in range(start, start + count):
            if number % 20 == 0:
                topic = SHARES.searchsorted(random.random(25))
            drawn = SHARES.searchsorted(
                random.random(int(np.clip(random.lognormal(4.5, 0.5), 10, 300)))
            )
            about = random.random(len(drawn)) < 0.25
            drawn[about] = random.choice(topic, about.sum())
            yield " ".join(f"w{word}" for word in drawn)


def load(
    url: str, collection: Collection, texts: Texts, count: int, with_vectors: bool = True
) -> None:
    """Make the collection's tables anew with `count` chunks, and every index but that over
    meaning."""
    table = rows.table_name(collection)
    made, *later = rows.schema(table, collection)
    indexes = [item for item in later if item.startswith(("CREATE INDEX", "ALTER INDEX"))]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(f"DROP TABLE IF EXISTS {table}, {table}_words".encode())
        for statement in [made, *(item for item in later if item not in indexes)]:
            connection.execute(statement.encode())
        held: Counter[int] = Counter()
        parts = [(start, min(PART, count - start)) for start in range(0, count, PART)]
        with ProcessPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
            for found in pool.map(partial(_copy, url, collection, texts, with_vectors), parts):
                held.update(found)
        words = f"COPY {table}_words (word, chunks) FROM STDIN".encode()
        with connection.cursor() as cursor, cursor.copy(words) as copy:
            for row in held.items():
                copy.write_row(row)
        connection.execute("SET maintenance_work_mem = '1GB'")
        for statement in indexes:
            connection.execute(statement.encode())
        connection.execute(f"VACUUM (ANALYZE) {table}, {table}_words".encode())


def build_hnsw(url: str, collection: Collection, hnsw: Hnsw) -> None:
    """Build the index over meaning as the product does, but in one go."""
    table = rows.table_name(collection)
    name, definition = (
        hnsw.name(collection.dimensions),
        hnsw.definition(table, collection.dimensions),
    )
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET maintenance_work_mem = '3GB'")
        connection.execute(f"CREATE INDEX {table}{name} {definition}".encode())


def vectors(random: np.random.Generator, count: int, dimensions: int) -> Vectors:
    """Unit vectors around the centres."""
    centres = np.random.default_rng(0).normal(size=(CENTRES, dimensions)).astype(np.float32)
    found = centres[random.integers(0, CENTRES, count)]
    found = found + NOISE * random.normal(size=found.shape).astype(np.float32)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)


def a_chunk(collection: Collection, text: str, number: int) -> Chunk:
    return Chunk(
        chunk_id=chunk_id(number),
        document_id=f"d{number // 20}",
        version=1,
        chunk_index=number % 20,
        text=text,
        title="",
        path=f"/folder{number % 100}/d{number // 20}.txt",
        tenant=collection.tenant,
        collection=collection.id,
        allowed=(_allow(number),),
        start=0,
        end=len(text),
    )


def chunk_id(number: int) -> str:
    return str(UUID(int=number))


def _allow(number: int) -> str:
    if number % 100 == 1:
        return "group:few"
    return "group:some" if number % 10 == 0 else EVERYONE


def _copy(
    url: str, collection: Collection, texts: Texts, with_vectors: bool, part: tuple[int, int]
) -> Counter[int]:
    """Write some chunks; how many of them hold each word."""
    start, count = part
    random = np.random.default_rng(start + 1)
    dense = vectors(random, count, collection.dimensions) if with_vectors else [None] * count
    bm25 = Bm25Encoder(collection.language)
    held: Counter[int] = Counter({EVERY_CHUNK: count})
    columns = rows.columns(collection)
    statement = (
        f"COPY {rows.table_name(collection)} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)"
    )
    with psycopg.connect(url) as connection:
        register_vector(connection)
        with connection.cursor() as cursor, cursor.copy(statement.encode()) as copy:
            copy.set_types([TYPES[name] for name in columns])
            for i, text in enumerate(texts.some(random, start, count)):
                chunk = a_chunk(collection, text, start + i)
                values, words = rows.row(chunk, dense[i], None, (), bm25)
                held.update(words)
                copy.write_row(values)
    return held

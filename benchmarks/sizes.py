"""What a chunk takes on the disk, part by part: in PostgreSQL with its indexes, and in Qdrant's
engine; and how long PostgreSQL takes to build its index over meaning. `docs/stores.md` reckons
with it.

Texts are synthetic, of 1,000 characters in words as rare as in a language; vectors have 384
numbers, and there are no token vectors. `BENCH_CHUNKS=100000` makes more than 40,000, and 0 leaves
them out.

Then the same of real passages in the data directory, with their token vectors: those of
`BENCH_SETS` (squad2_dev without it), and how much space is needed while search structures are
built.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import aclosing, suppress
from pathlib import Path
from uuid import UUID

import numpy as np
import qdrant_edge as edge

from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone.core.chunk import Chunk
from ragstone.core.records import Collection
from ragstone.index.edge.index import EdgeIndex
from ragstone.index.edge.shard import former_config, shard_path
from ragstone.plugins.evaluation import dataset
from ragstone.plugins.evaluation.indexed import index_passages
from ragstone.plugins.postgres import table as rows
from ragstone.plugins.postgres.building import Hnsw
from ragstone.plugins.postgres.connection import Connection, PostgresConnections
from ragstone.plugins.postgres.index import PostgresIndex
from ragstone.ports import ChunkIndex, Vectors
from ragstone.settings import load
from tests.conformance.postgres_server import postgres_server

CHUNKS = int(os.environ.get("BENCH_CHUNKS", "40000"))
BATCH = 1_000
WIDTH = 384
CHARACTERS = 1_000
WORDS = 60_000
COLLECTION = Collection("default", "sizes", "synthetic", "synthetic/1", WIDTH, "en")
SHARES = (1 / np.arange(10, WORDS + 10)).cumsum() / (1 / np.arange(10, WORDS + 10)).sum()
NAMES = np.array([f"w{number:x}ord" for number in range(WORDS)])

MAX_BYTES, MAX_BUILDING = 7_800, 3.0
"""Bounds of a chunk of about 700 characters with token vectors, and of the space that building its
search structures takes."""

PARTS = {
    "the row: text, fields, words and the vector": ("",),
    "indexes over words": (rows.TERMS,),
    "indexes over fields": (
        "_pkey",
        "_wait",
        *(f"_{name}" for name in (*rows.LISTS, "document_id", "revision", "path")),
    ),
}
"""Parts of a table in PostgreSQL by what the names of its relations end with."""


def run() -> Iterator[Row]:
    if CHUNKS:
        yield from synthetic()
    for name in os.environ.get("BENCH_SETS", "squad2_dev").split(","):
        yield from asyncio.run(in_the_data_directory(name))


def synthetic() -> Iterator[Row]:
    with postgres_server() as server:
        yield from asyncio.run(in_postgresql(server.url))
    with tempfile.TemporaryDirectory(prefix="ragstone-sizes-") as folder:
        yield from asyncio.run(in_qdrant(Path(folder) / "index"))


async def in_postgresql(url: str) -> list[Row]:
    """Return the bytes of each part, with the index over meaning whole and at half precision."""
    what, made = f"{CHUNKS:,} chunks on PostgreSQL", []
    for half in (False, True):
        database = PostgresConnections(url, 600)
        async with aclosing(PostgresIndex(database, Hnsw(half=half))) as index:
            if not half:
                await fill(index)
            started = time.perf_counter()
            await index.optimize(COLLECTION)
            seconds = time.perf_counter() - started
            sizes = await database.run(relations)
        kind = "half" if half else "whole"
        meaning = sum(size for name, size in sizes.items() if name.startswith("_dense"))
        each = f"{what}: the index over meaning, {kind} precision"
        made += [
            Row(f"{each}, a chunk", meaning / CHUNKS, "bytes"),
            Row(f"{each}, built in", seconds, "s"),
        ]
        if not half:
            made += [
                Row(f"{what}: {part}, a chunk", sum(sizes[e] for e in ends) / CHUNKS, "bytes")
                for part, ends in PARTS.items()
            ]
    return made


async def relations(connection: Connection) -> dict[str, int]:
    """Return the bytes of the table, with what lies beside it, and of each index, by the ends of
    their names."""
    table = rows.table_name(COLLECTION)
    await connection.execute("SELECT pg_stat_clear_snapshot()")
    found = await connection.execute(
        "SELECT relname, pg_relation_size(pg_index.indexrelid) FROM pg_index "
        "JOIN pg_class ON pg_class.oid = indexrelid WHERE indrelid = %s::regclass",
        [table],
    )
    sizes = {name.removeprefix(table): size for name, size in await found.fetchall()}
    row = await (await connection.execute("SELECT pg_table_size(%s::regclass)", [table])).fetchone()
    return {**sizes, "": row[0] if row else 0}


async def in_qdrant(folder: Path) -> list[Row]:
    """Return the bytes of a shard's files by what they hold, when its search structures are built.
    Its vectors are floats, as a server of Qdrant has them."""
    place = shard_path(folder, COLLECTION)
    place.mkdir(parents=True)
    edge.EdgeShard.create(str(place), former_config(WIDTH, 0)).close()
    async with aclosing(EdgeIndex(folder)) as index:
        await fill(index)
        await index.optimize(COLLECTION)
    parts = await asyncio.to_thread(bytes_by_part, folder)
    return [
        Row(f"{CHUNKS:,} chunks in Qdrant's engine: {part}, a chunk", size / CHUNKS, "bytes")
        for part, size in sorted(parts.items())
    ]


async def in_the_data_directory(name: str) -> list[Row]:
    """Return the bytes of what is below `index/` once a set is in it, as an ingest writes it: text
    first, then vectors and those of tokens."""
    async with index_passages(dataset.corpus(eval_data() / name), load()) as made:
        source, collection = made.adapters.index, made.collection
        with tempfile.TemporaryDirectory(prefix="ragstone-sizes-") as place:
            folder, most = Path(place), 0
            async with aclosing(EdgeIndex(folder)) as index:
                async for chunks in source.scan(collection, batch=64):
                    ids = [chunk.chunk_id for chunk in chunks]
                    rows = await source.vectors(collection, ids)
                    tokens = await source.tokens(collection, ids)
                    await index.upsert(collection, chunks)
                    vectors = np.stack([rows[id] for id in ids])
                    held = [tokens[id] for id in ids] if tokens else None
                    await index.set_vectors(collection, ids, vectors, held)
                building = asyncio.create_task(index.optimize(collection))
                while not building.done():
                    now = await asyncio.to_thread(bytes_by_part, folder)
                    most = max(most, sum(now.values()))
                    await asyncio.sleep(0.05)
                await building
            parts = await asyncio.to_thread(bytes_by_part, folder)
    count, all_ = made.chunks, sum(parts.values())
    where = f"{count:,} chunks of {name} in the data directory"
    return [
        Row(f"{where}: together, a chunk", all_ / count, "bytes", most=MAX_BYTES),
        *(
            Row(f"{where}: {part}, a chunk", size / count, "bytes", detail=True)
            for part, size in sorted(parts.items())
        ),
        Row(f"{where}: most while they are built, over that", most / all_, most=MAX_BUILDING),
    ]


def bytes_by_part(folder: Path) -> dict[str, int]:
    """Files are made longer than what is in them, so that blocks are counted; some go meanwhile."""
    parts: dict[str, int] = {}
    for place, _, names in os.walk(folder):
        for file in (Path(place, name) for name in names):
            with suppress(FileNotFoundError):
                size = 512 * file.stat().st_blocks
                part = what_holds(file.relative_to(folder).parts)
                parts[part] = parts.get(part, 0) + size
    return parts


def what_holds(parts: tuple[str, ...]) -> str:
    """Return what a file of a shard is for."""
    kinds = {
        "vector_storage": "vectors",
        "vector_index": "graphs and inverted lists",
        "payload_index": "indexes over fields",
        "payload_storage": "text and fields",
        "wal": "the log of writes",
    }
    if "tokens.sqlite" in parts[-1]:
        return "token vectors"
    for part in parts:
        for begin, kind in kinds.items():
            if part.startswith(begin):
                return kind
    return "the rest"


async def fill(index: ChunkIndex) -> None:
    random = np.random.default_rng(7)
    await index.create(COLLECTION)
    for start in range(0, CHUNKS, BATCH):
        count = min(BATCH, CHUNKS - start)
        chunks = [a_chunk(random, start + number) for number in range(count)]
        await index.upsert(COLLECTION, chunks, vectors(random, count))


def vectors(random: np.random.Generator, count: int) -> Vectors:
    """Unit vectors around the centres of clusters of 50."""
    centres = np.random.default_rng(0).normal(size=(CHUNKS // 50, WIDTH)).astype(np.float32)
    made = centres[random.integers(0, len(centres), count)]
    made = made + 0.7 * random.normal(size=made.shape).astype(np.float32)
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)


def a_chunk(random: np.random.Generator, number: int) -> Chunk:
    words = NAMES[SHARES.searchsorted(random.random(CHARACTERS // 6))]
    text = " ".join(words)[:CHARACTERS]
    return Chunk(
        chunk_id=str(UUID(int=int(random.integers(0, 2**62)) << 64 | number)),
        document_id=str(UUID(int=number // 20)),
        version=1,
        chunk_index=number % 20,
        text=text,
        title=f"Document {number // 20}",
        path=f"/folder{number % 1000}/d{number // 20}.txt",
        tenant=COLLECTION.tenant,
        collection=COLLECTION.id,
        start=0,
        end=len(text),
    )

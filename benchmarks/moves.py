"""Collections from Qdrant Edge to PostgreSQL: some at a time, the next batch read while one is
written, relative to one collection after the other and one batch after the other, in turns in one
run. Once with PostgreSQL on this machine, whose processors one collection may take already, and
once with one that is far: each call takes a while more. Chunks and vectors are synthetic;
`BENCH_CHUNKS` says how many are in each collection.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from pathlib import Path

import numpy as np

from benchmarks.hidden import WIDTH, a_chunk
from benchmarks.row import Row
from ragstone.core.chunk import Chunk
from ragstone.core.records import Collection
from ragstone.index.edge.index import EdgeIndex
from ragstone.ingest.migrate import AT_ONCE, BATCH, End, copy_all, migrate_all
from ragstone.plugins.postgres.connection import Connection, PostgresConnections, T
from ragstone.plugins.postgres.index import PostgresIndex
from ragstone.ports import ChunkIndex, bulk_load
from tests.conformance.postgres_server import PostgresServer, postgres_server
from tests.jobs.adapters import fresh_database

CHUNKS = int(os.environ.get("BENCH_CHUNKS", "2000"))
COLLECTIONS = [
    Collection("default", f"c{n}", "synthetic", "synthetic/1", WIDTH, "en", id=f"c{n}")
    for n in range(4)
]
TOKENS = 3_000
"""Bytes of a chunk's token vectors."""
TURNS = 2
FAR_SECONDS = 0.05

Moving = Callable[[ChunkIndex, ChunkIndex], Awaitable[None]]


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder, postgres_server() as server:
        return asyncio.run(measure(server, Path(folder)))


async def measure(server: PostgresServer, folder: Path) -> list[Row]:
    found: list[Row] = []
    async with aclosing(EdgeIndex(folder)) as source:
        for collection in COLLECTIONS:
            await fill(source, collection)
        for far in (0.0, FAR_SECONDS):
            seconds: dict[Moving, list[float]] = {one_by_one: [], together: []}
            for _ in range(TURNS):
                for moving, times in seconds.items():
                    times.append(await time_move(server, source, moving, far))
            where = f"PostgreSQL {far * 1000:.0f} ms away" if far else "PostgreSQL"
            found += rows(where, min(seconds[one_by_one]), min(seconds[together]))
    return found


def rows(where: str, before: float, after: float) -> list[Row]:
    what = f"Moving {len(COLLECTIONS)} collections from Qdrant Edge to {where}"
    chunks = CHUNKS * len(COLLECTIONS)
    note = f"{AT_ONCE} at a time, {os.cpu_count()} processors"
    return [
        Row(f"{what}, one batch after the other", chunks / before, "chunks/s", detail=True),
        Row(f"{what}, relative to that", before / after, "x", note=note),
    ]


class FarDatabase(PostgresConnections):
    """A database of which each call takes `seconds` more."""

    seconds = 0.0

    async def run(self, work: Callable[[Connection], Awaitable[T]], table: str = "") -> T:
        await asyncio.sleep(self.seconds)
        return await super().run(work, table)


async def time_move(
    server: PostgresServer, source: ChunkIndex, moving: Moving, far: float
) -> float:
    """Measure the seconds until all is in a new database."""
    database = FarDatabase(await fresh_database(server.url), 60)
    database.seconds = far
    async with aclosing(PostgresIndex(database)) as target:
        began = time.perf_counter()
        await moving(source, target)
        seconds = time.perf_counter() - began
        assert [await target.count(item) for item in COLLECTIONS] == [CHUNKS] * len(COLLECTIONS)
        return seconds


async def together(source: ChunkIndex, target: ChunkIndex) -> None:
    async with aclosing(migrate_all(source, target, COLLECTIONS)) as steps:
        async for _ in steps:
            pass


async def one_by_one(source: ChunkIndex, target: ChunkIndex) -> None:
    """Each batch is read when the one before is written."""
    for collection in COLLECTIONS:
        await target.create(collection)
        ends = End(source, collection), End(target, collection)
        async with bulk_load(target, collection):
            async for chunks in source.scan(collection, batch=BATCH):
                async for _ in copy_all(*ends, _only(chunks)):
                    pass
        await target.optimize(collection)


async def _only(chunks: Sequence[Chunk]) -> AsyncIterator[Sequence[Chunk]]:
    yield chunks


async def fill(index: ChunkIndex, collection: Collection) -> None:
    await index.create(collection)
    random = np.random.default_rng(CHUNKS)
    for start in range(0, CHUNKS, BATCH):
        made = [a_chunk(random, number) for number in range(start, min(start + BATCH, CHUNKS))]
        vectors = random.standard_normal((len(made), WIDTH)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        await index.upsert(collection, made, vectors, [random.bytes(TOKENS) for _ in made])
    await index.optimize(collection)

"""What a search costs while 100,000 revisions of another collection are hidden, beside the same
search while nothing is, in turns in one run; what it costs with as many in its filter; and what it
costs while a folder of as many documents of its own collection is deleted, beside before.

With the state in SQLite and the chunks in Qdrant Edge, and with both in PostgreSQL. Chunks and
vectors are synthetic. `BENCH_DOCUMENTS=20000` hides fewer.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast
from uuid import UUID

import numpy as np

from benchmarks.row import Row
from ragstone.core.chunk import Chunk
from ragstone.core.records import Collection, Document
from ragstone.core.turn import Ask
from ragstone.index.connect import OpenIndex
from ragstone.index.edge.index import EdgeIndex
from ragstone.ingest.pipeline import Pipeline
from ragstone.plugins.evaluation.measures import percentile
from ragstone.plugins.postgres.connection import PostgresConnections
from ragstone.plugins.postgres.index import PostgresIndex
from ragstone.plugins.postgres.state import Postgres
from ragstone.ports import Catalog, Embedders, Search, Vectors
from ragstone.retrieve.searching import visible
from ragstone.settings import IngestSettings
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import open_backend
from ragstone.store.sql.sqlite import Sqlite
from tests.conformance.postgres_server import PostgresServer
from tests.databases import Databases

HIDDEN = int(os.environ.get("BENCH_DOCUMENTS", "100000"))
SHOWN = 2_000
BATCH = 2_000
SEARCHES = 60
BEFORE = 200
PAUSE = 0.02
CANDIDATES = 50
WIDTH = 384
MINE = Collection("default", "mine", "synthetic", "synthetic/1", WIDTH, "en", id="mine")
THEIRS = replace(MINE, name="theirs", id="theirs")
NO_EMBEDDERS = cast(Embedders, None)
"""Deleting embeds nothing."""

WORDS = np.array([f"word{i}" for i in range(5_000)])


def run() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="ragstone-hidden-") as folder:
        server = PostgresServer(Path(folder) / "data")
        databases = Databases(server)
        try:
            urls = [databases.url(databases.migrated()) for _ in range(2)]
            return [
                *asyncio.run(measure("SQLite and Qdrant Edge", Path(folder), [])),
                *asyncio.run(measure("PostgreSQL", Path(folder), [server.url, *urls])),
                *asyncio.run(measure_deletion("SQLite and Qdrant Edge", Path(folder), [])),
                *asyncio.run(measure_deletion("PostgreSQL", Path(folder), [server.url, urls[0]])),
            ]
        finally:
            databases.drop()
            server.stop()


async def measure(where: str, folder: Path, urls: list[str]) -> list[Row]:
    """Return the same searches under a catalog that hides nothing, under one that hides much of
    another collection, and with the latter's list in the filter."""
    random = np.random.default_rng(5)
    async with AsyncExitStack() as stack:
        index: OpenIndex = EdgeIndex(folder / "index")
        if urls:
            index = PostgresIndex(PostgresConnections(urls[0], 60))
        await stack.enter_async_context(aclosing(index))
        quiet, busy = [
            await stack.enter_async_context(a_catalog(folder / f"{n}.sqlite", urls[n : n + 1]))
            for n in (1, 2)
        ]
        await index.create(MINE)
        await fill(index, random)
        await hide(busy)
        taken: list[list[float]] = [[], [], []]
        ways = [(quiet, MINE, taken[0]), (busy, MINE, taken[1]), (busy, THEIRS, taken[2])]
        for number in range(SEARCHES):
            asked = a_search(random)
            ways[:2] = reversed(ways[:2])  # What comes second finds what the first has read.
            for catalog, collection, seconds in ways:
                if collection is THEIRS and number % 3:
                    continue  # It takes so long.
                started = time.perf_counter()
                await search(index, catalog, collection, asked)
                seconds.append(time.perf_counter() - started)
    alone, others, whole = (percentile(seconds[1:], 0.5) for seconds in taken)
    what = f"{HIDDEN:,} hidden revisions of another collection, {where}"
    return [
        Row(f"{what}: a search, p50", 1000 * others, "ms"),
        Row(f"{what}: times a search while nothing is hidden", others / alone, most=1.25),
        Row(f"{what}: with as many in its filter, times that", whole / alone),
    ]


async def measure_deletion(where: str, folder: Path, urls: list[str]) -> list[Row]:
    """Measure searches before a folder of their collection is deleted, and while it is."""
    random = np.random.default_rng(7)
    async with AsyncExitStack() as stack:
        index: OpenIndex = EdgeIndex(folder / "deleting")
        if urls:
            index = PostgresIndex(PostgresConnections(urls[0], 60))
        await stack.enter_async_context(aclosing(index))
        catalog = await stack.enter_async_context(a_catalog(folder / "3.sqlite", urls[1:]))
        await index.drop(MINE)
        await index.create(MINE)
        ids = await fill_folder(index, catalog, random)
        await fill(index, random)
        pipeline = Pipeline(index, catalog, NO_EMBEDDERS, IngestSettings())
        taken: list[list[float]] = [[], []]

        async def searched(seconds: list[float]) -> None:
            asked = a_search(random)
            started = time.perf_counter()
            await search(index, catalog, MINE, asked)
            seconds.append(time.perf_counter() - started)
            await asyncio.sleep(PAUSE)

        for _ in range(2 * BEFORE):
            await searched(taken[0])
        started = time.perf_counter()
        deleting = asyncio.create_task(pipeline.forget(MINE, ids))
        while not deleting.done():
            await searched(taken[1])
        await deleting
        took = time.perf_counter() - started
        await pipeline.aclose()
        assert await index.count(MINE) == SHOWN
    # The first half finds nothing in memory.
    before, meanwhile = (percentile(item, 0.95) for item in (taken[0][BEFORE:], taken[1]))
    what = f"a folder of {HIDDEN:,} documents is deleted, {where}"
    return [
        Row(f"{what}: a search of the same collection, p95", 1000 * meanwhile, "ms", detail=True),
        Row(f"{what}: times a search before", meanwhile / before, most=2),
        Row(f"{what}: until the last one is gone", took, "s", detail=True),
    ]


async def fill_folder(
    index: OpenIndex, catalog: SqlCatalog, random: np.random.Generator
) -> list[str]:
    """Return a folder of documents that answer, a chunk each; their ids."""
    ids = [str(UUID(int=SHOWN + n)) for n in range(HIDDEN)]
    for start in range(0, HIDDEN, BATCH):
        several = [
            Document(id, MINE.tenant, MINE.id, f"/folder/{id}.txt", chunks=1)
            for id in ids[start : start + BATCH]
        ]
        await catalog.begin_all(several)
        chunks = [
            replace(
                a_chunk(random, SHOWN + start + n),
                document_id=item.id,
                path=item.path,
            )
            for n, item in enumerate(several)
        ]
        await index.upsert(MINE, chunks, some_vectors(random, len(chunks)))
        await catalog.publish_all([replace(item, version=1) for item in several])
        await catalog.mark_embedded([item.id for item in several])
    return ids


async def search(
    index: OpenIndex, catalog: Catalog, collection: Collection, asked: list[Search]
) -> None:
    async with catalog.snapshot(collection) as hidden:
        found = await index.search(MINE, asked, visible(Ask(asked[1].text), hidden), CANDIDATES)
    assert all(item.found for item in found)


@asynccontextmanager
async def a_catalog(file: Path, urls: list[str]) -> AsyncIterator[SqlCatalog]:
    backend = Postgres(urls[0]) if urls else Sqlite(file)
    async with open_backend(backend) as database:
        catalog = await SqlCatalog.open(database)
        for item in (MINE, THEIRS):
            await catalog.put_collection(item)
        yield catalog


async def hide(catalog: Catalog) -> None:
    """Versions of another collection that are being written, which are hidden as deleted ones."""
    for start in range(0, HIDDEN, BATCH):
        await catalog.begin_all(
            [
                Document(str(UUID(int=start + n)), THEIRS.tenant, THEIRS.id, f"/{start + n}.txt")
                for n in range(min(BATCH, HIDDEN - start))
            ]
        )


async def fill(index: OpenIndex, random: np.random.Generator) -> None:
    chunks = [a_chunk(random, number) for number in range(SHOWN)]
    await index.upsert(MINE, chunks, some_vectors(random, SHOWN))
    await index.optimize(MINE)


def some_vectors(random: np.random.Generator, many: int) -> Vectors:
    vectors = random.normal(size=(many, WIDTH)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def a_search(random: np.random.Generator) -> list[Search]:
    vector = random.normal(size=WIDTH).astype(np.float32)
    text = " ".join(WORDS[random.integers(0, len(WORDS), 5)])
    return [Search(text, vector / np.linalg.norm(vector)), Search(text)]


def a_chunk(random: np.random.Generator, number: int) -> Chunk:
    text = " ".join(WORDS[random.integers(0, len(WORDS), 60)])
    return Chunk(
        chunk_id=str(UUID(int=number)),
        document_id=f"m{number}",
        version=1,
        chunk_index=0,
        text=text,
        title=f"Document {number}",
        path=f"/m{number}.txt",
        tenant=MINE.tenant,
        collection=MINE.id,
        start=0,
        end=len(text),
    )

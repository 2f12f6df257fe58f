"""PostgreSQL against the embedded index, and PostgreSQL that is not there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import numpy as np
import pytest
from psycopg import AsyncConnection

from ragstone.core.chunk import Chunk
from ragstone.core.errors import ConfigError, IndexUnavailable, InputError
from ragstone.core.filters import EVERYTHING, eq
from ragstone.core.records import Collection
from ragstone.index.connect import connect
from ragstone.index.edge.index import EdgeIndex
from ragstone.plugins.postgres.connection import Connection, PostgresConnections
from ragstone.plugins.postgres.index import PostgresIndex
from ragstone.plugins.postgres.table import table_name
from ragstone.plugins.qdrant.index import QdrantIndex
from ragstone.ports import ChunkIndex, PoolUse, Search
from ragstone.settings import IndexSettings
from tests.conformance.postgres_server import PostgresServer
from tests.conformance.test_chunk_index import WIDTH, a_chunk, a_collection, vectors
from tests.patience import PATIENCE, until

WORDS = [
    "whale",
    "cat",
    "ship",
    "sing",
    "purr",
    "sail",
    "sea",
    "night",
    "deep",
    "quick",
    "harbour",
    "storm",
    "lamp",
]


def some_chunks(collection: Collection, count: int) -> list[Chunk]:
    random = np.random.default_rng(7)
    lengths = random.integers(5, 40, count)
    return [
        a_chunk(collection, " ".join(random.choice(WORDS, n)), document_id=f"d{i % 10}")
        for i, n in enumerate(lengths)
    ]


@pytest.fixture
async def index(postgres: PostgresServer) -> AsyncIterator[PostgresIndex]:
    made = PostgresIndex(PostgresConnections(postgres.url, 5))
    yield made
    await made.aclose()


async def scores(index: ChunkIndex, collection: Collection) -> list[list[float]]:
    """Of the best ten chunks of twenty questions, by meaning and by words."""
    random = np.random.default_rng(11)
    searches = [
        search
        for i, asked in enumerate(" ".join(random.choice(WORDS, 4)) for _ in range(20))
        for search in (Search(asked, vectors(1000 + i)[0]), Search(asked))
    ]
    found = await index.search(collection, searches, EVERYTHING, 10, exact=True)
    return [[scored.score for scored in item.found] for item in found]


async def test_given_the_same_chunks_then_the_same_scores_as_the_embedded_index(
    index: PostgresIndex, tmp_path: Path
) -> None:
    collection = a_collection()
    chunks = some_chunks(collection, 300)
    embedded = EdgeIndex(tmp_path / "index")
    for item in (embedded, index):
        await item.upsert(collection, chunks, vectors(*range(300)))
    expected = await scores(embedded, collection)
    await embedded.aclose()
    for mine, theirs in zip(expected, await scores(index, collection), strict=True):
        assert theirs == pytest.approx(mine, abs=5e-3)


async def test_given_chunks_replaced_and_deleted_then_words_count_as_if_written_once(
    index: PostgresIndex,
) -> None:
    once, detour = a_collection(), a_collection()
    chunks = some_chunks(detour, 100)
    await index.upsert(detour, chunks, vectors(*range(100)))
    await index.upsert(detour, chunks[:20], vectors(*range(20)))
    await index.delete(detour, eq("document_id", "d3"))
    kept = [i for i, chunk in enumerate(chunks) if chunk.document_id != "d3"]
    await index.upsert(once, [chunks[i] for i in kept], vectors(*kept))
    assert await scores(index, detour) == await scores(index, once)


async def test_given_a_server_that_goes_and_comes_back_then_the_index_heals(
    postgres: PostgresServer, index: PostgresIndex
) -> None:
    collection = a_collection()
    await index.upsert(collection, [a_chunk(collection, "whales")])
    postgres.stop()
    try:
        with pytest.raises(IndexUnavailable, match="INDEX__URL"):
            await index.count(collection)
        with pytest.raises(IndexUnavailable):
            await index.ready()
    finally:
        postgres.start()
    assert await index.count(collection) == 1
    await index.ready()


async def test_given_no_server_then_a_clear_error() -> None:
    index = PostgresIndex(PostgresConnections("postgresql://ann:hunter2@127.0.0.1:9/db", 1))
    with pytest.raises(IndexUnavailable) as raised:
        await index.ready()
    assert "hunter2" not in str(raised.value)
    await index.aclose()


async def test_given_vectors_that_are_none_then_nothing_is_written(index: PostgresIndex) -> None:
    collection = a_collection()
    for wrong in (np.full((1, WIDTH), np.nan), np.zeros((1, WIDTH)), np.ones((1, WIDTH + 1))):
        with pytest.raises(InputError):
            await index.upsert(collection, [a_chunk(collection)], wrong.astype(np.float32))
    assert await index.count(collection) == 0


def test_given_an_address_then_it_says_which_index(tmp_path: Path) -> None:
    assert isinstance(connect(IndexSettings(), tmp_path / "a"), EdgeIndex)
    assert isinstance(connect(IndexSettings(url="kdb+http://h"), tmp_path / "b"), EdgeIndex)
    for scheme in ("postgres", "postgresql"):
        found = connect(IndexSettings(url=f"{scheme}://h/db"), tmp_path)
        assert isinstance(found, PostgresIndex)
    for scheme in ("http", "https"):
        assert isinstance(connect(IndexSettings(url=f"{scheme}://h:6333"), tmp_path), QdrantIndex)
    with pytest.raises(ConfigError, match="'ftp'"):
        connect(IndexSettings(url="ftp://h"), tmp_path)


async def test_its_pool_says_what_is_in_use_and_what_waits(postgres: PostgresServer) -> None:
    database = PostgresConnections(postgres.url, PATIENCE, most=2)
    async with aclosing(PostgresIndex(database)) as index:
        await index.ready()
        assert index.pool_use() == PoolUse("index", 0, 2)
        leave = asyncio.Event()
        entered = asyncio.Semaphore(0)

        async def work(_: Connection) -> None:
            entered.release()
            await leave.wait()

        busy = [asyncio.create_task(database.run(work)) for _ in range(3)]
        for _ in range(2):
            await entered.acquire()
        assert await until(lambda: index.pool_use() == PoolUse("index", 2, 2, waiting=1))
        leave.set()
        await asyncio.gather(*busy)
        assert await until(lambda: index.pool_use() == PoolUse("index", 0, 2))


async def test_searches_that_hang_in_one_collection_keep_no_other_waiting(
    postgres: PostgresServer,
) -> None:
    stuck, other = a_collection(), a_collection()
    database = PostgresConnections(postgres.url, 2, most=4)
    async with (
        aclosing(PostgresIndex(database)) as index,
        await AsyncConnection.connect(postgres.url) as holder,
    ):
        for collection in (stuck, other):
            await index.create(collection)
            await index.upsert(collection, [a_chunk(collection, "A whale sings.")])
        await holder.execute(f"LOCK TABLE {table_name(stuck)} IN ACCESS EXCLUSIVE MODE")
        hanging = [asyncio.create_task(index.count(stuck)) for _ in range(12)]
        assert await until(lambda: index.pool_use().used >= 2)
        for _ in range(10):
            [found] = await index.search(other, [Search("whale")], EVERYTHING, 5)
            assert len(found.found) == 1
        assert not all(task.done() for task in hanging)
        for task in hanging:
            with pytest.raises(IndexUnavailable, match="does not answer within 2 s"):
                await task
        await holder.rollback()
        assert await index.count(stuck) == 1

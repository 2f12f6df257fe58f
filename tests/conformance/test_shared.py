"""Many small collections in one table of PostgreSQL, or one Qdrant collection: each as if it were
alone."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import AsyncConnection

from ragstone.core.chunk import Chunk
from ragstone.core.errors import ConfigError, IndexUnavailable
from ragstone.core.filters import EVERYTHING, eq
from ragstone.core.records import Collection
from ragstone.index.connect import connect
from ragstone.plugins.postgres import table as rows
from ragstone.plugins.postgres.connection import PostgresConnections
from ragstone.plugins.postgres.index import PostgresIndex
from ragstone.plugins.postgres.options import SHARED_CHUNKS
from ragstone.plugins.qdrant.index import QdrantIndex
from ragstone.plugins.qdrant.options import QdrantOptions
from ragstone.plugins.qdrant.schema import PART, collection_place, read_chunk
from ragstone.ports import ChunkIndex, Search, may_share
from ragstone.settings import IndexSettings
from tests.conformance.postgres_server import PostgresServer
from tests.conformance.qdrant_server import QdrantServer
from tests.conformance.test_chunk_index import (
    TOKEN_WIDTH,
    WIDTH,
    a_chunk,
    a_collection,
    an_index,
    asked_late,
    local_client,
    packed_tokens,
    pytestmark,
    vectors,
)
from tests.conformance.test_postgres import scores, some_chunks
from tests.patience import until

__all__ = ["pytestmark"]


@pytest.fixture(params=["postgres", "qdrant", "qdrant-local"])
async def sharing(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ChunkIndex]:
    """Every index in which collections can share a place."""
    async with aclosing(an_index(request.param, request, tmp_path)) as made:
        yield made


@pytest.fixture
async def index(postgres: PostgresServer) -> AsyncIterator[PostgresIndex]:
    async with aclosing(PostgresIndex(PostgresConnections(postgres.url, 10))) as made:
        yield made


def a_shared(**changes: Any) -> Collection:
    return a_collection(shared=True, **changes)


def of(collection: Collection, chunk: Chunk, **changes: Any) -> Chunk:
    """The same chunk, with the same id, in another collection."""
    return replace(chunk, collection=collection.id, **changes)


def select(postgres: PostgresServer, query: str) -> list[Any]:
    with psycopg.connect(postgres.url) as connection:
        return connection.execute(query.encode()).fetchall()


def words_of(postgres: PostgresServer, collection: Collection) -> list[Any]:
    """The frequencies of a collection's words."""
    query = f"SELECT word, chunks FROM {rows.chunk_table(collection).words} WHERE chunks <> 0"
    return sorted(select(postgres, query))


async def test_given_neighbours_then_scores_are_those_of_a_place_of_its_own(
    sharing: ChunkIndex,
) -> None:
    index, own, shared = sharing, a_collection(), a_shared()
    chunks = some_chunks(own, 300)
    for number in range(5):
        other = a_shared()
        theirs = some_chunks(other, 60 * number + 20)
        await index.upsert(other, theirs, vectors(*range(len(theirs))))
    mine = [of(shared, chunk) for chunk in chunks]
    await index.upsert(shared, mine, vectors(*range(300)))
    await index.upsert(shared, mine[:50], vectors(*range(50)))
    await index.delete(shared, eq("document_id", "d3"))
    # Qdrant counts the words of deleted points for a while in a place of its own.
    kept = [number for number, chunk in enumerate(chunks) if chunk.document_id != "d3"]
    await index.upsert(own, [chunks[number] for number in kept], vectors(*kept))
    for collection in (own, shared):
        await index.optimize(collection)
    found, alone = await scores(index, shared), await scores(index, own)
    if isinstance(index, PostgresIndex):
        assert found == alone
    for some, others in zip(found, alone, strict=True):
        assert some == pytest.approx(others, rel=1e-6)  # Qdrant rounds a sum by its order.


async def test_given_neighbours_then_late_interaction_scores_are_those_of_a_place_of_its_own(
    sharing: ChunkIndex,
) -> None:
    index = sharing
    own, shared = a_collection(late=TOKEN_WIDTH), a_shared(late=TOKEN_WIDTH)
    chunks = [a_chunk(own) for _ in range(40)]
    tokens = [packed_tokens(i, i + 1, i + 2) for i in range(40)]
    for collection in (own, shared, a_shared(late=TOKEN_WIDTH)):
        mine = [of(collection, chunk) for chunk in chunks]
        await index.upsert(collection, mine, vectors(*range(40)), tokens)
    found = [
        await index.search(item, [asked_late(4, 5)], EVERYTHING, 5, exact=True)
        for item in (own, shared)
    ]
    assert found[0] == found[1]


async def test_given_equal_ids_in_two_collections_then_nothing_crosses(
    sharing: ChunkIndex,
) -> None:
    index, mine, theirs = sharing, a_shared(), a_shared()
    chunks = [a_chunk(mine, f"whale {i}", document_id=f"d{i}") for i in range(4)]
    secret = [of(theirs, item, text="secret", kind="table") for item in chunks]
    await index.upsert(mine, chunks, vectors(1, 2, 3, 4), [b"mine"] * 4)
    await index.upsert(theirs, secret, vectors(5, 6, 7, 8), [b"theirs"] * 4)
    ids = [chunk.chunk_id for chunk in chunks]

    assert await index.fetch(mine, ids) == {item.chunk_id: item for item in chunks}
    assert await index.fetch(theirs, ids) == {item.chunk_id: item for item in secret}
    assert await index.tokens(mine, ids) == dict.fromkeys(ids, b"mine")
    [near, said] = await index.search(
        mine, [Search("", vectors(5)[0]), Search("secret")], EVERYTHING, 10
    )
    assert near.found[0].score < 0.99
    assert said.found == ()
    assert await index.facet(mine, "kind") == {"normal": 4}

    await index.upsert(mine, [replace(chunks[0], text="again")])
    assert await index.count_without_vectors(mine) == 1
    assert await index.count_without_vectors(theirs) == 0
    assert await index.without_vectors(theirs, 10) == []
    before = await index.vectors(theirs, ids)
    await index.set_vectors(mine, ids[:1], vectors(9), [b"new"])
    assert list((await index.vectors(theirs, ids[:1]))[ids[0]]) == list(before[ids[0]])
    assert (await index.tokens(theirs, ids))[ids[0]] == b"theirs"

    await index.delete(mine, EVERYTHING)
    assert await index.count(mine) == 0
    assert await index.count(theirs) == 4
    assert [item async for item in index.scan(mine)] == []
    [batch] = [item async for item in index.scan(theirs)]
    assert {item.chunk_id for item in batch} == set(ids)


async def test_given_a_collection_that_is_dropped_then_no_word_of_it_is_left(
    index: PostgresIndex, postgres: PostgresServer
) -> None:
    gone, stays = a_shared(), a_shared()
    for collection in (gone, stays):
        await index.upsert(collection, [a_chunk(collection, "a whale sings")], vectors(1))
    before = words_of(postgres, stays)
    await index.drop(gone)
    part = rows.chunk_table(gone)
    for name in (part.name, f"{part.name}_words"):
        assert select(postgres, f"SELECT count(*) FROM {name} WHERE {part.mine}") == [(0,)]
    assert words_of(postgres, stays) == before != []
    assert await index.count(stays) == 1


async def test_given_two_places_of_one_build_then_both_are_dropped(sharing: ChunkIndex) -> None:
    """A move that was cut off may have begun in the other one."""
    index = sharing
    own, shared = a_collection(), a_shared()
    for collection in (own, shared):
        for place in (collection, replace(collection, shared=not collection.shared)):
            await index.upsert(place, [a_chunk(place)])
        await index.drop(collection)
        assert await index.count(replace(collection, shared=False)) == 0
        assert await index.count(replace(collection, shared=True)) == 0


async def test_given_a_table_to_share_then_a_new_collection_makes_nothing(
    index: PostgresIndex, postgres: PostgresServer
) -> None:
    await index.create(a_shared())
    relations = "SELECT oid, xmin::text FROM pg_class ORDER BY oid"
    before = select(postgres, relations)
    collection = a_shared()
    await index.create(collection)
    await index.upsert(collection, [a_chunk(collection)], vectors(1))
    await index.optimize(collection)
    assert select(postgres, relations) == before


async def test_given_other_vectors_then_they_have_another_table(index: PostgresIndex) -> None:
    names = {
        rows.chunk_table(a_shared(dimensions=dimensions, late=late)).name
        for dimensions in (WIDTH, 2 * WIDTH)
        for late in (0, TOKEN_WIDTH)
    }
    assert len(names) == 4
    wide = a_shared(dimensions=4_000)
    await index.upsert(wide, [a_chunk(wide, "whale")])
    assert await index.count(wide) == 1


async def test_given_many_that_make_the_table_at_once_then_it_is_made_once(
    postgres: PostgresServer,
) -> None:
    collections = [a_shared(dimensions=77) for _ in range(6)]

    async def begin(collection: Collection) -> int:
        async with aclosing(PostgresIndex(PostgresConnections(postgres.url, 10))) as index:
            await index.upsert(collection, [a_chunk(collection)])
            return await index.count(collection)

    assert await asyncio.gather(*(begin(item) for item in collections)) == [1] * 6


@pytest.mark.parametrize("analyzed", [False, True])
async def test_given_many_neighbours_then_a_search_reads_its_own_part_only(
    index: PostgresIndex, postgres: PostgresServer, analyzed: bool
) -> None:
    """Whatever the planner has been told: it reads the part's rows by the primary key."""
    dimensions = 31 + analyzed
    first = a_shared(dimensions=dimensions)
    await index.upsert(first, [a_chunk(first, f"whale {i}") for i in range(30)])
    table = rows.chunk_table(first)
    if analyzed:  # When there was one collection, and every row was its own.
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            connection.execute(f"ANALYZE {table.name}".encode())
    for _ in range(20):
        other = a_shared(dimensions=dimensions)
        await index.upsert(other, [a_chunk(other, f"cat {i}") for i in range(50)])
    queries = (
        f"SELECT chunk_id FROM {table.rows} WHERE words && '{{1,2}}' ORDER BY chunk_id LIMIT 5",
        f"SELECT count(*) FROM {table.rows} WHERE dense IS NULL",
        f"SELECT sum(chunks) FROM {table.words} WHERE word = ANY('{{1,2,3}}')",
        f"DELETE FROM {table.name} WHERE {table.mine} AND kind = 'table'",
    )
    for query in queries:
        plan = str(select(postgres, f"EXPLAIN {query}"))
        assert "_pkey" in plan
        assert "Seq Scan" not in plan


async def test_searches_that_hang_in_one_part_keep_no_other_waiting(
    postgres: PostgresServer,
) -> None:
    stuck, other = a_shared(dimensions=21), a_shared(dimensions=22)
    database = PostgresConnections(postgres.url, 2, most=4)
    async with (
        aclosing(PostgresIndex(database)) as index,
        await AsyncConnection.connect(postgres.url) as holder,
    ):
        for collection in (stuck, other):
            await index.upsert(collection, [a_chunk(collection, "A whale sings.")])
        await holder.execute(f"LOCK TABLE {rows.chunk_table(stuck).name} IN ACCESS EXCLUSIVE MODE")
        hanging = [asyncio.create_task(index.count(stuck)) for _ in range(12)]
        assert await until(lambda: index.pool_use().used >= 2)
        [found] = await index.search(other, [Search("whale")], EVERYTHING, 5)
        assert len(found.found) == 1
        for task in hanging:
            with pytest.raises(IndexUnavailable, match="does not answer within 2 s"):
                await task


@pytest.fixture
def server(qdrant: tuple[str, QdrantServer]) -> Iterator[QdrantServer]:
    """The server of Qdrant, which writes down what it is asked."""
    server = qdrant[1]
    server.clear()
    server.bodies = []
    yield server
    server.bodies, server.version = None, QdrantServer.version
    server.clear()


async def test_given_a_qdrant_collection_to_share_then_it_is_kept_as_tenants_are(
    qdrant: tuple[str, QdrantServer], server: QdrantServer
) -> None:
    options = QdrantOptions(hnsw_m=32, hnsw_ef_construction=200, quantization="int8")
    async with aclosing(QdrantIndex(qdrant[0], options=options)) as index:
        for collection in (a_shared(), a_shared()):
            await index.create(collection)
            await index.upsert(collection, [a_chunk(collection, "whale")], vectors(1))
            searches = [Search("whale"), Search("", vectors(1)[0])]
            await index.search(collection, searches, EVERYTHING, 5)
            await index.optimize(collection)
    assert server.bodies is not None
    [name] = server.collections
    assert name == f"ragstone-shared-{WIDTH}"
    [made] = [body for how, path, body in server.bodies if how == "PUT" and path.endswith(name)]
    assert made["hnsw_config"] == {"m": 0}
    assert "quantization_config" not in made["vectors"]["dense"]
    assert not [path for how, path, _ in server.bodies if how == "PATCH"]
    fields = [body for _, path, body in server.bodies if path.endswith("/index")]
    [part] = [body for body in fields if body["field_name"] == PART]
    assert part["field_schema"] == {"type": "keyword", "is_tenant": True}
    asked = [body["searches"] for _, path, body in server.bodies if path.endswith("/query/batch")]
    for said, near in asked:
        [mine, _] = said["filter"]["must"]
        assert mine["key"] == PART
        assert said["params"]["idf"] == {"corpus": {"must": [mine]}}
        assert near["filter"]["must"][0] == mine
        assert near["params"]["exact"]
    assert asked[0] != asked[1]


async def test_given_a_qdrant_that_counts_words_of_all_then_nothing_is_shared_there(
    qdrant: tuple[str, QdrantServer], server: QdrantServer
) -> None:
    server.version = "1.18.2"
    async with aclosing(QdrantIndex(qdrant[0], options=QdrantOptions(shared_chunks=10))) as index:
        for work in (index.create, lambda item: index.upsert(item, [a_chunk(item)])):
            with pytest.raises(ConfigError, match=r"1\.18\.2 .*1\.19.*shared_chunks"):
                await work(a_shared())
        assert server.collections == {}
        await index.create(a_collection())
        server.version = "1.20.1"
        await index.create(a_shared())


async def test_given_a_point_of_another_part_then_it_is_refused() -> None:
    """Whatever a server does with a filter."""
    client = local_client()
    async with aclosing(QdrantIndex("", client=client)) as index:
        mine, theirs = a_shared(), a_shared()
        await index.upsert(theirs, [a_chunk(theirs, "secret")])
        place = collection_place("ragstone", mine)
        [record], _ = await client.scroll(place.name, with_payload=True)
        with pytest.raises(IndexUnavailable, match="another collection"):
            place.chunk_id(record)
        with pytest.raises(IndexUnavailable, match="something else"):
            read_chunk(mine, place, record)


@pytest.mark.parametrize(
    ("url", "given", "meant"),
    [
        ("postgresql://h/db", None, SHARED_CHUNKS),
        ("postgresql://h/db", 0, 0),
        ("postgresql://h/db", 70, 70),
        ("http://h:6333", None, 0),
        ("http://h:6333", 70, 70),
    ],
)
def test_the_setting_says_how_small_a_collection_is_that_shares(
    tmp_path: Path, url: str, given: int | None, meant: int
) -> None:
    options = {} if given is None else {"shared_chunks": given}
    index: ChunkIndex = connect(IndexSettings(url=url, options=options), tmp_path)
    assert may_share(index, max(0, meant - 1)) == (meant > 0)
    assert not may_share(index, meant)


def test_given_the_embedded_index_then_nothing_is_shared(tmp_path: Path) -> None:
    assert not may_share(connect(IndexSettings(), tmp_path), 1)

"""PostgreSQL with many chunks, writers and settings, and with tables of a former form."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from pgvector import Vector
from pydantic import SecretStr

from ragstone.core.chunk import Chunk
from ragstone.core.errors import ConfigError, IndexUnavailable
from ragstone.core.filters import EVERYTHING, And, Filter, Not, eq, path_filter, reader_filter
from ragstone.core.records import Collection
from ragstone.core.turn import Principal
from ragstone.index.bm25 import Bm25Encoder
from ragstone.index.connect import connect
from ragstone.plugins.postgres import building, words
from ragstone.plugins.postgres import index as postgres_index
from ragstone.plugins.postgres import table as rows
from ragstone.plugins.postgres.building import Hnsw, nearest, uses_half
from ragstone.plugins.postgres.connection import Connection, PostgresConnections
from ragstone.plugins.postgres.filter import translate
from ragstone.plugins.postgres.impacts import LEVELS, STEP, Impact
from ragstone.plugins.postgres.index import SCHEMA_LOCK, PostgresIndex
from ragstone.ports import Search
from ragstone.settings import IndexSettings
from tests.conformance.postgres_server import PostgresServer
from tests.conformance.test_chunk_index import a_chunk, a_collection, vectors
from tests.patience import PATIENCE

pytestmark = pytest.mark.slow

CHUNKS = 3000
SHARE = 1 / np.arange(4, 2004)
SHARE /= SHARE.sum()


@pytest.fixture
async def database(postgres: PostgresServer) -> AsyncIterator[PostgresConnections]:
    made = PostgresConnections(postgres.url, 10)
    yield made
    await made.aclose()


@asynccontextmanager
async def an_index(
    postgres: PostgresServer, hnsw: Hnsw | None = None, timeout: float = 10
) -> AsyncIterator[PostgresIndex]:
    made = PostgresIndex(PostgresConnections(postgres.url, timeout), hnsw or Hnsw())
    yield made
    await made.aclose()


@pytest.fixture
async def index(postgres: PostgresServer) -> AsyncIterator[PostgresIndex]:
    async with an_index(postgres) as made:
        yield made


def a_text(random: np.random.Generator) -> str:
    return " ".join(f"w{n}" for n in random.choice(len(SHARE), random.integers(5, 150), p=SHARE))


def many_chunks(collection: Collection, count: int = CHUNKS) -> list[Chunk]:
    random = np.random.default_rng(3)
    return [
        a_chunk(
            collection,
            a_text(random),
            document_id=f"d{i % 50}",
            path=f"/{i % 7}/{i % 50}.txt",
            allowed=("user:u",) if i % 3 else ("group:g",),
        )
        for i in range(count)
    ]


def questions() -> list[str]:
    """Of common words, of rare ones, and of both."""
    random = np.random.default_rng(5)
    lengths = [1, 2, 3, 5, 8, 15, 30] * 2
    common = [" ".join(f"w{n}" for n in random.integers(0, 12, 4)) for _ in range(6)]
    return [" ".join(f"w{n}" for n in random.choice(2000, m, p=SHARE)) for m in lengths] + common


MINE = reader_filter(Principal("default", "u"))
FILTERS: dict[str, Filter] = {
    "everything": EVERYTHING,
    "readable": And((reader_filter(Principal("default", "u")), Not(eq("document_id", "d7")))),
    "a folder": path_filter("/3"),
    "a document": eq("document_id", "d7"),
}


async def ways(
    database: PostgresConnections, collection: Collection, text: str, where: Filter, limit: int
) -> tuple[Any, Any]:
    """What is found by impacts, None where those exclude nothing; and by scoring every chunk."""
    table = rows.table_name(collection)
    asked = rows.words(Bm25Encoder(collection.language).query(text))

    async def work(connection: Connection) -> tuple[Any, Any]:
        held = await words.count_word_chunks(connection, rows.ChunkTable(table), asked)
        weighed = words.weights(asked, held)
        one = words.Questioning(
            connection, rows.ChunkTable(table), weighed, translate(where), limit
        )
        return await one.search_by_impact(Impact(weighed, held)), await one.score_all()

    return await database.run(work)


@pytest.mark.parametrize("where", FILTERS.values(), ids=list(FILTERS))
async def test_given_many_chunks_then_the_best_by_words_are_those_of_scoring_every_one(
    index: PostgresIndex, database: PostgresConnections, where: Filter
) -> None:
    collection = a_collection()
    chunks = many_chunks(collection)
    await index.upsert(collection, chunks)
    bounded = 0
    for text in questions():
        for limit in (1, 40):
            found, expected = await ways(database, collection, text, where, limit)
            assert found in (None, expected)
            bounded += found is not None
            [said] = await index.search(collection, [Search(text)], where, limit)
            assert [(item.chunk_id, item.score) for item in said.found] == expected
    assert bounded > len(questions()) or where in (FILTERS["a document"], FILTERS["a folder"])


async def test_given_chunks_replaced_and_deleted_then_the_best_are_still_those(
    index: PostgresIndex, database: PostgresConnections
) -> None:
    collection = a_collection()
    chunks = many_chunks(collection)
    await index.upsert(collection, chunks)
    other = a_text(np.random.default_rng(9))
    await index.upsert(collection, [replace(chunk, text=other) for chunk in chunks[::3]])
    await index.delete(collection, eq("document_id", "d3"))
    gone = {chunk.chunk_id for chunk in chunks if chunk.document_id == "d3"}
    for text in [*questions(), other]:
        found, expected = await ways(database, collection, text, EVERYTHING, 10)
        assert found in (None, expected)
        assert not gone & {item for item, _ in expected}


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search reads a part of a thousand chunks as it does of a million."""
    monkeypatch.setattr(words, "LARGE", 100)
    monkeypatch.setattr(words, "BUDGET", 200)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("where", FILTERS.values(), ids=list(FILTERS))
async def test_given_a_large_collection_then_a_search_reads_a_part_and_finds_nearly_the_best(
    index: PostgresIndex, database: PostgresConnections, where: Filter
) -> None:
    collection = a_collection()
    await index.upsert(collection, many_chunks(collection))
    await index.optimize(collection)
    shares = []
    for text in questions():
        _, expected = await ways(database, collection, text, where, CHUNKS)
        for limit in (1, 10, 40):
            [said] = await index.search(collection, [Search(text)], where, limit)
            assert len(said.found) == min(limit, len(expected))
            assert {(item.chunk_id, item.score) for item in said.found} <= set(expected)
            assert list(said.found) == sorted(said.found, key=lambda o: (-o.score, o.chunk_id))
        best = {item for item, _ in expected[:10]}
        found = {item.chunk_id for item in said.found[:10]}
        shares += [len(best & found) / len(best)] if best else []
    assert np.mean(shares) > 0.9


@pytest.mark.usefixtures("large")
async def test_given_a_large_collection_then_a_filter_that_leaves_few_chunks_leaves_out_none(
    index: PostgresIndex, database: PostgresConnections
) -> None:
    collection = a_collection()
    await index.upsert(collection, many_chunks(collection))
    await index.optimize(collection)
    for text in questions():
        _, expected = await ways(database, collection, text, eq("document_id", "d7"), 40)
        [said] = await index.search(collection, [Search(text)], eq("document_id", "d7"), 40)
        assert [(item.chunk_id, item.score) for item in said.found] == expected


@pytest.mark.usefixtures("large")
async def test_given_a_large_collection_then_what_is_replaced_or_deleted_is_not_found(
    index: PostgresIndex,
) -> None:
    collection = a_collection()
    chunks = many_chunks(collection)
    await index.upsert(collection, chunks)
    await index.optimize(collection)
    await index.upsert(collection, [replace(chunk, text="narwhal") for chunk in chunks[::3]])
    await index.delete(collection, eq("document_id", "d3"))
    gone = {
        chunk.chunk_id for i, chunk in enumerate(chunks) if not i % 3 or chunk.document_id == "d3"
    }
    for text in questions():
        [said] = await index.search(collection, [Search(text)], EVERYTHING, 40)
        assert not gone & {item.chunk_id for item in said.found}


@pytest.mark.usefixtures("large")
async def test_given_a_filter_that_leaves_out_the_best_then_the_best_of_the_others_are_found(
    index: PostgresIndex,
) -> None:
    collection = a_collection()
    hidden = [
        a_chunk(collection, "whale whale sea sea lamp", document_id="d0", allowed=("group:g",))
        for _ in range(300)
    ]
    others = [
        a_chunk(collection, f"whale sea lamp w{i}", document_id="d1", allowed=("user:u",))
        for i in range(1700)
    ]
    await index.upsert(collection, [*hidden, *others])
    await index.optimize(collection)
    [every] = await index.search(collection, [Search("whale sea")], EVERYTHING, 10)
    [mine] = await index.search(collection, [Search("whale sea")], MINE, 10)
    assert {item.chunk_id for item in every.found} <= {item.chunk_id for item in hidden}
    assert len(mine.found) == 10
    assert {item.chunk_id for item in mine.found} <= {item.chunk_id for item in others}


@pytest.mark.usefixtures("large")
async def test_given_a_rare_word_and_common_ones_then_a_chunk_with_nothing_but_the_rare_is_found(
    index: PostgresIndex,
) -> None:
    collection = a_collection()
    chunks = [a_chunk(collection, f"whale sea lamp w{i}") for i in range(2000)]
    await index.upsert(collection, [*chunks, a_chunk(collection, "narwhal")])
    await index.optimize(collection)
    [said] = await index.search(collection, [Search("narwhal whale sea")], EVERYTHING, 10)
    assert said.found[0].score > 2 * said.found[1].score


async def test_given_equal_scores_then_the_same_chunks_are_chosen(
    index: PostgresIndex, database: PostgresConnections
) -> None:
    collection = a_collection()
    chunks = [a_chunk(collection, f"whale {'sea ' * (i % 2)}lamp") for i in range(2500)]
    await index.upsert(collection, chunks)
    found, expected = await ways(database, collection, "whale sea lamp", EVERYTHING, 10)
    assert found == expected


async def test_the_database_knows_the_levels_as_they_are_known_here(
    index: PostgresIndex, postgres: PostgresServer
) -> None:
    collection = a_collection()
    await index.upsert(collection, [*many_chunks(collection, 20), a_chunk(collection, "the")])
    with psycopg.connect(postgres.url) as connection:
        found = connection.execute(
            f"SELECT ragstone_impacts(bm25), bm25::text FROM {rows.table_name(collection)}"
        ).fetchall()
    for impacts, text in found:
        pairs = [item.split(":") for item in text.split("/")[0].strip("{}").split(",") if item]
        expected = [
            (int(word) - 1) * LEVELS + min(LEVELS - 1, int(float(weight) / STEP))
            for word, weight in pairs
        ]
        assert (impacts or []) == expected


async def test_given_a_writer_that_holds_its_transaction_then_another_does_not_wait(
    index: PostgresIndex, database: PostgresConnections
) -> None:
    collection = a_collection()
    chunks = [a_chunk(collection, f"whale w{i}") for i in range(3)]
    await index.upsert(collection, chunks[:1])
    table = rows.table_name(collection)
    word = min(rows.words(Bm25Encoder("en").query("whale")))

    async def counting(connection: Connection) -> None:
        await words.count(connection, rows.ChunkTable(table), [[word]], [])
        # Within its transaction: a writer that waited for it would wait for ever.
        await index.upsert(collection, chunks[1:])
        await index.delete(collection, eq("chunk_index", 7))

    await database.run(counting)
    held = await database.run(
        lambda connection: words.count_word_chunks(connection, rows.ChunkTable(table), [word])
    )
    assert held == {words.EVERY_CHUNK: 4, word: 4}


async def test_given_a_current_schema_then_a_start_waits_for_no_writer_and_changes_nothing(
    postgres: PostgresServer,
) -> None:
    collection = a_collection()
    table = rows.table_name(collection)
    async with an_index(postgres) as before:
        await before.upsert(collection, [a_chunk(collection)], vectors(1))
        await before.optimize(collection)
    catalog = "SELECT oid, xmin::text FROM pg_class WHERE relname LIKE %s ORDER BY oid"
    with psycopg.connect(postgres.url) as writer, psycopg.connect(postgres.url) as reader:
        was = reader.execute(catalog, [f"{table}%"]).fetchall()
        reader.commit()
        writer.execute(f"LOCK TABLE {table}, {table}_words IN ROW EXCLUSIVE MODE")
        writer.execute("SELECT pg_advisory_xact_lock(%s)", [SCHEMA_LOCK])
        async with an_index(postgres, timeout=5) as starting:
            await starting.create(collection)
            assert await starting.count(collection) == 1
        writer.rollback()
        assert reader.execute(catalog, [f"{table}%"]).fetchall() == was


async def former(
    index: PostgresIndex,
    database: PostgresConnections,
    collection: Collection,
    chunks: list[Chunk],
) -> str:
    """The tables of a collection as the first form had them; their name."""
    table = rows.table_name(collection)
    await index.upsert(collection, chunks, vectors(*range(len(chunks))))

    async def work(connection: Connection) -> None:
        for statement in (
            f"DROP INDEX {table}_terms",
            f"CREATE INDEX {table}_bm25 ON {table} USING gin (words)",
            f"COMMENT ON TABLE {table} IS NULL",
            f"ALTER TABLE {table}_words DROP CONSTRAINT {table}_words_pkey, DROP COLUMN stripe",
            f"ALTER TABLE {table}_words ADD PRIMARY KEY (word)",
            f"CREATE INDEX {table}_dense ON {table} USING hnsw (dense vector_cosine_ops)",
        ):
            await connection.execute(statement)

    await database.run(work)
    return table


async def test_given_tables_of_the_first_form_then_they_are_brought_up_to_date(
    postgres: PostgresServer, database: PostgresConnections
) -> None:
    collection = a_collection()
    chunks = many_chunks(collection, 1500)
    texts = questions()[-3:]
    searches = [Search(text) for text in texts] + [Search("", vectors(7)[0])]
    async with an_index(postgres) as before:
        await before.upsert(collection, chunks, vectors(*range(len(chunks))))
        expected = await before.search(collection, searches, EVERYTHING, 10)
        await before.drop(collection)
        table = await former(before, database, collection, chunks)
    async with an_index(postgres) as index:
        await index.create(collection)
        # Before the index over impacts is built, and after it.
        assert await index.search(collection, searches, EVERYTHING, 10) == expected
        while not (await database.run(lambda c: rows.indexes(c, table))).get(rows.TERMS):
            await asyncio.sleep(0.05)
        assert await index.search(collection, searches, EVERYTHING, 10) == expected
        found, everything = await ways(database, collection, texts[0], EVERYTHING, 10)
        assert found == everything
        await index.upsert(collection, [a_chunk(collection, "narwhal")])
        [one] = await index.search(collection, [Search("narwhal")], EVERYTHING, 10)
        assert len(one.found) == 1
        await index.create(collection)
    found_indexes = await database.run(lambda c: rows.indexes(c, table))
    assert found_indexes["_dense"]


@pytest.mark.usefixtures("large")
async def test_given_two_indexes_over_words_then_one_takes_their_place(
    postgres: PostgresServer, database: PostgresConnections
) -> None:
    collection = a_collection()
    table = rows.table_name(collection)
    searches = [Search(text) for text in questions()]
    async with an_index(postgres) as index:
        await index.upsert(collection, many_chunks(collection, 1500))
        await index.optimize(collection)
        expected = await index.search(collection, searches, eq("document_id", "d7"), 10)
        counts = [len(item.found) for item in await index.search(collection, searches, MINE, 10)]
        with psycopg.connect(postgres.url) as connection:
            for statement in (
                f"DROP INDEX {table}_terms",
                f"CREATE INDEX {table}_impacts ON {table} USING gin (ragstone_impacts(bm25))",
                f"CREATE INDEX {table}_bm25 ON {table} USING gin (words)",
            ):
                connection.execute(statement.encode())
        assert await index.search(collection, searches, eq("document_id", "d7"), 10) == expected
        found = await index.search(collection, searches, MINE, 10)
        assert [len(item.found) for item in found] == counts
    async with an_index(postgres) as index:
        await index.create(collection)
        while "_bm25" in (built := await database.run(lambda c: rows.indexes(c, table))):
            await asyncio.sleep(0.05)
        assert built["_terms"]
        assert await index.search(collection, searches, eq("document_id", "d7"), 10) == expected
    assert not {*rows.FORMER} & {*await database.run(lambda c: rows.indexes(c, table))}


async def test_given_somebody_who_holds_a_transaction_then_an_index_is_built_later(
    postgres: PostgresServer, database: PostgresConnections, caplog: pytest.LogCaptureFixture
) -> None:
    collection = a_collection()
    table = rows.table_name(collection)
    rows_of = vectors(*range(20))
    async with an_index(postgres, timeout=1) as index:
        await index.upsert(collection, [a_chunk(collection) for _ in range(20)], rows_of)
        with psycopg.connect(postgres.url) as writer:
            writer.execute(f"LOCK TABLE {table} IN ROW EXCLUSIVE MODE")
            await index.optimize(collection)
            assert "not built yet" in caplog.text
            assert not (await database.run(lambda c: rows.indexes(c, table))).get("_dense")
            [found] = await index.search(collection, [Search("", rows_of[3])], EVERYTHING, 5)
            assert found.found[0].score == pytest.approx(1, abs=1e-4)
        await index.optimize(collection)
        assert (await database.run(lambda c: rows.indexes(c, table)))["_dense"]


async def test_given_a_backup_that_reads_on_then_an_ingest_ends_and_the_index_is_built_behind_it(
    postgres: PostgresServer,
    database: PostgresConnections,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(building, "LONG_SECONDS", 0)
    monkeypatch.setattr(postgres_index, "LOOK_SECONDS", 0.05)
    collection = a_collection()
    table = rows.table_name(collection)
    rows_of = vectors(*range(20))

    async def is_built() -> bool:
        return bool((await database.run(lambda c: rows.indexes(c, table))).get("_dense"))

    async with an_index(postgres, timeout=60) as index:
        await index.upsert(collection, [a_chunk(collection) for _ in range(20)], rows_of)
        with psycopg.connect(postgres.url) as backup:
            backup.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            backup.execute("SELECT 1")
            for _ in range(2):  # A second ingest of the collection does not wait either.
                await index.optimize(collection)
            assert not await is_built()
            [found] = await index.search(collection, [Search("", rows_of[3])], EVERYTHING, 5)
            assert found.found[0].score == pytest.approx(1, abs=1e-4)
        async with asyncio.timeout(PATIENCE):
            while not await is_built():
                await asyncio.sleep(0.05)
    assert caplog.text == ""


async def test_given_an_index_that_is_being_built_then_an_ingest_ends_without_a_new_one(
    postgres: PostgresServer, database: PostgresConnections
) -> None:
    collection = a_collection()
    async with an_index(postgres, timeout=1) as index:
        await index.upsert(collection, [a_chunk(collection)], vectors(1))
        with psycopg.connect(postgres.url) as builder:
            table = rows.table_name(collection)
            builder.execute(f"LOCK TABLE {table} IN SHARE UPDATE EXCLUSIVE MODE".encode())
            await index.optimize(collection)
            assert await index.count(collection) == 1


@pytest.mark.parametrize(
    ("dimensions", "hnsw", "name"),
    [
        (8, Hnsw(), "_dense"),
        (8, Hnsw(half=True), "_dense_half_16_64"),
        (2000, Hnsw(), "_dense"),
        (2001, Hnsw(), "_dense_half_16_64"),
        (4000, Hnsw(m=8, ef_construction=32), "_dense_half_8_32"),
    ],
)
async def test_given_vectors_of_any_width_then_they_are_indexed_and_the_nearest_is_found(
    postgres: PostgresServer,
    database: PostgresConnections,
    dimensions: int,
    hnsw: Hnsw,
    name: str,
) -> None:
    collection = a_collection(dimensions=dimensions)
    table = rows.table_name(collection)
    made = np.random.default_rng(1).normal(size=(300, dimensions)).astype(np.float32)
    chunks = [a_chunk(collection) for _ in made]
    searches = [Search("", item) for item in made[:5]]
    async with an_index(postgres, hnsw) as index:
        await index.upsert(collection, chunks, made)
        await index.optimize(collection)
        assert (await database.run(lambda c: rows.indexes(c, table)))[name]
        found = await index.search(collection, searches, EVERYTHING, 5)
        exact = await index.search(collection, searches, EVERYTHING, 5, exact=True)
        assert [item.found[0].chunk_id for item in found] == [
            chunk.chunk_id for chunk in chunks[:5]
        ]
        assert [item.found[0] for item in found] == [item.found[0] for item in exact]

    async def plan(connection: Connection) -> str:
        half = await uses_half(connection, collection, table, hnsw)
        await connection.execute("SET LOCAL enable_seqscan = off")
        query = f"EXPLAIN {nearest(table, dimensions, half, 'TRUE')}"
        cursor = await connection.execute(query, [Vector(made[0]), Vector(made[0]), 5])
        return str(await cursor.fetchall())

    assert f"{table}{name}" in await database.run(plan)


async def test_given_vectors_that_are_too_wide_then_it_says_what_to_do(
    index: PostgresIndex,
) -> None:
    with pytest.raises(ConfigError, match=r"4,000 numbers.*4,001.*EMBEDDING__DIMENSIONS"):
        await index.create(a_collection(dimensions=4001))


async def test_given_other_settings_then_the_index_is_built_anew_and_the_former_one_goes(
    postgres: PostgresServer, database: PostgresConnections
) -> None:
    collection = a_collection()
    table = rows.table_name(collection)

    async def names() -> set[str]:
        found = await database.run(lambda c: rows.indexes(c, table))
        return {name for name in found if name.startswith("_dense")}

    async with an_index(postgres) as index:
        await index.upsert(collection, [a_chunk(collection)], vectors(1))
        assert await names() == set()
        await index.optimize(collection)
        assert await names() == {"_dense"}
    async with an_index(postgres, Hnsw(8, 40, half=True)) as index:
        await index.create(collection)
        while await names() != {"_dense_half_8_40"}:
            await asyncio.sleep(0.05)

    async def options(connection: Connection) -> Any:
        query = "SELECT reloptions FROM pg_class WHERE relname = %s"
        cursor = await connection.execute(query, [f"{table}_dense_half_8_40"])
        return await cursor.fetchone()

    assert (await database.run(options))[0] == ["m=8", "ef_construction=40"]


async def test_given_a_writer_that_is_killed_before_its_commit_then_nothing_of_it_is_counted(
    index: PostgresIndex, database: PostgresConnections
) -> None:
    collection = a_collection()
    table = rows.table_name(collection)
    await index.upsert(collection, [a_chunk(collection, "whale")])
    asked = list(rows.words(Bm25Encoder("en").query("whale")))
    before = await database.run(
        lambda connection: words.count_word_chunks(connection, rows.ChunkTable(table), asked)
    )

    async def dying(connection: Connection) -> None:
        await connection.execute(f"DELETE FROM {table}")
        await words.count(connection, rows.ChunkTable(table), [asked] * 5, [])
        await connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    with pytest.raises(IndexUnavailable):
        await database.run(dying)
    assert (
        await database.run(lambda c: words.count_word_chunks(c, rows.ChunkTable(table), asked))
        == before
    )
    [found] = await index.search(collection, [Search("whale")], EVERYTHING, 10)
    assert len(found.found) == 1


async def test_settings_of_connections_and_searches(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    settings = IndexSettings(
        url=postgres.url,
        api_key=SecretStr("hunter2"),
        options={"connections": 1, "hnsw_ef_search": 77},
        timeout=1,
    )
    index: Any = connect(settings, tmp_path)

    async def look(connection: Connection) -> tuple[str, str]:
        with pytest.raises(IndexUnavailable):  # There is no second connection.
            await index.ready()
        row = await (await connection.execute("SHOW hnsw.ef_search")).fetchone()
        return connection.info.password, row[0] if row else ""

    assert await index._database.run(look) == ("hunter2", "77")
    await index.aclose()


def test_settings_of_the_index_over_meaning(tmp_path: Path) -> None:
    for options, expected in (
        ({"halfvec": True, "hnsw_m": 24, "hnsw_ef_construction": 100}, Hnsw(24, 100, half=True)),
        ({"hnsw_m": 40}, Hnsw(40, 80)),
        ({}, Hnsw()),
    ):
        index: Any = connect(IndexSettings(url="postgresql://h/db", options=options), tmp_path)
        assert index._hnsw == expected


@pytest.mark.parametrize(
    "wrong",
    [
        {"hnsw_m": 1},
        {"hnsw_m": 101},
        {"hnsw_m": 40, "hnsw_ef_construction": 79},
        {"hnsw_ef_construction": 31},
        {"hnsw_ef_construction": 1001},
        {"hnsw_ef_search": 0},
        {"hnsw_ef_search": 1001},
        {"connections": 0},
        {"quantization": "int8"},
        {"replicas": 0},
    ],
)
def test_given_an_option_that_postgresql_would_refuse_then_it_is_refused(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match="a PostgreSQL index"):
        connect(IndexSettings(url="postgresql://h/db", options=wrong), tmp_path)


def test_given_an_address_that_is_none_then_it_says_so_without_its_secret() -> None:
    with pytest.raises(ConfigError, match="INDEX__URL") as raised:
        PostgresConnections("postgresql://ann:hunter2@h:port:1/db?x", 1)
    assert "hunter2" not in str(raised.value)

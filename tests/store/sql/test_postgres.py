"""Opening a PostgreSQL database for the state, its migrations, and what goes wrong with it."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, insert, inspect, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.errors import ConfigError, StateUnavailable
from ragstone.core.records import Collection
from ragstone.plugins.postgres.state import CONNECTIONS, WRITING_IDLE_SECONDS, Postgres
from ragstone.ports import PoolUse
from ragstone.settings import StateSettings
from ragstone.store.connect import open_state
from ragstone.store.sql import migrations
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import Database, open_backend
from ragstone.store.sql.settings import SqlTemplates
from ragstone.store.sql.tables import jobs, metadata, settings
from ragstone.store.sql.vocabulary import SqlVocabulary
from tests.databases import Databases
from tests.store.sql.next_schema import next_schema


@pytest.fixture
def empty(postgres_databases: Databases) -> str:
    """The address of a database with nothing in it."""
    return postgres_databases.url(postgres_databases.new())


@pytest.fixture
def url(postgres_databases: Databases) -> str:
    """The address of a database with the newest schema."""
    return postgres_databases.url(postgres_databases.migrated())


def execute(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


async def add(database: Database, key: str) -> None:
    async def work(connection: AsyncConnection) -> None:
        row = {"scope": "", "key": key, "value": 1, "updated_at": 0.0}
        await connection.execute(insert(settings).values(row))

    await database.write(work)


async def keys(database: Database) -> list[str]:
    async with database.read_view() as connection:
        found = await connection.execute(select(settings.c.key).order_by(settings.c.key))
        return list(found.scalars())


NEWEST = migrations.REVISIONS[-1]


def make_earlier_state(url: str) -> None:
    """Make a state of the newest schema, with two collections, beside a table of an index."""
    execute(url, "CREATE TABLE ragstone_index (id int)")
    engine = Postgres(url).migration_engine()
    migrations.upgrade(engine)
    engine.dispose()
    collection = (
        "INSERT INTO collections"
        " (tenant, id, name, model, fingerprint, dimensions, language, build)"
        " VALUES ('t', '{0}', '{0}', 'm', 'f', 3, 'en', 1)"
    )
    execute(
        url,
        collection.format("law"),
        collection.format("tax"),
        "INSERT INTO vocabulary (tenant, collection, word) VALUES ('t', 'law', 'whale')",
    )


async def test_an_older_state_is_kept_and_migrated(
    empty: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make_earlier_state(empty)
    with next_schema(tmp_path):
        async with open_backend(Postgres(empty)) as database:
            catalog = await SqlCatalog.open(database)
            law = await catalog.collection("t", "law")
            assert law == Collection("t", "law", "m", "f", 3, "en", id="law")
            assert await SqlVocabulary(database).find_words(law, {"whale"}) == {"whale"}
    engine = Postgres(empty).migration_engine()
    with engine.connect() as connection:
        names = inspect(connection).get_table_names()
        kept = connection.execute(text(f"SELECT name FROM collections_{NEWEST} ORDER BY name"))
        assert kept.scalars().all() == ["law", "tax"]
        version = connection.execute(text(f"SELECT version_num FROM alembic_version_{NEWEST}"))
        assert version.scalars().all() == [NEWEST]
    engine.dispose()
    assert {name for name in names if name.endswith(f"_{NEWEST}")} == {
        f"{name}_{NEWEST}" for name in metadata.tables.keys() | {"alembic_version"}
    }
    assert "tomorrow" in names
    assert f"names end in _{NEWEST}" in caplog.text


async def test_a_state_that_cannot_be_kept_is_left_alone(empty: str, tmp_path: Path) -> None:
    make_earlier_state(empty)
    execute(empty, f"CREATE VIEW traces_{NEWEST} AS SELECT 1")
    with next_schema(tmp_path):
        with pytest.raises(StateUnavailable, match="backup .* cannot be written"):
            async with open_backend(Postgres(empty)):
                pass
        execute(empty, f"DROP VIEW traces_{NEWEST}", "SELECT name FROM collections")
        async with open_backend(Postgres(empty)) as database:
            assert len(await (await SqlCatalog.open(database)).collections()) == 2


async def test_servers_that_start_at_once_migrate_once(empty: str) -> None:
    async def start(number: int) -> None:
        async with open_backend(Postgres(empty)) as database:
            await add(database, str(number))

    await asyncio.gather(*(start(number) for number in range(4)))
    async with open_backend(Postgres(empty)) as database:
        assert await keys(database) == ["0", "1", "2", "3"]


def test_the_migrations_make_the_tables_and_texts_compare_by_code_points(url: str) -> None:
    engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(url))
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        differences = compare_metadata(context, metadata)
        # Alembic does not ask for which database an index is.
        assert [
            difference for difference in differences if difference[1].name != "ix_documents_counts"
        ] == []
        others = (
            "SELECT count(*) FROM information_schema.columns WHERE table_schema = 'public' "
            "AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'"
        )
        assert connection.execute(text(others)).scalar() == 0
    engine.dispose()


async def test_a_newer_database_is_refused_and_left_alone(empty: str) -> None:
    execute(
        empty,
        "CREATE TABLE alembic_version (version_num text)",
        "INSERT INTO alembic_version VALUES ('9999')",
    )
    with pytest.raises(ConfigError, match=r"newer Ragstone \(schema 9999.*Update Ragstone"):
        async with open_backend(Postgres(empty)):
            pass
    with psycopg.connect(empty) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        assert tables.fetchall() == [("alembic_version",)]


async def test_a_broken_migration_changes_nothing(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(connection: object) -> None:
        raise RuntimeError("power cut")

    monkeypatch.setattr("ragstone.store.sql.migrations._order_by_code_points", broken)
    with pytest.raises(RuntimeError, match="power cut"):
        async with open_backend(Postgres(empty)):
            pass
    with psycopg.connect(empty) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        assert tables.fetchall() == []


async def test_writers_that_decide_by_what_they_read_take_turns_in_all_servers(url: str) -> None:
    async with open_backend(Postgres(url)) as one, open_backend(Postgres(url)) as two:
        stores = [SqlTemplates(database) for database in (one, two)]
        await asyncio.gather(
            *(stores[n % 2].put("forbidden_guidance", f"Not {n}.") for n in range(20))
        )
        versions = [found.version for found in await stores[0].versions("forbidden_guidance")]
        assert versions == list(range(20, 0, -1))


async def test_sessions_that_were_ended_are_made_anew(url: str) -> None:
    async with open_backend(Postgres(url)) as database:
        await add(database, "before")
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = "
        await asyncio.to_thread(execute, url, f"{end}'ragstone' AND datname = current_database()")
        await add(database, "after")
        assert await keys(database) == ["after", "before"]


def other(url: str, **parameters: str) -> str:
    return psycopg.conninfo.make_conninfo(url, **parameters)


WRONG: list[tuple[Callable[[str], str], type[Exception], str]] = [
    (lambda url: "postgresql://u:secret@127.0.0.1:9/x", StateUnavailable, "127.0.0.1:9/x does not"),
    (lambda url: other(url, dbname="none"), ConfigError, "does not exist. Create it"),
    (lambda url: other(url, user="limited"), StateUnavailable, "no connection left"),
    (lambda url: other(url, user="stranger"), ConfigError, "Make it the owner"),
]


@pytest.mark.parametrize(("wrong", "error", "message"), WRONG)
async def test_given_a_database_that_cannot_be_used_then_a_clear_error(
    empty: str, wrong: Callable[[str], str], error: type[Exception], message: str
) -> None:
    execute(
        empty,
        "DROP ROLE IF EXISTS limited",
        "DROP ROLE IF EXISTS stranger",
        "CREATE ROLE limited LOGIN CONNECTION LIMIT 0",
        "CREATE ROLE stranger LOGIN",
    )
    with pytest.raises(error, match=message) as raised:
        async with open_backend(Postgres(wrong(empty))):
            pass
    assert "secret" not in str(raised.value)


async def test_given_a_read_only_database_then_reading_goes_on(url: str) -> None:
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    async with open_backend(Postgres(url)) as database:
        await add(database, "a")
    execute(url, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    async with open_backend(Postgres(url)) as database:
        with pytest.raises(StateUnavailable, match="read-only"):
            await add(database, "b")
        assert await keys(database) == ["a"]


async def test_given_a_lock_that_is_held_too_long_then_a_clear_error(url: str) -> None:
    async with open_backend(Postgres(url, timeout=0.3)) as database:
        with psycopg.connect(url) as other:
            other.execute("LOCK TABLE settings")
            with pytest.raises(StateUnavailable, match="longer than a statement may"):
                await add(database, "a")
        await add(database, "a")


async def test_given_a_server_that_stands_still_while_it_writes_then_others_write_soon(
    url: str,
) -> None:
    held = asyncio.Event()

    async def stand_still(connection: AsyncConnection) -> None:
        held.set()
        await asyncio.sleep(WRITING_IDLE_SECONDS + 2)
        await connection.execute(text("SELECT 1"))

    async with open_backend(Postgres(url)) as one, open_backend(Postgres(url)) as other:
        standing = asyncio.create_task(one.write(stand_still))
        await held.wait()
        async with asyncio.timeout(WRITING_IDLE_SECONDS + 30):
            await add(other, "written")
        with pytest.raises(StateUnavailable):
            await standing
        await add(one, "goes on")
        assert await keys(one) == ["goes on", "written"]


async def test_given_text_with_a_zero_character_then_it_comes_back(url: str) -> None:
    async with open_backend(Postgres(url)) as database:

        async def work(connection: AsyncConnection) -> None:
            row = dict.fromkeys(("id", "kind", "state", "error"), "a\x00b")
            times = {"created_at": 0.0, "updated_at": 0.0}
            both = {"request": {"\0": "\0"}, "progress": {}}
            await connection.execute(insert(jobs).values(**row, **times, **both))

        await database.write(work)
        async with database.read_view() as connection:
            found = select(jobs.c.id, jobs.c.request).where(jobs.c.kind == "a\0b")
            assert (await connection.execute(found)).one() == ("a\0b", {"\0": "\0"})


def test_the_settings_choose_the_database(tmp_path: Path) -> None:
    for url, message in (("mysql://x", "'mysql'"), ("postgresql://[", "not an address")):
        with pytest.raises(ConfigError, match=message):
            open_state(StateSettings(url=url), tmp_path)


async def test_its_pool_says_how_many_connections_are_in_use(url: str) -> None:
    async with open_backend(Postgres(url)) as database:
        assert database.pool_use() == PoolUse("state", 0, CONNECTIONS)
        async with database.read_view() as one:
            assert await one.scalar(text("SELECT 1")) == 1
            assert database.pool_use().used == 1
            async with database.read_view():
                assert database.pool_use().used == 2

            async def work(_: AsyncConnection) -> int:
                return database.pool_use().used

            assert await database.write(work) == 2
        assert database.pool_use().used == 0

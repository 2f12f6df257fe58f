"""The rows of a query are documents, in real databases of SQLite and PostgreSQL."""

import io
import sqlite3
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import psycopg
import pytest

from ragstone.core.errors import DocumentError, InputError, SourceUnavailable
from ragstone.core.sync import SourceItem, SourceRun
from ragstone.plugins.sources.kinds import SOURCES
from ragstone.plugins.sources.options import check_options
from ragstone.plugins.sources.sql import QueryRows, SqlOptions
from ragstone.ports.sources import SourceParts
from tests.conformance.postgres_server import PostgresServer
from tests.databases import Databases
from tests.ingest.sources.scripted_source import SyncedCollection, opened_collection

pytestmark = pytest.mark.slow

VARIABLE, PASSWORD = "RAGSTONE_SOURCE_SQL", "sesame-4711"

TABLE = (
    "CREATE TABLE dish (id INTEGER PRIMARY KEY, name TEXT, recipe TEXT, price NUMERIC, "
    "changed TEXT, readers TEXT)"
)
OPTIONS = {
    "query": "SELECT * FROM dish WHERE price < 1000 -- the cheap ones",
    "title": "name",
    "text": "recipe",
    "modified": "changed",
    "readers": "readers",
}
EVERYONE = "*"


@dataclass
class DishDatabase:
    """A table of dishes, and the address that a source has of it."""

    url: str
    connection: Any
    mark: str

    def do(self, statement: str, *values: object) -> None:
        self.connection.execute(statement.replace("?", self.mark), values)

    def put(self, id: int, name: str, recipe: str, changed: str, readers: str | None) -> None:
        self.do("DELETE FROM dish WHERE id = ?", id)
        row = (id, name, recipe, 7.5, changed, readers)
        self.do("INSERT INTO dish VALUES (?, ?, ?, ?, ?, ?)", *row)


@pytest.fixture(params=["sqlite", "postgresql"])
def dishes(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A database with two dishes."""
    monkeypatch.setenv(VARIABLE, PASSWORD)
    if request.param == "sqlite":
        file = tmp_path / "shop #1?.sqlite"
        connection: Any = sqlite3.connect(file, isolation_level=None)
        made = DishDatabase(f"sqlite:///{str(file).replace('?', '%3F')}", connection, "?")
    else:
        databases: Databases = request.getfixturevalue("postgres_databases")
        server: PostgresServer = request.getfixturevalue("postgres")
        address = databases.url(databases.new())
        connection = psycopg.connect(address, autocommit=True)
        info = connection.info
        made = DishDatabase(
            f"postgresql://cook@/{info.dbname}?host={info.host}&port={info.port}", connection, "%s"
        )
        assert server.url
    made.do(TABLE)
    if request.param == "postgresql":
        made.do("DROP ROLE IF EXISTS cook")
        made.do(f"CREATE ROLE cook LOGIN PASSWORD '{PASSWORD}'")
        made.do("GRANT ALL ON dish TO cook")
    made.put(1, "Soup", "Boil it.", "2026-11-01", EVERYONE)
    made.put(2, "Bread", "Bake it.", "2026-11-02 10:00:00", "group:hr, user:ada")
    yield made
    if request.param == "postgresql":
        made.do("DROP OWNED BY cook")
        made.do("DROP ROLE cook")
    connection.close()


@pytest.fixture
async def synced(tmp_path: Path, dishes: DishDatabase) -> AsyncIterator[SyncedCollection]:
    async with opened_collection(tmp_path, **source_of(dishes)) as collection:
        yield collection


def source_of(dishes: DishDatabase, **options: str) -> dict[str, Any]:
    given = {**OPTIONS, "url": dishes.url, "password": f"env:{VARIABLE}", **options}
    return {"kind": "sql", "options": given}


def open_rows(dishes: DishDatabase, folder: Path, **options: str) -> QueryRows:
    given = {**OPTIONS, "url": dishes.url, "password": PASSWORD, **options}
    return QueryRows(SourceParts("house", SqlOptions(**given), folder))  # type: ignore[arg-type]


async def read(source: QueryRows) -> dict[str, tuple[SourceItem, str]]:
    """The rows by their id with what is fetched for them."""
    try:
        await source.check()
        found = {}
        async for item in source.list_items(""):
            target = io.BytesIO()
            await source.fetch(item, cast(BinaryIO, target))
            found[item.key] = (item, target.getvalue().decode())
        return found
    finally:
        await source.aclose()


def counts(run: SourceRun) -> tuple[int, ...]:
    """Added, changed, rights, removed, unchanged, failed."""
    return run.added, run.changed, run.rights, run.removed, run.unchanged, run.failed


async def test_rows_are_added_changed_and_removed(
    synced: SyncedCollection, dishes: DishDatabase
) -> None:
    first = await synced.sync()
    second = await synced.sync()
    dishes.put(1, "Soup", "Boil it well.", "2026-11-03", EVERYONE)
    dishes.put(3, "Fish", "Fry it.", "2026-11-03", EVERYONE)
    dishes.do("DELETE FROM dish WHERE id = 2")
    third = await synced.sync()

    assert (first.state, first.error, counts(first)) == ("done", "", (2, 0, 0, 0, 0, 0))
    assert counts(second) == (0, 0, 0, 0, 2, 0)
    assert counts(third) == (1, 1, 0, 1, 0, 0)
    assert set(await synced.documents()) == {"/house/1.txt", "/house/3.txt"}
    texts = "".join(await synced.texts())
    assert "Boil it well." in texts
    assert "price: 7.5" in texts


async def test_readers_follow_their_column_without_a_change_of_the_row(
    synced: SyncedCollection, dishes: DishDatabase
) -> None:
    await synced.sync()
    of_all, of_hr = await synced.texts(), await synced.texts("group:hr")
    dishes.do("UPDATE dish SET readers = ? WHERE id = 1", "user:ada")
    dishes.do("UPDATE dish SET readers = NULL WHERE id = 2")

    run = await synced.sync()

    assert (len(of_all), len(of_hr)) == (1, 2)
    assert counts(run) == (0, 0, 1, 1, 0, 0)
    assert run.notes == ("Left out, as they are for nobody: 1.",)
    assert await synced.texts("group:hr") == set()


async def test_readers_that_are_none_fail_the_run(
    synced: SyncedCollection, dishes: DishDatabase
) -> None:
    dishes.do("UPDATE dish SET readers = ? WHERE id = 1", "the cooks")

    run = await synced.sync()

    assert "Not a valid reader: 'the cooks'" in run.error


async def test_without_a_column_of_changes_the_whole_row_says_what_is_new(
    tmp_path: Path, dishes: DishDatabase
) -> None:
    async with opened_collection(tmp_path, **source_of(dishes, modified="")) as synced:
        await synced.sync()
        dishes.do("UPDATE dish SET price = 9 WHERE id = 1")
        dishes.do("UPDATE dish SET readers = 'user:ada' WHERE id = 2")
        run = await synced.sync()

    assert counts(run) == (0, 1, 1, 0, 0, 0)


async def test_other_columns_are_read_again(tmp_path: Path, dishes: DishDatabase) -> None:
    async def versions(**options: str) -> list[str]:
        found = await read(open_rows(dishes, tmp_path, **options))
        return [item.version for item, _ in found.values()]

    assert await versions() == await versions()
    assert not set(await versions()) & set(await versions(text="name"))


async def test_a_query_that_is_none_any_more_removes_nothing(
    synced: SyncedCollection, dishes: DishDatabase
) -> None:
    await synced.sync()
    dishes.do("ALTER TABLE dish RENAME TO dishes")

    run = await synced.sync()

    assert (run.state, run.removed) == ("failed", 0)
    assert "cannot be read: it answers" in run.error
    assert len(await synced.documents()) == 2


async def test_a_table_that_is_empty_at_once_is_held_back(
    synced: SyncedCollection, dishes: DishDatabase
) -> None:
    await synced.sync()
    dishes.do("DELETE FROM dish")

    run = await synced.sync()

    assert (run.state, run.removed, run.held) == ("done", 0, 2)


async def test_a_query_changes_nothing(tmp_path: Path, dishes: DishDatabase) -> None:
    statement = "UPDATE dish SET price = 0 RETURNING id"
    query = f"SELECT * FROM dish) AS x; {statement}; SELECT * FROM (SELECT * FROM dish"
    with pytest.raises(SourceUnavailable):
        await read(open_rows(dishes, tmp_path, query=query))

    assert "price: 7.5" in (await read(open_rows(dishes, tmp_path)))["1"][1]


@pytest.mark.parametrize(
    ("format", "path", "text"),
    [
        ("txt", "1.txt", "Soup & co\n\n<b>Boil</b> it.\n\nid: 1\nprice: 7.5\n"),
        ("md", "1.md", "# Soup & co\n\n<b>Boil</b> it.\n\nid: 1\n\nprice: 7.5\n"),
        (
            "html",
            "1.html",
            "<html><head><meta charset='utf-8'><title>Soup &amp; co</title></head><body><main>"
            "<h1>Soup &amp; co</h1><b>Boil</b> it.<p>id: 1</p><p>price: 7.5</p></main></body>"
            "</html>",
        ),
    ],
)
async def test_the_text_is_what_it_is_said_to_be(
    tmp_path: Path, dishes: DishDatabase, format: str, path: str, text: str
) -> None:
    dishes.put(1, "Soup\n& co", "<b>Boil</b> it.", "2026-11-01", EVERYONE)

    item, fetched = (await read(open_rows(dishes, tmp_path, format=format)))["1"]

    assert (item.path, item.title, item.modified) == (path, "Soup & co", 1793491200.0)
    assert fetched == text


async def test_ids_of_any_kind_are_names_of_their_own(tmp_path: Path, dishes: DishDatabase) -> None:
    names = ["a/b", "a%2Fb", "..", "ü 日本", "0017", "17", "C:\\x", "x\ny", "it's", "Ünï:x"]
    dishes.do("CREATE TABLE named (id TEXT, name TEXT)")
    if dishes.mark == "%s":
        dishes.do("GRANT ALL ON named TO cook")
    for name in names:
        dishes.do("INSERT INTO named VALUES (?, ?)", name, f"This is {name!r}.")
    plain = dict.fromkeys(("title", "text", "modified", "readers"), "")
    options = {"query": "SELECT * FROM named WHERE name <> ' :x 10%';", **plain}

    found = await read(open_rows(dishes, tmp_path, **options))

    assert set(found) == set(names)
    assert len({item.path for item, _ in found.values()}) == len(names)
    assert all(repr(key) in text for key, (_, text) in found.items())
    assert all("/" not in item.path and item.path.isprintable() for item, _ in found.values())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"id": "price"}, "The query gives several rows whose price is '7.5'"),
        ({"title": "titel"}, "The query gives no column 'titel', but id, name, recipe, price"),
        ({"query": "SELEC 1"}, "cannot be read: it answers"),
    ],
    ids=["id", "column", "syntax"],
)
async def test_what_is_wrong_with_a_query_is_told(
    tmp_path: Path, dishes: DishDatabase, options: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SourceUnavailable) as raised:
        await read(open_rows(dishes, tmp_path, **options))

    assert sentence in raised.value.message


async def test_a_row_that_is_gone_before_it_is_fetched_fails_alone(
    tmp_path: Path, dishes: DishDatabase
) -> None:
    source = open_rows(dishes, tmp_path)
    await source.check()
    items = [item async for item in source.list_items("")]
    dishes.do("DELETE FROM dish")

    with pytest.raises(DocumentError, match="Its row is not there any more."):
        await source.fetch(items[0], io.BytesIO())
    await source.aclose()


async def test_a_listing_holds_up_nobody_who_changes_the_table(
    tmp_path: Path, dishes: DishDatabase
) -> None:
    source = open_rows(dishes, tmp_path)
    await source.check()
    listed = source.list_items("")
    await anext(listed)

    dishes.do("DROP TABLE dish")

    assert (await anext(listed)).key == "2"
    await listed.aclose()
    await source.aclose()


async def test_text_in_another_encoding_breaks_neither_its_row_nor_others(tmp_path: Path) -> None:
    file = tmp_path / "old.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE old (id TEXT, recipe TEXT)")
        rows = [("1", "caf\xe9"), ("caf\xe9", "Milk.")]
        for row in rows:
            values = [value.encode("latin-1") for value in row]
            statement = "INSERT INTO old VALUES (CAST(? AS TEXT), CAST(? AS TEXT))"
            connection.execute(statement, values)
    connection.close()
    options = {"url": f"sqlite:///{file}", "query": "SELECT * FROM old", "text": "recipe"}
    async with opened_collection(tmp_path, kind="sql", options=options) as synced:
        run = await synced.sync()
        texts = await synced.texts()

    assert counts(run) == (1, 0, 0, 0, 0, 1)
    assert "no valid Unicode" in run.failures[0].reason
    assert "caf?" in "".join(texts)


async def test_a_database_that_is_gone_removes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "shop.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE dish AS SELECT 1 AS id, 'Soup' AS name")
    connection.close()
    options = {"url": f"sqlite:///{file}", "query": "SELECT * FROM dish"}
    async with opened_collection(tmp_path, kind="sql", options=options) as synced:
        await synced.sync()
        file.unlink()
        run = await synced.sync()
        kept = await synced.documents()

    assert run.error.endswith("cannot be read: it answers 'unable to open database file'.")
    assert (file.exists(), len(kept)) == (False, 1)


async def test_what_a_server_refuses_is_told_without_the_password(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    with psycopg.connect(postgres.url) as connection:
        info = connection.info
        place = f"host={info.host}&port={info.port}"
        user, name = info.user, info.dbname
    cases: Sequence[tuple[str, str]] = [
        (f"postgresql://nobody@/{name}?{place}", 'role "nobody" does not exist'),
        (f"postgresql://{user}@/none?{place}", 'database "none" does not exist'),
        ("postgresql://ada@127.0.0.1:1/x", "Connection refused"),
    ]
    for url, reason in cases:
        options = SqlOptions(url=url, password=PASSWORD, query="SELECT 1 AS id")  # type: ignore[arg-type]
        source = QueryRows(SourceParts("house", options, tmp_path))
        with pytest.raises(SourceUnavailable) as raised:
            await source.check()
        await source.aclose()
        assert reason in raised.value.message
        assert PASSWORD not in raised.value.message


@pytest.mark.parametrize(
    "options",
    [
        {"url": "mysql://ada@x.org/shop"},
        {"url": "sqlite://"},
        {"url": "sqlite:///shop.sqlite"},
        {"url": "postgresql://ada@x.org"},
        {"url": "x.org"},
        {"url": "postgresql://ada:sesame@x.org/shop"},
        {"url": "postgresql://ada@x.org/shop", "password": "sesame"},
        {"url": "postgresql://ada@x.org/shop?password=sesame"},
        {"url": "sqlite:////srv/shop.sqlite", "format": "sesame"},
    ],
)
def test_options_that_cannot_be_right_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(InputError) as raised:
        check_options("sql", SOURCES.get("sql"), {"query": "SELECT 1 AS id", **options})

    assert "sesame" not in str(raised.value)

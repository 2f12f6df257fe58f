"""Moving the state between SQLite and PostgreSQL."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from ragstone.core.answer import GeneratedAnswer
from ragstone.core.conversation import conversation_key, entry
from ragstone.core.errors import Conflict
from ragstone.core.turn import Ask, Principal, Turn
from ragstone.guard.topic_file import topic
from ragstone.plugins.postgres.state import Postgres
from ragstone.ports.jobs import NewJob
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.conversations import SqlConversations
from ragstone.store.sql.database import Database, open_backend, open_database
from ragstone.store.sql.dump import move
from ragstone.store.sql.history import SqlHistory
from ragstone.store.sql.jobs import SqlJobs
from ragstone.store.sql.tables import metadata
from ragstone.store.sql.topics import SqlTopics
from tests.conformance.test_catalog import DOC, LAW, publish
from tests.databases import Databases

pytestmark = pytest.mark.slow

EVA = Principal("acme", "e\0va")
ROOM = conversation_key(EVA, "r")


async def fill(database: Database) -> None:
    catalog = await SqlCatalog.open(database)
    await catalog.put_collection(LAW)
    odd = {"n": None, "list": [1, "\0"]}
    await publish(
        catalog,
        replace(DOC, title="a\0b", metadata=odd, allowed=("user:eva",), own_readers=("user:eva",)),
    )
    await catalog.begin(replace(DOC, id="d2", path="/two"))
    topics = SqlTopics(database)
    salary = topic("acme", "salary", ("wage",))
    await topics.put([salary])
    await topics.keep_vectors("f", {salary.id: b"\0\1\2"})
    for number in range(600):
        await SqlJobs(database).submit(NewJob(f"j{number}", "ingest", {"paths": ["/a"]}), 1000)
    await SqlHistory(database).save(asked("Why?"))
    await SqlConversations(database).append(ROOM, entry(asked("Why?"), 1.0))


def asked(question: str) -> Turn:
    return Turn(
        Ask(question, EVA, room="r", id=question),
        question,
        answer=GeneratedAnswer("So.", (), "stop", "small", 0.5),
    )


async def rows(database: Database) -> dict[str, list[dict[str, Any]]]:
    found = {}
    # Only PostgreSQL keeps these two, and makes them when it opens.
    tables = [t for t in metadata.sorted_tables if t.name not in ("editions", "readers")]
    async with database.read_view() as connection:
        for table in tables:
            some = (await connection.execute(select(table))).mappings()
            found[table.name] = sorted((dict(row) for row in some), key=repr)
    return found


async def test_given_a_state_then_there_and_back_it_is_the_same_and_goes_on(
    tmp_path: Path, postgres_databases: Databases, url: str
) -> None:
    async with open_database(tmp_path / "a.sqlite") as source:
        await fill(source)
        before = await rows(source)
        async with open_backend(Postgres(url)) as target:
            counts = await move(source, target)
            assert (counts["jobs"], counts["documents"], counts["turns"]) == (600, 2, 1)
            assert await rows(target) == before
    async with open_backend(Postgres(url)) as target:
        catalog = await SqlCatalog.open(target)
        edition = await catalog.edition("acme", "c1")
        assert edition is not None
        assert edition.readers == {"user:eva"}
        kept = SqlConversations(target)
        await kept.append(ROOM, entry(asked("And then?"), 2.0))
        room = await kept.room(ROOM)
        assert room
        assert room.turns == 2
        before = await rows(target)
    async with open_backend(Postgres(url)) as source, open_database(tmp_path / "b") as target:
        await move(source, target)
        assert await rows(target) == before


async def test_given_a_target_that_holds_something_then_nothing_moves(
    tmp_path: Path, url: str
) -> None:
    async with open_database(tmp_path / "a.sqlite") as source, open_backend(Postgres(url)) as there:
        await fill(source)
        await SqlJobs(there).submit(NewJob("other", "ingest", {}), 10)
        before = await rows(there)
        with pytest.raises(Conflict, match="already holds a state"):
            await move(source, there)
        assert await rows(there) == before


async def test_given_a_server_on_the_database_then_nothing_moves(tmp_path: Path, url: str) -> None:
    async with (
        open_database(tmp_path / "a.sqlite") as here,
        open_backend(Postgres(url)) as used,
        open_backend(Postgres(url)) as same,
    ):
        await SqlCatalog.open(used)
        with pytest.raises(Conflict, match="Stop every server"):
            await move(here, same)


@pytest.fixture
def url(postgres_databases: Databases) -> str:
    return postgres_databases.url(postgres_databases.migrated())

"""Opening, transactions, and what goes wrong with a database file."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, Table, insert, select, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.errors import StateUnavailable, StorageFull
from ragstone.store.sql.database import Database, open_database
from ragstone.store.sql.tables import jobs, settings, traces


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with open_database(tmp_path / "state.sqlite") as opened:
        yield opened


def setting(key: str, value: object = 1) -> dict[str, object]:
    return {"scope": "", "key": key, "value": value, "updated_at": 0.0}


async def add(database: Database, key: str, value: object = 1) -> None:
    async def work(connection: AsyncConnection) -> None:
        await connection.execute(insert(settings).values(setting(key, value)))

    await database.write(work)


async def keep(database: Database, key: str, value: object = 1) -> None:
    def work(connection: Connection) -> None:
        connection.execute(insert(settings).values(setting(key, value)))

    await database.keep(work)


async def keys(database: Database) -> list[str]:
    async with database.read_view() as connection:
        found = await connection.execute(select(settings.c.key).order_by(settings.c.key))
        return list(found.scalars())


async def test_every_connection_is_durable_and_checks_foreign_keys(database: Database) -> None:
    async with database.read_view() as first, database.read_view() as second:
        for connection in (first, second):
            pragmas = [
                (await connection.execute(text(f"PRAGMA {name}"))).scalar()
                for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
            ]
            assert pragmas == ["wal", 2, 1, 10_000]

    def direct(connection: Connection) -> list[object]:
        names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        return [connection.execute(text(f"PRAGMA {name}")).scalar() for name in names]

    assert await database.read(direct) == await database.keep(direct) == ["wal", 2, 1, 10_000]


async def test_a_transaction_is_all_or_nothing(database: Database) -> None:
    told: list[None] = []

    async def work(connection: AsyncConnection) -> None:
        await connection.execute(insert(settings).values(setting("a")))
        await connection.execute(insert(settings).values(setting("a")))

    with pytest.raises(IntegrityError):
        await database.write(work, told.append)
    assert await keys(database) == []
    assert told == []
    await add(database, "a")
    assert await keys(database) == ["a"]


async def test_tasks_that_write_at_once_take_turns(database: Database) -> None:
    await asyncio.gather(*(add(database, f"{n:03}") for n in range(100)))
    assert len(await keys(database)) == 100


async def test_two_programs_that_write_at_once_wait_for_each_other(
    database: Database, tmp_path: Path
) -> None:
    async with open_database(tmp_path / "state.sqlite") as other:
        both = [add(d, f"{n:03}{i}") for n in range(30) for i, d in enumerate((database, other))]
        await asyncio.gather(*both)
        assert len(await keys(other)) == 60


async def test_reading_goes_on_while_another_task_writes(database: Database) -> None:
    await add(database, "a")
    began, finish = asyncio.Event(), asyncio.Event()

    async def slow(connection: AsyncConnection) -> None:
        await connection.execute(insert(settings).values(setting("b")))
        began.set()
        await finish.wait()

    writer = asyncio.create_task(database.write(slow))
    await began.wait()
    assert await asyncio.wait_for(keys(database), 5) == ["a"]
    finish.set()
    await writer
    assert await keys(database) == ["a", "b"]


async def test_a_cancelled_writer_is_still_committed(tmp_path: Path) -> None:
    told: list[str] = []
    async with open_database(tmp_path / "state.sqlite") as database:
        began = asyncio.Event()

        async def work(connection: AsyncConnection) -> str:
            await connection.execute(insert(settings).values(setting("a")))
            began.set()
            await asyncio.sleep(0.05)
            return "a"

        task = asyncio.create_task(database.write(work, told.append))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert told == ["a"]
    async with open_database(tmp_path / "state.sqlite") as database:
        assert await keys(database) == ["a"]


async def test_cancelled_reads_give_their_connections_back(database: Database) -> None:
    for number in range(40):
        task = asyncio.create_task(keys(database))
        await asyncio.sleep(number / 20_000)
        task.cancel()
        await asyncio.wait([task])
    assert await asyncio.wait_for(keys(database), 5) == []


async def test_a_full_disk_is_told_and_harms_nothing(database: Database) -> None:
    await add(database, "before", "x" * 20_000)

    async def limit(connection: AsyncConnection, pages: int) -> None:
        await connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

    async with database.read_view() as connection:
        used = (await connection.execute(text("PRAGMA page_count"))).scalar_one()
        await limit(connection, used + 1)
    for key in ("first", "second"):
        with pytest.raises(StorageFull, match="is full"):
            await add(database, key, "x" * 100_000)
    assert await keys(database) == ["before"]
    await database.ready()
    async with database.read_view() as connection:
        await limit(connection, used + 1000)
    await add(database, "after", "x" * 100_000)
    assert await keys(database) == ["after", "before"]


async def test_a_lock_of_another_program_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragstone.store.sql.sqlite.BUSY_SECONDS", 0.1)
    path = tmp_path / "state.sqlite"
    async with open_database(path) as database:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StateUnavailable, match="locked"):
            await add(database, "a")
        both = (keep(database, "b"), keep(database, "c"))
        told = await asyncio.gather(*both, return_exceptions=True)
        assert [type(error) for error in told] == [StateUnavailable] * 2
        await database.ready()
        other.execute("ROLLBACK")
        other.close()
        await add(database, "a")


async def test_closed_missing_and_damaged_are_unavailable(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    async with open_database(path) as database:
        path.unlink()
        with pytest.raises(StateUnavailable, match="gone"):
            await database.ready()
    with pytest.raises(StateUnavailable, match="closed"):
        await add(database, "a")
    with pytest.raises(StateUnavailable, match="closed"):
        await keep(database, "a")
    with pytest.raises(StateUnavailable, match="closed"):
        await keys(database)
    with pytest.raises(StateUnavailable, match="cannot be opened"):
        async with open_database(tmp_path / "none" / "state.sqlite"):
            pass
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(b"This is not a database at all. " * 200)
    with pytest.raises(StateUnavailable, match="damaged"):
        async with open_database(damaged):
            pass


JOBS = """
import asyncio, sys
from pathlib import Path
from ragstone.store.sql.database import open_database
from ragstone.ports.jobs import NewJob
from ragstone.store.sql.jobs import SqlJobs

async def main():
    async with open_database(Path(sys.argv[1])) as database:
        store = SqlJobs(database)
        for number in range(10**9):
            await store.submit(NewJob(f"{number:09}", "ingest", {"text": "x" * 5000}), 10**9)
            print(f"{number:09}", flush=True)

asyncio.run(main())
"""

TRACES = """
import asyncio, sys
from pathlib import Path
from uuid import uuid4
from ragstone.core.records import QuestionTrace
from ragstone.store.sql.database import open_database
from ragstone.store.sql.history import SqlTraces

async def main():
    async with open_database(Path(sys.argv[1])) as database:
        store = SqlTraces(database)

        async def more():
            while True:
                id = uuid4().hex
                await store.keep(QuestionTrace(id, 1e10, "t", "u"), 7)
                print(id, flush=True)

        await asyncio.gather(*(more() for _ in range(8)))

asyncio.run(main())
"""


def write_and_kill(program: str, path: Path, enough: int) -> set[str]:
    """The ids that a program reported before it was killed, at least `enough`."""
    command = [sys.executable, "-c", program, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(enough)]
        process.send_signal(signal.SIGKILL)
        return {line.strip() for line in [*told, *process.stdout] if line.endswith("\n")}


@pytest.mark.parametrize(("program", "table"), [(JOBS, jobs), (TRACES, traces)])
async def test_kill_9_while_writing_loses_nothing_that_was_told(
    tmp_path: Path, program: str, table: Table
) -> None:
    path = tmp_path / "state.sqlite"
    told: set[str] = set()
    for _ in range(2):
        told |= await asyncio.to_thread(write_and_kill, program, path, len(told) + 40)
        async with open_database(path) as database, database.read_view() as connection:
            check = (await connection.execute(text("PRAGMA integrity_check"))).scalar()
            stored = (await connection.execute(select(table.c.id))).scalars().all()
        assert check == "ok"
        assert told <= set(stored)


async def test_the_event_loop_is_not_blocked(database: Database, tmp_path: Path) -> None:
    """While another program holds the lock, the loop goes on."""
    other = sqlite3.connect(tmp_path / "state.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    writer = asyncio.create_task(add(database, "a"))
    ticks = 0
    for _ in range(20):
        await asyncio.sleep(0.005)
        ticks += 1
    assert ticks == 20
    assert not writer.done()
    other.execute("COMMIT")
    other.close()
    await asyncio.wait_for(writer, 15)

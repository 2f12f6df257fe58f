"""Small changes that share a transaction, on SQLite and PostgreSQL."""

import asyncio
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from ragstone.store.sql.database import MAX_TOGETHER, Database, Work
from ragstone.store.sql.tables import settings
from tests.databases import DatabaseOpener


def adding(key: str, log: list[Any] | None = None) -> Work[str]:
    def work(connection: Connection) -> str:
        row = {"scope": "", "key": key, "value": 1, "updated_at": 0.0}
        connection.execute(insert(settings).values(row))
        if log is not None:
            log.append(connection.get_transaction())
        return key

    return work


async def keys(database: Database) -> list[str]:
    found = select(settings.c.key).order_by(settings.c.key)
    return list(await database.read(lambda c: c.execute(found).scalars().all()))


async def test_changes_that_come_at_once_share_few_transactions(state: Database) -> None:
    log: list[Any] = []
    names = [f"{n:03}" for n in range(2 * MAX_TOGETHER)]
    assert await asyncio.gather(*(state.keep(adding(name, log)) for name in names)) == names
    assert await keys(state) == names
    assert len(log) == len(names)
    assert len(set(log)) == 2


async def test_a_change_that_fails_harms_no_other(state: Database) -> None:
    works = [adding("a"), adding("b"), adding("a"), adding("c")]
    told = await asyncio.gather(*(state.keep(work) for work in works), return_exceptions=True)
    assert [told[0], told[1], told[3]] == ["a", "b", "c"]
    assert isinstance(told[2], IntegrityError)
    assert await keys(state) == ["a", "b", "c"]


async def test_what_a_change_did_before_it_failed_is_not_kept(state: Database) -> None:
    def half(connection: Connection) -> None:
        adding("half")(connection)
        raise ValueError("later")

    with pytest.raises(ValueError, match="later"):
        await state.keep(half)
    assert await keys(state) == []


async def test_changes_and_transactions_of_their_own_take_turns(state: Database) -> None:
    async def alone(name: str) -> None:
        await state.write(lambda connection: connection.run_sync(adding(name)))

    together = (state.keep(adding(f"{n:02}")) for n in range(30))
    await asyncio.gather(*together, *(alone(f"alone {n:02}") for n in range(30)))
    assert len(await keys(state)) == 60


async def test_a_caller_who_is_cancelled_leaves_its_change_and_those_of_others(
    state: Database,
) -> None:
    tasks = [asyncio.create_task(state.keep(adding(name))) for name in ("a", "b", "c")]
    await asyncio.sleep(0)
    tasks[1].cancel()
    told = await asyncio.gather(*tasks, return_exceptions=True)
    assert [told[0], told[2]] == ["a", "c"]
    assert isinstance(told[1], asyncio.CancelledError)
    assert await keys(state) == ["a", "b", "c"]


async def test_what_waits_when_the_database_is_closed_is_kept(
    open_state: DatabaseOpener, tmp_path: Path
) -> None:
    names = [f"{n:03}" for n in range(MAX_TOGETHER + 10)]
    async with open_state(tmp_path) as state:
        waiting = [asyncio.create_task(state.keep(adding(name))) for name in names]
        await asyncio.sleep(0)
    assert await asyncio.gather(*waiting) == names
    async with open_state(tmp_path) as state:
        assert await keys(state) == names


async def test_reading_sees_one_state_while_others_write(state: Database) -> None:
    """The first statement of a reader fixes what the second one sees."""
    reader_began, written = Event(), Event()

    def twice(connection: Connection) -> tuple[int, int]:
        first = len(connection.execute(select(settings.c.key)).all())
        reader_began.set()
        assert not in_thread or written.wait(10)
        return first, len(connection.execute(select(settings.c.key)).all())

    in_thread = not state.shared
    reader = asyncio.create_task(state.read(twice))
    await asyncio.to_thread(reader_began.wait, 10)
    await state.keep(adding("a"))
    written.set()
    assert await reader == (0, 0)
    assert await keys(state) == ["a"]

"""A backup that takes long, beside other servers on the same state that ask, write and delete."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from ragstone.backup.back_up import write_backup
from ragstone.backup.restore import restore
from ragstone.core.chunk import Chunk
from ragstone.core.errors import StateUnavailable, UnknownCollection
from ragstone.core.filters import eq
from ragstone.plugins.postgres import leases
from ragstone.plugins.postgres import state as postgres
from tests.backup.house import House, opened
from tests.databases import NAME, Databases
from tests.patience import PATIENCE

HOURS = "The museum opens at nine. Guided tours begin at ten and last an hour."

Two = tuple[House, House]


@pytest.fixture
async def two(postgres_databases: Databases, tmp_path: Path) -> AsyncIterator[Two]:
    """Two servers on one PostgreSQL."""
    name = await asyncio.to_thread(postgres_databases.migrated)
    async with AsyncExitStack() as stack:
        houses = []
        for folder in (tmp_path / "one", tmp_path / "two"):
            folder.mkdir()
            (folder / NAME).write_text(name)
            url = postgres_databases.url(name)
            house = opened(folder, postgres_databases.open, index_url=url)
            houses.append(await stack.enter_async_context(house))
        here, there = houses
        here.write("hours.txt", HOURS)
        here.write("rules.txt", "Dogs must be on a lead. " * 60)
        await here.ingest()
        await here.ingest("second")
        yield here, there


def texts(chunks: dict[str, Chunk]) -> dict[str, str]:
    """What an index must give back to the bit: it may round times."""
    return {id: chunk.text for id, chunk in chunks.items()}


async def ask(house: House) -> None:
    """What a question does with the state for as long as it searches."""
    async with house.catalog.snapshot(await house.collection()):
        await house.chunks()


async def test_given_a_slow_backup_then_nobody_waits_for_it_and_it_is_of_one_moment(
    two: Two, tmp_path: Path
) -> None:
    here, there = two
    before, second = await here.chunks(), await here.collection("second")
    steps = here.steps(write_backup, tmp_path / "backup.zip")
    await anext(steps)  # The state is written, the index is not, until another step is wanted.
    async with asyncio.timeout(PATIENCE):
        there.write("hours.txt", "Changed.")
        there.write("new.txt", "A new exhibition about bridges.")
        await there.ingest()
        [rules] = [
            document
            for document in await there.catalog.documents("default", (await there.collection()).id)
            if document.path.endswith("rules.txt")
        ]
        await there.catalog.retire([rules.id])
        assert not await there.pipeline.purge()
        await there.rebuild("default")
        await there.catalog.drop_collection("default", second.id)
        assert not await there.pipeline.purge()
        for house in two:
            await ask(house)
        assert await there.examine(mend=False)
    assert [item.build for item in await there.catalog.list_unused()] == [1, 1]
    async for step in steps:
        assert step.total is None or step.done <= step.total
    assert await there.pipeline.purge()
    assert (await there.catalog.list_retired(), await there.catalog.list_unused()) == ([], [])
    assert await there.index.count(second) == 0
    assert await there.index.count(replace(await there.collection(), build=1)) == 0
    assert await there.examine() == ()
    (tmp_path / "other").mkdir()
    async with opened(tmp_path / "other") as other:
        await other.restore(tmp_path / "backup.zip")
        assert texts(await other.chunks()) == texts(before)
        assert len(await other.chunks("second")) == len(before)
        assert await other.examine() == ()


async def test_given_a_backup_that_rests_while_it_reads_the_state_then_it_goes_on(
    two: Two,
    postgres_databases: Databases,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, there = two
    monkeypatch.setattr(postgres, "IDLE_SECONDS", 2)
    async with (
        opened(tmp_path / "one", postgres_databases.open) as third,
        third.dump.snapshot() as tables,
    ):
        first = await anext(tables)
        await asyncio.sleep(3)  # Longer than anybody else may rest in a transaction.
        there.write("new.txt", "A new exhibition about bridges.")
        await there.ingest()
        rows = [row async for table, some in tables for row in some if table == "documents"]
    assert first
    assert len(rows) == 4


async def test_given_a_search_that_hangs_beside_it_then_the_backup_is_not_ended_with_it(
    two: Two, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "PATIENCE", 0.5)
    # It hangs too hard to give way by itself, so its session is ended.
    monkeypatch.setattr(leases, "GIVES_WAY", 1_000.0)
    here, there = two
    steps = here.steps(write_backup, tmp_path / "backup.zip")
    await anext(steps)
    with pytest.raises(StateUnavailable, match="during the search"):
        async with asyncio.timeout(PATIENCE), here.catalog.snapshot():
            there.write("new.txt", "A new exhibition about bridges.")
            await there.ingest()
    assert [step async for step in steps][-1].finished


async def test_given_a_connection_that_breaks_off_then_the_backup_says_so_and_nothing_is_left(
    two: Two, postgres_databases: Databases, tmp_path: Path
) -> None:
    here, there = two
    file = tmp_path / "backup.zip"
    steps = here.steps(write_backup, file)
    await anext(steps)

    def end() -> None:
        with psycopg.connect(postgres_databases.url((here.data / NAME).read_text())) as one:
            held = f"SELECT pg_terminate_backend(pid) FROM pg_locks WHERE classid={leases.KEEPING}"
            one.execute(held.encode())

    await asyncio.to_thread(end)
    with pytest.raises(StateUnavailable, match="Try again"):
        async for _ in steps:
            pass
    assert not file.exists()
    assert await there.pipeline.purge()


async def test_given_a_backup_that_is_given_up_then_what_it_kept_is_deleted_by_the_next(
    two: Two, tmp_path: Path
) -> None:
    here, there = two
    steps = here.steps(write_backup, tmp_path / "backup.zip")
    await anext(steps)
    there.write("hours.txt", "Changed.")
    await there.ingest()
    collection = await there.collection()
    [(_, old)] = await there.catalog.list_retired()
    assert await there.index.count(collection, eq("revision", old))
    await steps.aclose()
    deadline = time.monotonic() + PATIENCE
    while await there.catalog.is_kept() and time.monotonic() < deadline:
        await asyncio.sleep(0.02)  # PostgreSQL sees the end of the connection a little later.
    assert await there.pipeline.purge()
    assert await there.index.count(collection, eq("revision", old)) == 0


async def test_given_a_collection_that_was_dropped_while_it_is_kept_then_nobody_searches_it(
    two: Two,
) -> None:
    here, there = two
    second = await here.collection("second")
    async with here.catalog.keep_all():
        await there.catalog.drop_collection("default", second.id)
        assert not await there.pipeline.purge()
        assert await here.index.count(second)
        for house in two:
            with pytest.raises(UnknownCollection, match="second"):
                async with house.catalog.snapshot(second):
                    pass


async def test_given_a_restore_while_a_backup_is_written_then_both_are_whole(
    two: Two, tmp_path: Path
) -> None:
    here, there = two
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    before = await here.chunks()
    await here.back_up(first)
    there.write("hours.txt", "Changed.")
    await there.ingest()
    assert await there.pipeline.purge()
    changed = await there.chunks()
    steps = here.steps(write_backup, second)
    await anext(steps)
    async with asyncio.timeout(PATIENCE):
        for _ in range(2):
            async for _ in there.steps(restore, first):
                pass
    assert await here.chunks() == before
    async for _ in steps:
        pass
    assert await there.pipeline.purge()
    assert await here.chunks() == before
    await here.restore(second)
    assert await there.chunks() == changed

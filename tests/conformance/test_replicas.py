"""Several servers on one PostgreSQL: what one commits holds in the others at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg.sql import SQL

from ragstone.core.errors import StateUnavailable, UnknownCollection
from ragstone.plugins.postgres import leases
from ragstone.store.sql.catalog import SqlCatalog
from tests.conformance.test_catalog import DOC, LAW, hidden, publish, purge
from tests.databases import NAME, Databases

pytestmark = pytest.mark.slow


@pytest.fixture
async def two(
    postgres_databases: Databases, tmp_path: Path
) -> AsyncIterator[tuple[SqlCatalog, SqlCatalog]]:
    """Two servers, of which the first has made the collection."""
    async with AsyncExitStack() as stack:
        opened = [
            await SqlCatalog.open(
                await stack.enter_async_context(postgres_databases.open(tmp_path))
            )
            for _ in range(2)
        ]
        await opened[0].put_collection(LAW)
        yield opened[0], opened[1]


Two = tuple[SqlCatalog, SqlCatalog]


def sessions(databases: Databases, folder: Path, do: str) -> None:
    """Do something to every session that holds a lease."""
    with psycopg.connect(databases.url((folder / NAME).read_text()), autocommit=True) as one:
        one.execute(f"SELECT {do}(pid) FROM pg_locks WHERE classid = {leases.SEARCHING}".encode())


async def test_what_one_server_publishes_and_forgets_the_other_sees_at_once(two: Two) -> None:
    here, there = two
    assert await there.collection("acme", "law") == LAW
    version = await here.begin(DOC)
    assert await hidden(there) == {"d1@1"}
    await here.publish(DOC, version)
    assert await hidden(there) == frozenset()
    await there.retire(["d1"])
    assert await hidden(here) == {"d1@1"}
    assert await here.documents("acme") == []
    assert await purge(here) == ["d1@1"]
    await there.drop_collection("acme", "c1")
    assert await here.collections() == []


async def test_what_others_hide_and_what_is_shown_is_not_read_for_a_search(
    two: Two, postgres_databases: Databases, tmp_path: Path
) -> None:
    here, _ = two
    other = replace(LAW, id="c2", name="other")
    await here.put_collection(other)
    for home, prefix in ((LAW, "l"), (other, "o")):
        some = [
            replace(DOC, id=f"{prefix}{n}", path=f"/{n}", collection=home.id) for n in range(2_000)
        ]
        begun = await here.begin_all(some)
        pairs = zip(some, begun, strict=True)
        await here.publish_all([replace(item, version=now.version) for item, now in pairs])
    await here.retire([f"o{n}" for n in range(2_000)])
    assert len(await hidden(here, other)) == 2_000
    assert await hidden(here, LAW) == frozenset()
    place = leases.OF_COLLECTION.format(LAW.tenant, LAW.id)
    with psycopg.connect(postgres_databases.url((tmp_path / NAME).read_text())) as one:
        one.execute("ANALYZE revisions")
        asked = SQL("EXPLAIN (ANALYZE, FORMAT JSON) ") + SQL(leases.HIDDEN) + place
        row = one.execute(asked).fetchone()
    assert row is not None
    [plan] = [found["Plan"] for found in row[0]]
    assert "ix_revisions_hidden" in str(plan)
    assert plan.get("Rows Removed by Filter", 0) == 0


async def test_another_name_holds_in_both_at_once(two: Two) -> None:
    here, there = two
    await publish(here, DOC)
    renamed = await here.rename_collection(LAW, "statutes")
    assert await there.collection("acme", "law") is None
    assert await there.collection("acme", "statutes") == renamed
    assert await there.names("acme", ["c1"]) == {"c1": "statutes"}
    with pytest.raises(UnknownCollection):
        await there.rename_collection(LAW, "acts")
    ids = await asyncio.gather(*(item.identity("acme", "law") for item in (*two, *two)))
    assert len(set(ids)) == 1
    await there.put_collection(replace(LAW, id=ids[0]))
    assert (await here.collection("acme", "law")) == replace(LAW, id=ids[0])
    assert [document.id for document in await here.documents("acme", ids[0])] == []


async def test_editions_are_the_same_in_both_and_change_in_both(two: Two) -> None:
    here, there = two
    stamps = []
    for number in range(3):
        one = replace(
            DOC,
            id=f"d{number}",
            path=f"/{number}",
            allowed=(f"user:{number}",),
            own_readers=(f"user:{number}",),
        )
        await publish(two[number % 2], one)
        both = [await catalog.edition("acme", "c1") for catalog in two]
        assert both[0] == both[1]
        assert both[0] is not None
        assert both[0].readers == {f"user:{n}" for n in range(number + 1)}
        stamps.append(both[0].stamp)
    await here.retire(["d0"])
    gone = await there.edition("acme", "c1")
    assert gone is not None
    assert len({*stamps, gone.stamp}) == 4


@pytest.mark.parametrize("step", ["begin", "purge"])
async def test_a_search_in_one_server_is_waited_for_in_the_other(two: Two, step: str) -> None:
    here, there = two
    await publish(here, DOC)
    await here.retire(["d1"])
    async with there.snapshot() as names:
        assert names == {"d1@1"}
        waiting = asyncio.create_task(here.begin(DOC) if step == "begin" else purge(here))  # type: ignore[arg-type]
        done, _ = await asyncio.wait([waiting], timeout=0.3)
        assert not done
        async with there.snapshot():
            pass
    await asyncio.wait_for(waiting, 5)


async def test_a_server_that_dies_is_not_waited_for(
    two: Two, postgres_databases: Databases, tmp_path: Path
) -> None:
    here, there = two
    with pytest.raises(StateUnavailable, match="during the search"):
        async with there.snapshot():
            begun = asyncio.create_task(here.begin(DOC))
            await asyncio.sleep(0.1)
            assert not begun.done()
            await asyncio.to_thread(sessions, postgres_databases, tmp_path, "pg_terminate_backend")
            assert await asyncio.wait_for(begun, 5) == 1
    assert await hidden(there) == {"d1@1"}


async def test_a_search_of_a_server_that_stands_still_is_thrown_out_and_finds_that_out(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "PATIENCE", 0.2)
    monkeypatch.setattr(leases, "GIVES_WAY", 1_000.0)
    here, there = two
    with pytest.raises(StateUnavailable, match="during the search"):
        async with there.snapshot():
            assert await asyncio.wait_for(here.begin(DOC), 5) == 1


async def test_a_search_that_hangs_fails_alone_and_others_of_its_server_go_on(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "PATIENCE", 4.0)
    monkeypatch.setattr(leases, "LOOK_SECONDS", 0.05)
    here, there = two
    hung, others = asyncio.Event(), asyncio.Event()

    async def hangs() -> None:
        async with there.snapshot():
            hung.set()
            await others.wait()

    async def search() -> None:
        async with there.snapshot() as names:
            await asyncio.sleep(0.2)
            assert len(names) <= 1

    hanging = asyncio.create_task(hangs())
    await hung.wait()
    begun = asyncio.create_task(here.begin(DOC))
    while not begun.done():
        await asyncio.gather(*(search() for _ in range(5)))
    assert begun.result() == 1
    others.set()
    with pytest.raises(StateUnavailable, match="took so long"):
        await hanging
    await search()


async def test_a_long_search_that_nobody_waits_for_is_let_be(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "PATIENCE", 0.1)
    monkeypatch.setattr(leases, "LOOK_SECONDS", 0.02)
    async with two[1].snapshot():
        await asyncio.sleep(0.4)


async def test_cancelled_searches_leave_nothing_to_wait_for(two: Two) -> None:
    here, there = two

    async def search() -> None:
        async with there.snapshot():
            await asyncio.sleep(0.001)

    for number in range(60):
        task = asyncio.create_task(search())
        await asyncio.sleep(number / 20_000)
        task.cancel()
        await asyncio.wait([task])
    assert await asyncio.wait_for(here.begin(DOC), 5) == 1


async def test_a_cancelled_wait_for_a_collection_does_not_keep_it(two: Two) -> None:
    here, there = two

    async def work() -> None:
        async with there.alone("acme", "c1"):
            await asyncio.sleep(0.001)

    for number in range(200):
        task = asyncio.create_task(work())
        await asyncio.sleep(number / 60_000)
        task.cancel()
        await asyncio.wait([task])
    async with asyncio.timeout(5), here.alone("acme", "c1"):
        pass


async def test_one_ingest_of_a_collection_at_a_time_in_both(two: Two) -> None:
    here, there = two
    order: list[str] = []

    async def work(catalog: SqlCatalog, name: str) -> None:
        async with catalog.alone("acme", "c1"):
            order.append(name)
            await asyncio.sleep(0.05)
            order.append(name)

    async with here.alone("acme", "tax"):
        await asyncio.gather(work(here, "a"), work(there, "b"), work(there, "c"))
    assert order[0::2] == order[1::2]


async def test_a_server_that_joins_leaves_the_writers_of_others_alone(
    two: Two, postgres_databases: Databases, tmp_path: Path
) -> None:
    here, _ = two
    version = await here.begin(DOC)
    await here.retire(["d1"])
    async with postgres_databases.open(tmp_path) as database:
        joined = await SqlCatalog.open(database)
        await purge(joined)
        assert await hidden(joined) == {"d1@1"}
    await here.publish(DOC, version)
    assert await purge(here) == ["d1@1"]


async def test_text_that_postgresql_cannot_hold_comes_back_as_it_was(two: Two) -> None:
    here, there = two
    odd = replace(
        DOC, title="a\0b", allowed=("user:\0",), own_readers=("user:\0",), metadata={"k\0": "\0"}
    )
    await publish(here, odd)
    stored = await there.document("d1")
    assert stored is not None
    assert (stored.title, stored.allowed, stored.metadata) == (
        "a\0b",
        ("user:\0",),
        {"k\0": "\0"},
    )

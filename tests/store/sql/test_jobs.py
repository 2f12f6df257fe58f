"""Jobs as the processes that share a database see them."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ragstone.core.errors import QueueFull
from ragstone.ports.jobs import Job, NewJob
from ragstone.store.sql.database import Database, open_database
from ragstone.store.sql.jobs import SqlJobs
from ragstone.store.sql.parts import SqlWorkers

MOST = 1000


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with open_database(tmp_path / "state.sqlite") as opened:
        yield opened


@pytest.fixture
def store(database: Database) -> SqlJobs:
    return SqlJobs(database)


async def claimed(store: SqlJobs, id: str, worker: str = "w1") -> Job:
    """A job of this id that `worker` has begun."""
    await store.submit(NewJob(id, "ask", {}), MOST)
    (job,) = await store.claim(worker, {"ask": 1})
    return job


async def test_a_job_from_beginning_to_end(store: SqlJobs, tmp_path: Path) -> None:
    assert await store.get("j1") is None
    new = NewJob("j1", "ask", {"question": "ä"}, "acme", "eva", ("b", "a"), "docs", 3)
    assert (await store.submit(new, MOST)).state == "queued"
    (job,) = await store.claim("w1", {"ask": 1, "ingest": 1})
    assert (job.state, job.worker, job.attempts, job.groups) == ("running", "w1", 1, ["a", "b"])
    await store.report(job, {"share": 0.5})
    async with open_database(tmp_path / "state.sqlite") as other:
        seen = await SqlJobs(other).get("j1")
    assert seen is not None
    assert (seen.request, seen.progress) == ({"question": "ä"}, {"share": 0.5})
    assert await store.finish(job, "done", time.time() + 60, result={"answer": "42"})
    ended = await store.get("j1")
    assert ended is not None
    assert (ended.state, ended.result) == ("done", {"answer": "42"})
    assert await store.list_unfinished(["ask"]) == []


async def test_what_is_said_of_a_job_counts_only_from_who_has_it(store: SqlJobs) -> None:
    until = time.time() + 60
    lost = await claimed(store, "lost")
    await store.requeue_orphans(["w1"], 5, until)
    (job,) = await store.claim("w2", {"ask": 1})
    assert not await store.finish(lost, "failed", until, error="Late.")
    assert not await store.again(lost, 0.0, "Late.", "late")
    await store.report(lost, {"share": 0.1})
    assert await store.list_claimed("w2") == {"lost": 2}
    assert await store.finish(job, "done", until, result={})
    assert not await store.finish(job, "done", until, result={"twice": True})
    ended = await store.get("lost")
    assert ended is not None
    assert (ended.state, ended.result, ended.progress, ended.deaths) == ("done", {}, {}, 1)


async def test_an_attempt_that_was_cancelled_cannot_end_the_next_one_of_the_same_process(
    store: SqlJobs,
) -> None:
    first = await claimed(store, "j")
    await store.move("j", ["running"], "cancelled")
    await store.move("j", ["cancelled"], "queued")
    (second,) = await store.claim("w1", {"ask": 1})
    assert not await store.finish(first, "done", time.time() + 60)
    assert await store.finish(second, "done", time.time() + 60)


async def test_jobs_are_begun_by_priority_then_by_age_when_they_are_due(store: SqlJobs) -> None:
    for id, priority in (("c", 1), ("b", 0), ("a", 0), ("later", 0)):
        await store.submit(NewJob(id, "ask", {}, priority=priority), MOST)
    await store.move("later", ["queued"], "queued", due_at=time.time() + 100)
    begun = [job.id for job in await store.claim("w1", {"ask": 2})]
    assert begun == ["b", "a"]
    assert [job.id for job in await store.claim("w1", {"ask": 2})] == ["c"]
    assert (await store.next_due(["ask"]) or 0) > time.time() + 90
    assert await store.next_due(["ingest"]) is None


async def test_who_has_the_fewest_running_is_served_first_then_by_priority_and_age(
    store: SqlJobs,
) -> None:
    for number in range(6):
        new = NewJob(f"many{number}", "ask", {}, "many", priority=0)
        await store.submit(new, MOST)
    for id, tenant, priority in (("few0", "few", 9), ("few1", "few", 5), ("one0", "one", 7)):
        await store.submit(NewJob(id, "ask", {}, tenant, priority=priority), MOST)

    async def begun(free: int) -> list[str]:
        return [job.id for job in await store.claim("w1", {"ask": free})]

    assert await begun(2) == ["many0", "few1"]
    assert await begun(1) == ["one0"]
    # All have one.
    assert await begun(3) == ["many1", "few0", "many2"]
    assert await begun(9) == ["many3", "many4", "many5"]


async def test_ten_files_do_not_wait_for_the_thousands_of_another_tenant(store: SqlJobs) -> None:
    """Each tenant's collections are one, so that of the crowd one alone may begin."""
    for number in range(50):
        big = NewJob(f"big{number}", "ingest", {}, "big", collection=f"c{number}")
        await store.submit(big, MOST)
    assert len(await store.claim("w1", {"ingest": 2})) == 2
    await store.submit(NewJob("small", "ingest", {}, "small", collection="c0"), MOST)
    await store.submit(NewJob("next", "ingest", {}, "small", collection="c0"), MOST)
    begun = await store.claim("w2", {"ingest": 2})
    # The second of the small tenant waits for the first, which changes the same collection.
    assert [job.id for job in begun] == ["small", "big2"]


async def test_a_paused_kind_waits(store: SqlJobs) -> None:
    await store.submit(NewJob("j", "ask", {}), MOST)
    await store.pause_kind("ask", True)
    assert await store.claim("w1", {"ask": 1}) == []
    assert await store.next_due(["ask"]) is None
    assert await store.list_paused_kinds() == {"ask"}
    await store.pause_kind("ask", False)
    assert await store.next_due(["ask"]) == 0.0
    assert len(await store.claim("w1", {"ask": 1})) == 1


async def test_jobs_that_change_a_collection_wait_for_each_other(store: SqlJobs) -> None:
    for id, kind, collection in (
        ("a1", "ingest", "a"),
        ("a2", "ingest", "a"),
        ("a3", "delete", "a"),
        ("b1", "ingest", "b"),
    ):
        await store.submit(NewJob(id, kind, {}, collection=collection), MOST)
    free = {"ingest": 5, "delete": 5}
    first = await store.claim("w1", free)
    assert [job.id for job in first] == ["a1", "b1"]
    assert await store.claim("w2", free) == []
    assert await store.next_due(list(free)) is None
    await store.finish(first[0], "done", time.time() + 60)
    assert [job.id for job in await store.claim("w2", free)] == ["a2"]


async def test_the_same_id_is_one_job_until_it_failed_or_is_forgotten(store: SqlJobs) -> None:
    new = NewJob("j", "ask", {"n": 1})
    first = await store.submit(new, MOST)
    assert await store.submit(NewJob("j", "ask", {"n": 2}), MOST) == first
    (job,) = await store.claim("w1", {"ask": 1})
    await store.finish(job, "done", time.time() + 60, result={"n": 1})
    assert (await store.submit(new, MOST)).result == {"n": 1}
    await store.move("j", ["done"], "failed")
    assert (await store.submit(new, MOST)).state == "queued"
    (job,) = await store.claim("w1", {"ask": 1})
    await store.finish(job, "done", time.time() - 1, result={"n": 1})
    assert await store.get("j") is None
    assert (await store.submit(new, MOST)).result is None


async def test_an_equal_request_of_the_same_owner_is_one_job_while_it_goes_on(
    store: SqlJobs,
) -> None:
    first = await store.submit(NewJob("1", "ingest", {"paths": ["/a"]}), MOST, same=True)
    again = await store.submit(NewJob("2", "ingest", {"paths": ["/a"]}), MOST, same=True)
    other = await store.submit(NewJob("3", "ingest", {"paths": ["/b"]}), MOST, same=True)
    theirs = NewJob("4", "ingest", {"paths": ["/a"]}, groups=("staff",))
    assert (again.id, other.id) == (first.id, "3")
    assert (await store.submit(theirs, MOST, same=True)).id == "4"
    await store.move("1", ["queued"], "cancelled")
    anew = await store.submit(NewJob("5", "ingest", {"paths": ["/a"]}), MOST, same=True)
    assert anew.id == "5"


async def test_a_full_queue_refuses_and_says_when_to_try_again(store: SqlJobs) -> None:
    for n in range(2):
        await store.submit(NewJob(f"j{n}", "ask", {}), 2)
    with pytest.raises(QueueFull, match="Try again later") as caught:
        await store.submit(NewJob("j2", "ask", {}), 2)
    assert (caught.value.status, caught.value.retry_after) == (429, 5.0)
    assert (await store.submit(NewJob("j1", "ask", {}), 2)).id == "j1"
    assert (await store.submit(NewJob("i", "ingest", {}), 2)).id == "i"


async def test_what_dead_workers_had_is_queued_again_until_it_is_hopeless(store: SqlJobs) -> None:
    until = time.time() + 60
    for death in (1, 2):
        await claimed(store, "j") if death == 1 else await store.claim("w1", {"ask": 1})
        assert await store.orphans({"w2"}) == {"w1"}
        assert await store.orphans({"w1"}) == set()
        await store.requeue_orphans(["w1"], 2, until)
        job = await store.get("j")
        assert job is not None
        assert job.deaths == death
        assert job.state == ("queued" if death == 1 else "failed")
    assert "died 2 times" in job.error


async def test_listing_shows_a_tenants_jobs_newest_first(store: SqlJobs) -> None:
    for id, tenant, user in (("1", "a", "eva"), ("2", "a", "max"), ("3", "b", "eva")):
        await store.submit(NewJob(id, "ask", {}, tenant, user), MOST)
    assert [j.id for j in await store.list_all("a", None, None, 10)] == ["2", "1"]
    assert [j.id for j in await store.list_all("a", None, None, 1)] == ["2"]
    assert [j.id for j in await store.list_all("a", None, None, 10, "eva")] == ["1"]
    assert await store.list_all("a", "ingest", None, 10) == []
    assert await store.list_all("a", None, "done", 10) == []
    assert await store.counts() == {("ask", "queued"): 3}


async def test_ended_jobs_are_forgotten(store: SqlJobs) -> None:
    for id in ("kept", "over"):
        job = await claimed(store, id)
        await store.finish(job, "done", time.time() + (60 if id == "kept" else -1))
    await store.sweep()
    assert [job.id for job in await store.list_all("default", None, None, 10)] == ["kept"]
    assert await store.forget("default", ["failed"], time.time()) == 0
    assert await store.forget("other", ["done"], time.time()) == 0
    assert await store.forget("default", ["done"], time.time() - 100) == 0
    assert await store.forget("default", ["done"], time.time()) == 1
    assert await store.list_all("default", None, None, 10) == []


async def test_workers_see_each_other(database: Database) -> None:
    workers = SqlWorkers(database)
    await workers.enter("w1", "here")
    await workers.enter("w2", "there")
    assert await workers.beat("w1")
    assert await workers.beats() == {"w1": 1, "w2": 0}
    await workers.leave("w1", "unknown")
    assert not await workers.beat("w1")
    assert await workers.beats() == {"w2": 0}


@pytest.mark.parametrize(
    ("waiting", "place", "awaited"),
    [
        (NewJob("w", "ingest", {}, "acme", collection="docs"), False, True),
        (NewJob("w", "delete", {}, "acme", collection="docs"), False, True),
        (NewJob("w", "ingest", {}, "acme", collection="docs", priority=9), False, False),
        (NewJob("w", "ingest", {}, "acme", collection="other"), False, False),
        (NewJob("w", "ingest", {}, "acme", collection="other"), True, True),
        (NewJob("w", "ingest", {}, "idle", collection="docs"), True, True),
        (NewJob("w", "ingest", {}, "busy", collection="docs"), True, False),
    ],
    ids=["its collection", "another kind", "a later priority", "another collection", "its place",
         "a tenant with fewer", "a tenant with more"],
)  # fmt: skip
async def test_a_job_is_awaited_by_who_would_get_what_it_has(
    store: SqlJobs, waiting: NewJob, place: bool, awaited: bool
) -> None:
    for number in range(2):
        await store.submit(
            NewJob(f"b{number}", "ingest", {}, "busy", collection=f"b{number}"), MOST
        )
    await store.submit(NewJob("long", "ingest", {}, "acme", collection="docs"), MOST)
    running = await store.claim("w1", {"ingest": 3})
    await store.submit(waiting, MOST)

    [long] = [job for job in running if job.id == "long"]

    assert await store.is_awaited(long, place, begun_too=False) == awaited


async def test_a_job_that_stepped_aside_goes_behind_those_that_were_there(store: SqlJobs) -> None:
    for name in ("long", "short"):
        await store.submit(NewJob(name, "ingest", {}, collection="docs"), MOST)
    [long] = await store.claim("w1", {"ingest": 1})
    await store.again(long, time.time(), "", "", failed=False)
    assert await store.has_unfinished_ingest("default", "docs")

    [next_one] = await store.claim("w1", {"ingest": 1})

    assert next_one.id == "short"
    assert not await store.is_awaited(next_one, False, begun_too=False)
    assert await store.is_awaited(next_one, False, begun_too=True)

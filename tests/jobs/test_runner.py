"""Jobs run, fail, are stopped and go on, with the state in a file."""

import asyncio
import contextlib
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.errors import (
    EmptyQuestion,
    ModelUnavailable,
    StorageFull,
    TooManyRequests,
)
from ragstone.jobs import ending
from ragstone.jobs.runner import Report
from ragstone.ports.jobs import (
    EMBED_PART,
    PAUSED,
    QUEUED,
    READ_PART,
    RUNNING,
    Job,
    NewJob,
    NewPart,
)
from ragstone.store.sql.database import open_database
from ragstone.store.sql.jobs import SqlJobs
from ragstone.store.sql.parts import SqlParts, SqlWorkers
from tests.jobs.adapters import EVA, Counting, Queue, queue_in
from tests.patience import PATIENCE

pytestmark = pytest.mark.slow


class Failing:
    """Work that raises `error` so many times before it succeeds."""

    def __init__(self, error: Exception, times: int) -> None:
        self.error = error
        self.left = times
        self.when: list[float] = []

    async def __call__(self, job: Job, report: Report) -> dict[str, Any]:
        self.when.append(time.monotonic())
        if self.left:
            self.left -= 1
            raise self.error
        return {"attempt": job.attempts}


async def test_given_a_job_when_watched_then_progress_comes_and_ends(tmp_path: Path) -> None:
    async with queue_in(tmp_path, {"ask": Counting(0.05)}) as queue:
        job = await queue.submit(to=5)
        assert job.state == "queued"
        seen = [view async for view in queue.jobs.watch(EVA, job.id)]
    shares = [v.progress["share"] for v in seen if v.progress["share"] is not None]
    assert shares == sorted(shares)
    assert len(shares) > 3
    assert any(v.eta and 0 < v.eta < 1 for v in seen if v.state == "running")
    last = seen[-1]
    assert (last.state, last.result, last.attempts) == ("done", {"counted": 5}, 1)
    assert (last.progress["share"], last.eta) == (1.0, None)


async def test_a_job_begins_at_once_and_not_when_the_queue_is_next_looked_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 60 s between two looks, ten jobs one after the other would take five minutes."""
    monkeypatch.setattr("ragstone.jobs.runner.POLL_SECONDS", 60)
    async with queue_in(tmp_path, {"ask": Counting(0)}) as queue:
        await queue.runner.start()
        async with asyncio.timeout(120):
            states = [(await queue.ended((await queue.submit()).id)).state for _ in range(10)]
    assert states == ["done"] * 10


async def test_of_one_kind_so_many_run_at_a_time_and_by_priority(tmp_path: Path) -> None:
    count = Counting(0.1)
    settings = {"ask": 2}
    async with queue_in(tmp_path, {"ask": count}, settings) as queue:
        await queue.jobs.pause_kind("ask")
        low = [await queue.submit(n=n) for n in range(3)]
        high = await queue.jobs.submit("ask", {}, principal=EVA, priority=0, id="high")
        await queue.store.move(low[0].id, ["queued"], "queued", priority=7)
        await asyncio.sleep(0.3)
        assert count.runs == []
        await queue.jobs.resume_kind("ask")
        for job in (*low, high):
            await queue.ended(job.id)
    assert count.most == 2
    assert count.runs[-1] == low[0].id


async def test_two_jobs_that_change_one_collection_take_turns(tmp_path: Path) -> None:
    count = Counting(0.05)
    async with queue_in(tmp_path, {"ingest": count, "delete": count}) as queue:
        jobs = [
            await queue.submit("ingest", collection="a", n=1),
            await queue.submit("ingest", collection="a", n=2),
            await queue.submit("delete", collection="a"),
        ]
        for job in jobs:
            await queue.ended(job.id)
        assert count.most == 1
        both = [await queue.submit("ingest", collection=name, to=5) for name in "ab"]
        for job in both:
            await queue.ended(job.id)
    assert count.most == 2


async def test_an_error_that_may_pass_is_tried_again_later_and_later(tmp_path: Path) -> None:
    work = Failing(ModelUnavailable("The model is gone."), 2)
    async with queue_in(tmp_path, {"ask": work}) as queue:
        last = await queue.ended((await queue.submit()).id)
    assert (last.state, last.result, last.error) == ("done", {"attempt": 3}, "")
    first, second = work.when[1] - work.when[0], work.when[2] - work.when[1]
    assert first >= 0.5 * ending.RETRY_SECONDS
    assert second >= ending.RETRY_SECONDS


async def test_given_a_limit_then_the_job_waits_for_it_and_never_fails(tmp_path: Path) -> None:
    work = Failing(TooManyRequests("Used up.", retry_after=0.1), times=ending.RETRIES + 3)
    async with queue_in(tmp_path, {"ask": work}) as queue:
        job = await queue.submit()
        ended = await queue.ended(job.id)
        known = await queue.store.get(job.id)
    assert (ended.state, ended.attempts) == ("done", ending.RETRIES + 4)
    assert known is not None
    assert known.failures == 0
    assert all(later - earlier > 0.09 for earlier, later in pairwise(work.when))


@pytest.mark.parametrize(
    ("error", "code", "message", "attempts"),
    [
        (ModelUnavailable("The model is gone."), "model_unavailable", "The model is gone.", 3),
        (EmptyQuestion(), "empty_question", "The question is empty.", 1),
        (ZeroDivisionError(), "error", "the log says what", 1),
        (ExceptionGroup("x", [EmptyQuestion()]), "empty_question", "is empty", 1),
        (asyncio.CancelledError(), "error", "the log says what", 1),
    ],
)
async def test_what_fails_for_good_is_a_dead_letter_that_can_be_retried(
    tmp_path: Path, error: Exception, code: str, message: str, attempts: int
) -> None:
    work = Failing(error, attempts)
    async with queue_in(tmp_path, {"ask": work}) as queue:
        last = await queue.ended((await queue.submit()).id)
        assert (last.state, last.code, last.attempts) == ("failed", code, attempts)
        assert message in last.error
        await queue.jobs.retry(EVA, last.id)
        again = await queue.ended(last.id)
    assert (again.state, again.attempts, again.error) == ("done", attempts + 1, "")


async def test_a_running_job_that_is_cancelled_stops_at_once_for_good(tmp_path: Path) -> None:
    count = Counting(30)
    async with queue_in(tmp_path, {"ask": count}) as queue:
        job = await queue.submit()
        await count.begun()
        assert (await queue.jobs.cancel(EVA, job.id)).state == "cancelled"
        async with asyncio.timeout(PATIENCE):
            while count.together:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        assert (await queue.ended(job.id)).state == "cancelled"
        count.pause = 0.01
        await queue.jobs.retry(EVA, job.id)
        assert (await queue.ended(job.id)).state == "done"
    assert len(count.runs) == 2


async def test_a_job_that_waits_is_cancelled_without_ever_beginning(tmp_path: Path) -> None:
    count = Counting(0.3)
    async with queue_in(tmp_path, {"ask": count}, {"ask": 1}) as queue:
        first, second = await queue.submit(), await queue.submit()
        await queue.jobs.cancel(EVA, second.id)
        await queue.ended(first.id)
        await asyncio.sleep(0.1)
    assert count.runs == [first.id]


async def test_a_paused_job_goes_on_when_it_is_resumed(tmp_path: Path) -> None:
    count = Counting(30)
    async with queue_in(tmp_path, {"ask": count}) as queue:
        job = await queue.submit()
        await count.begun()
        assert (await queue.jobs.pause(EVA, job.id)).state == "paused"
        count.pause = 0.01
        await asyncio.sleep(0.2)
        assert len(count.runs) == 1
        await queue.jobs.resume(EVA, job.id)
        assert (await queue.ended(job.id)).state == "done"


async def test_given_a_stop_in_the_middle_then_the_next_start_runs_the_job_again(
    tmp_path: Path,
) -> None:
    count = Counting(30)
    async with queue_in(tmp_path, {"ask": count}) as queue:
        job = await queue.submit()
        await count.begun()
    count.pause = 0.01
    for _ in range(2):
        async with queue_in(tmp_path, {"ask": count}) as queue:
            await queue.runner.start()
            assert (await queue.ended(job.id)).attempts == 2
            await asyncio.sleep(0.1)
    assert len(count.runs) == 2


@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.1, 0.3])
async def test_a_stop_does_not_wait_for_jobs_that_are_about_to_begin(
    tmp_path: Path, seconds: float
) -> None:
    settings = {"ask": 3}
    async with asyncio.timeout(60):
        async with queue_in(tmp_path, {"ask": Counting(0)}, settings) as queue:
            jobs = [await queue.submit(to=1, n=n) for n in range(3)]
            await asyncio.sleep(seconds)
        async with queue_in(tmp_path, {"ask": Counting(0)}, settings) as queue:
            await queue.runner.start()
            states = [(await queue.ended(job.id)).state for job in jobs]
    assert states == ["done"] * 3


async def test_what_can_never_be_recorded_ends_the_watch_and_the_process_and_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: Any, **__: Any) -> bool:
        raise StorageFull("The disk is full.")

    monkeypatch.setattr(ending, "PATIENCE_SECONDS", 0.2)
    count = Counting()
    async with asyncio.timeout(PATIENCE):
        async with queue_in(tmp_path, {"ask": count}) as queue:
            monkeypatch.setattr(queue.store, "finish", refuse)
            job = await queue.submit()
            with pytest.raises(StorageFull):
                async for _ in queue.jobs.watch(EVA, job.id):
                    pass
        async with queue_in(tmp_path, {"ask": count}) as queue:
            await queue.runner.start()
            assert (await queue.ended(job.id)).state == "done"
    assert len(count.runs) == 2


async def test_what_a_dead_process_left_is_begun_at_the_next_start(tmp_path: Path) -> None:
    async with open_database(tmp_path / "state.sqlite") as database:
        store = SqlJobs(database)
        for id in ("waiting", "begun"):
            await store.submit(NewJob(id, "ask", {}, user="eva", groups=("staff",)), 10)
        await store.claim("a dead process", {"ask": 1})
    count = Counting()
    async with queue_in(tmp_path, {"ask": count}) as queue:
        await queue.runner.start()
        assert {(await queue.ended(id)).state for id in ("waiting", "begun")} == {"done"}
    assert sorted(count.runs) == ["begun", "waiting"]


async def test_a_job_that_kills_its_process_again_and_again_is_given_up(tmp_path: Path) -> None:
    async with open_database(tmp_path / "state.sqlite") as database:
        store = SqlJobs(database)
        await store.submit(NewJob("poison", "ask", {}, user="eva", groups=("staff",)), 10)
        for _ in range(3):
            assert await store.claim("dead", {"ask": 1})
            await store.requeue_orphans(["dead"], 3, time.time() + 100)
    count = Counting()
    async with queue_in(tmp_path, {"ask": count}) as queue:
        await queue.runner.start()
        last = await queue.ended("poison")
        assert (last.state, last.code) == ("failed", "worker_died")
        assert "died 3 times" in last.error
        await queue.jobs.retry(EVA, "poison")
        assert (await queue.ended("poison")).state == "done"


@pytest.mark.parametrize(("deaths", "state"), [(1, "failed"), (2, "done")])
async def test_a_job_is_given_up_after_so_many_deaths(
    tmp_path: Path, deaths: int, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_database(tmp_path / "state.sqlite") as database:
        store = SqlJobs(database)
        await store.submit(NewJob("poison", "ask", {}, user="eva", groups=("staff",)), 10)
        assert await store.claim("dead", {"ask": 1})
        await SqlWorkers(database).enter("dead", "here")
    monkeypatch.setattr("ragstone.jobs.runner.DEATHS", deaths)
    async with queue_in(tmp_path, {"ask": Counting()}) as queue:
        await queue.runner.start()
        assert (await queue.ended("poison")).state == state


async def test_results_are_forgotten_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragstone.jobs.ending.ANSWER_SECONDS", 2)
    async with queue_in(tmp_path, {"ask": Counting(), "ingest": Counting()}) as queue:
        answer, other = await queue.submit(), await queue.submit("ingest")
        assert (await queue.ended(answer.id)).result
        await queue.ended(other.id)
        async with asyncio.timeout(PATIENCE):
            while await queue.jobs.get(EVA, answer.id):
                await asyncio.sleep(0.1)
        assert [item.id for item in await queue.jobs.list("default")] == [other.id]
        await queue.store.sweep()
        again = await queue.jobs.submit("ask", {}, principal=EVA, id=answer.id)
        assert (await queue.ended(again.id)).attempts == 1


async def test_two_data_directories_in_a_process_run_their_own_jobs(tmp_path: Path) -> None:
    first, second = Counting(), Counting()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    async with (
        queue_in(tmp_path / "a", {"ask": first}) as a,
        queue_in(tmp_path / "b", {"ask": second}) as b,
    ):
        jobs = await a.submit(), await b.submit()
        assert (await a.ended(jobs[0].id)).state == (await b.ended(jobs[1].id)).state == "done"
    assert (first.runs, second.runs) == ([jobs[0].id], [jobs[1].id])


async def offered(queue: Queue, count: int) -> SqlParts:
    """Parts of an ingest that another process runs."""
    await queue.runner.start()
    await queue.store.submit(NewJob("big", "ingest", {}, collection="big"), 100)
    await queue.store.claim("leader", {"ingest": 1})
    parts = SqlParts(queue.store._database)
    await parts.offer("big", [NewPart(f"p{n}", EMBED_PART, {"chunks": []}) for n in range(count)])
    queue.runner.wake()
    return parts


async def ended(parts: SqlParts, state: str, count: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while [item.state for item in await parts.list_parts("big")] != [state] * count:
            await asyncio.sleep(0.02)


async def test_a_part_of_others_is_done_at_a_time(tmp_path: Path) -> None:
    count = Counting(0.1)
    async with queue_in(tmp_path, {EMBED_PART: count}) as queue:
        parts = await offered(queue, 5)
        await ended(parts, "done", 5)
        assert queue.runner.kinds == ()
    assert count.most == 1


async def test_who_changes_a_collection_itself_helps_nobody_until_that_is_done(
    tmp_path: Path,
) -> None:
    own, part = Counting(0.3), Counting()
    async with queue_in(tmp_path, {"rebuild": own, EMBED_PART: part}) as queue:
        job = await queue.submit("rebuild")
        await own.begun()
        parts = await offered(queue, 1)
        await ended(parts, "done", 1)
        assert own.reached == [job.id]


async def test_a_part_that_could_not_be_done_is_not_tried_here_again_nor_others_like_it(
    tmp_path: Path,
) -> None:
    failing, able = Failing(ModelUnavailable("away"), 9), Counting()
    async with queue_in(tmp_path, {EMBED_PART: failing, READ_PART: able}) as queue:
        parts = await offered(queue, 2)
        await parts.offer("big", [NewPart("r", READ_PART, {"files": []})])
        queue.runner.wake()
        states: dict[str, tuple[str, str]] = {}
        async with asyncio.timeout(PATIENCE):
            while states.get("r") != ("done", ""):
                await asyncio.sleep(0.02)
                states = {
                    part.id: (part.state, part.error) for part in await parts.list_parts("big")
                }
    assert states == {"p0": ("failed", "away"), "p1": ("queued", ""), "r": ("done", "")}
    assert len(failing.when) == 1


async def test_a_stop_ends_a_loop_that_lost_its_cancellation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asyncio.timeout(PATIENCE):
        async with queue_in(tmp_path, {"ask": Counting(0)}) as queue:
            sweeping, sweep = asyncio.Event(), queue.store.sweep

            async def lose_cancellation() -> None:
                sweeping.set()
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(60)
                await sweep()

            monkeypatch.setattr(queue.store, "sweep", lose_cancellation)
            await queue.runner.start()
            await sweeping.wait()


async def test_a_job_that_others_queued_again_meanwhile_ends_here_before_it_begins_anew(
    tmp_path: Path,
) -> None:
    count = Counting(30)
    async with asyncio.timeout(PATIENCE):
        async with queue_in(tmp_path, {"ask": count}, {"ask": 2}) as queue:
            job = await queue.submit()
            await count.begun()
            await queue.store.move(job.id, (RUNNING,), PAUSED)
            await queue.store.move(job.id, (PAUSED,), QUEUED, due_at=0.0)
            queue.runner.wake()
            while len(count.runs) < 2 or count.together > 1:
                await asyncio.sleep(0.01)
        assert count.together == 0, "a stop reaches every attempt"


async def test_an_interruption_that_comes_late_leaves_the_attempt_that_followed(
    tmp_path: Path,
) -> None:
    count = Counting(30)
    async with asyncio.timeout(PATIENCE), queue_in(tmp_path, {"ask": count}) as queue:
        job = await queue.submit()
        await count.begun()
        paused = await queue.store.move(job.id, (RUNNING,), PAUSED)
        assert paused
        count.pause = 0.5
        await queue.store.move(job.id, (PAUSED,), QUEUED, due_at=0.0)
        queue.runner.wake()
        while len(count.runs) < 2:
            await asyncio.sleep(0.01)
        assert not queue.runner.interrupt(paused)
        assert (await queue.ended(job.id)).state == "done"


async def test_a_job_whose_result_cannot_be_stored_has_failed(tmp_path: Path) -> None:
    async def work(job: Job, report: Report) -> dict[str, Any]:
        return {"answer": object()}

    async with asyncio.timeout(PATIENCE), queue_in(tmp_path, {"ask": work}) as queue:
        ended = await queue.ended((await queue.submit()).id)
    assert (ended.state, ended.error) == ("failed", ending.BROKE)


async def test_a_stop_waits_for_a_start_and_leaves_nothing_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asyncio.timeout(PATIENCE), queue_in(tmp_path, {"ask": Counting(0)}) as queue:
        entered, goes_on, orphans = asyncio.Event(), asyncio.Event(), queue.store.orphans

        async def find_slowly(alive: set[str]) -> list[str]:
            entered.set()
            await goes_on.wait()
            return list(await orphans(alive))

        monkeypatch.setattr(queue.store, "orphans", find_slowly)
        before = asyncio.all_tasks()
        start = asyncio.create_task(queue.runner.start())
        await entered.wait()
        stop = asyncio.create_task(queue.runner.stop())
        await asyncio.sleep(0)
        goes_on.set()
        await asyncio.gather(start, stop)
        assert asyncio.all_tasks() <= before

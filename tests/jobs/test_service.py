"""Who may see and steer which jobs, and what is refused."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.errors import EmptyQuestion, InputError, JobEnded, QueueFull, UnknownJob
from ragstone.core.turn import Ask, Principal
from ragstone.jobs.runner import Report
from ragstone.ports.jobs import Job
from tests.jobs.adapters import EVA, Counting, Queue, queue_in

pytestmark = pytest.mark.slow

OTHERS = (
    Principal("default", "max", ("staff",)),
    Principal("default", "eva", ()),
    Principal("default", "eva", ("staff", "hr")),
    Principal("other", "eva", ("staff",)),
)
ASK = Ask("When are you open?", EVA)


class Answering:
    """Answers every question, and counts them."""

    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self, job: Job, report: Report) -> dict[str, Any]:
        self.asked += 1
        return {"answer": job.request["ask"]["question"]}


async def test_the_same_question_twice_is_one_job_whose_answer_is_kept(tmp_path: Path) -> None:
    answering = Answering()
    async with queue_in(tmp_path, {"ask": answering}) as queue:
        first, second = await asyncio.gather(queue.jobs.ask(ASK), queue.jobs.ask(ASK))
        assert first.id == second.id
        await queue.ended(first.id)
        again = await queue.jobs.ask(ASK)
        assert (again.id, again.state) == (first.id, "done")
        assert again.result == {"answer": ASK.question}
        assert answering.asked == 1


async def test_an_equal_request_is_one_job_while_it_goes_on(tmp_path: Path) -> None:
    async with queue_in(tmp_path, {"ingest": Counting(0.1)}) as queue:
        paths = {"paths": ("/a", "/b")}
        first = await queue.jobs.submit("ingest", paths, principal=EVA)
        assert (await queue.jobs.submit("ingest", paths, principal=EVA)).id == first.id
        await queue.ended(first.id)
        assert (await queue.jobs.submit("ingest", paths, principal=EVA)).id != first.id


async def test_to_anybody_else_a_job_does_not_exist(tmp_path: Path) -> None:
    async with queue_in(tmp_path, {"ask": Answering()}) as queue:
        job = await queue.jobs.ask(ASK)
        await queue.ended(job.id)
        for other in OTHERS:
            assert await queue.jobs.get(other, job.id) is None
            assert await queue.jobs.list(other.tenant, principal=other) == []
            for act in (queue.jobs.cancel, queue.jobs.pause, queue.jobs.resume, queue.jobs.retry):
                with pytest.raises(UnknownJob):
                    await act(other, job.id)
            with pytest.raises(UnknownJob):
                await anext(queue.jobs.watch(other, job.id))


async def test_an_admin_sees_every_job_of_the_tenant_but_no_answer(tmp_path: Path) -> None:
    async with queue_in(tmp_path, {"ask": Answering(), "ingest": Counting()}) as queue:
        job = await queue.jobs.ask(ASK)
        await queue.ended(job.id)
        seen = await queue.jobs.get(OTHERS[0], job.id, admin=True)
        assert seen is not None
        assert (seen.state, seen.user, seen.result) == ("done", "eva", None)
        assert [item.id for item in await queue.jobs.list("default")] == [job.id]
        assert await queue.jobs.get(OTHERS[3], job.id, admin=True) is None
        ingest = await queue.submit("ingest")
        await queue.ended(ingest.id)
        other = await queue.jobs.get(OTHERS[0], ingest.id, admin=True)
        assert other is not None
        assert other.result == {"counted": 1}


async def steer(queue: Queue, act: str, id: str) -> str:
    """The state after it, or the error's code."""
    try:
        return str((await getattr(queue.jobs, act)(EVA, id)).state)
    except JobEnded as error:
        return error.code


async def test_what_a_state_does_not_allow_is_refused(tmp_path: Path) -> None:
    async with queue_in(tmp_path, {"ask": Counting()}) as queue:
        job = await queue.submit()
        await queue.ended(job.id)
        for act in ("cancel", "pause", "resume", "retry"):
            assert await steer(queue, act, job.id) == "job_ended"
        await queue.jobs.pause_kind("ask")
        other = await queue.submit()
        assert await steer(queue, "retry", other.id) == "queued"
        assert await steer(queue, "pause", other.id) == "paused"
        assert await steer(queue, "pause", other.id) == "paused"
        assert await steer(queue, "retry", other.id) == "job_ended"
        assert await steer(queue, "resume", other.id) == "queued"
        assert await steer(queue, "cancel", other.id) == "cancelled"
        assert await steer(queue, "cancel", other.id) == "cancelled"
        assert await steer(queue, "resume", other.id) == "job_ended"


@pytest.mark.parametrize("id", ["", "none", "🙂", "x" * 10_000, "a\0b", "'; DROP TABLE jobs"])
async def test_an_unknown_id_is_unknown(tmp_path: Path, id: str) -> None:
    async with queue_in(tmp_path, {"ask": Counting()}) as queue:
        assert await queue.jobs.get(EVA, id) is None
        with pytest.raises(UnknownJob):
            await queue.jobs.cancel(EVA, id)


async def test_bad_submissions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragstone.local.jobs.MAX_QUEUED", 1)
    async with queue_in(tmp_path, {"ask": Counting()}) as queue:
        with pytest.raises(EmptyQuestion):
            await queue.jobs.ask(Ask(" \n", EVA))
        with pytest.raises(InputError, match="no jobs of the kind 'graph' here; there are ask"):
            await queue.jobs.submit("graph", {}, principal=EVA)
        with pytest.raises(InputError, match="no jobs of the kind 'graph'"):
            await queue.jobs.pause_kind("graph")
        with pytest.raises(InputError, match="at most 200"):
            await queue.jobs.submit("ask", {}, principal=EVA, id="x" * 201)
        await queue.jobs.pause_kind("ask")
        mine = await queue.jobs.submit("ask", {}, principal=EVA, id="mine")
        with pytest.raises(InputError, match="another job of this id"):
            await queue.jobs.submit("ask", {}, principal=OTHERS[0], id=mine.id)
        with pytest.raises(QueueFull):
            await queue.jobs.submit("ask", {"n": 2}, principal=EVA)


async def test_kinds_show_what_there_is(tmp_path: Path) -> None:
    async with queue_in(tmp_path, {"ask": Counting(), "graph": Counting()}) as queue:
        await queue.ended((await queue.submit()).id)
        await queue.jobs.pause_kind("graph")
        ask, graph = await queue.jobs.kinds()
    assert (ask.kind, ask.paused, ask.concurrency, ask.jobs) == ("ask", False, 4, {"done": 1})
    assert (graph.kind, graph.paused, graph.jobs) == ("graph", True, {})


async def test_ended_jobs_can_be_forgotten(tmp_path: Path) -> None:
    async with queue_in(tmp_path, {"ask": Counting()}) as queue:
        job = await queue.submit()
        await queue.ended(job.id)
        assert await queue.jobs.clean("other") == 0
        assert await queue.jobs.clean("default", "failed") == 0
        assert await queue.jobs.clean("default", age=100) == 0
        assert await queue.jobs.clean("default") == 1
        assert await queue.jobs.get(EVA, job.id) is None

"""Several processes on one queue in PostgreSQL: every job once, whatever dies."""

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from ragstone.core.errors import StateUnavailable
from ragstone.ports.jobs import Job, NewJob
from tests.conformance.postgres_server import PostgresServer
from tests.jobs.adapters import EVA, Counting, Queue, fresh_database, shared_queue
from tests.patience import PATIENCE

KILLS = int(os.environ.get("RAGSTONE_TEST_KILLS", "6"))
ROOT = Path(__file__).parents[2]


@pytest.fixture
async def url(postgres: PostgresServer) -> str:
    return await fresh_database(postgres.url)


class Process:
    """A process that runs jobs, and what it told."""

    def __init__(self, url: str, seconds: float, told: Path) -> None:
        self._file: IO[bytes] = told.open("ab")
        self.told = told
        command = [sys.executable, "-m", "tests.jobs.process", url, str(seconds)]
        self._process = subprocess.Popen(command, stdout=self._file, cwd=ROOT)

    async def ready(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while b"ready" not in self.told.read_bytes():
                assert self._process.poll() is None
                await asyncio.sleep(0.05)

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        self._process.send_signal(number)
        if number == signal.SIGKILL:
            self._process.wait()
            self._file.close()


@contextmanager
def processes(url: str, count: int, seconds: float, folder: Path) -> Iterator[list[Process]]:
    """So many processes, killed at the end; a test may replace them."""
    running = [Process(url, seconds, folder / f"told{n}") for n in range(count)]
    try:
        yield running
    finally:
        for process in running:
            process.kill()


def told(folder: Path) -> Counter[str]:
    """How often each job was said to have ended."""
    lines = " ".join(file.read_text() for file in folder.glob("told*")).split()
    return Counter(line for line in lines if line != "ready")


async def submit(queue: Queue, count: int) -> list[str]:
    """Queue jobs without running any here."""
    ids = [f"job{n:04}" for n in range(count)]
    for n, id in enumerate(ids):
        kind = "ask" if n % 5 else "ingest"
        new = NewJob(id, kind, {"n": n}, "default", "eva", ("staff",), f"collection {n % 7}")
        await queue.store.submit(new, 100_000)
    return ids


async def all_done(queue: Queue, count: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        counts = await queue.store.counts()
        if sum(n for (_, state), n in counts.items() if state == "done") == count:
            return
        assert time.monotonic() < deadline, counts
        await asyncio.sleep(0.1)


async def settled(queue: Queue, id: str) -> Job:
    """The job when it is done, as soon as the database says so."""
    async with asyncio.timeout(PATIENCE):
        while True:
            with contextlib.suppress(StateUnavailable):
                job = await queue.store.get(id)
                if job and job.state == "done":
                    return job
            await asyncio.sleep(0.1)


async def results_fit(queue: Queue, ids: list[str]) -> None:
    """Each job has the result of its own last attempt."""
    for n, id in enumerate(ids):
        view = await queue.jobs.get(EVA, id)
        assert view is not None
        assert view.result == {"of": n, "attempt": view.attempts}


async def test_a_thousand_questions_over_two_processes_are_answered_once_each(
    url: str, tmp_path: Path
) -> None:
    async with shared_queue(url, {}) as queue:
        ids = await submit(queue, 1000)
        with processes(url, 2, 0.02, tmp_path) as running:
            await all_done(queue, 1000)
            shares = [len(p.told.read_text().split()) for p in running]
        assert min(shares) > 100
        assert told(tmp_path) == Counter(ids)
        await results_fit(queue, ids)
        counted = [await queue.jobs.get(EVA, id) for id in ids]
        assert {view.attempts for view in counted if view} == {1}


async def test_kill_9_at_any_instant_loses_no_job_and_ends_none_twice(
    url: str, tmp_path: Path
) -> None:
    async with shared_queue(url, {}) as queue:
        ids = await submit(queue, 30 * KILLS)
        with processes(url, 2, 0.4, tmp_path) as running:
            for kill in range(KILLS):
                victim = random.choice(running)
                await victim.ready()
                await asyncio.sleep(random.uniform(0, 1.5))
                victim.kill()
                running.remove(victim)
                running.append(Process(url, 0.4, tmp_path / f"told{kill + 2}"))
            await all_done(queue, len(ids))
        ended = told(tmp_path)
        assert set(ended.values()) == {1}
        # A process may die between the end of a job and its word of it.
        assert len(ids) - KILLS * 8 <= len(ended) <= len(ids)
        await results_fit(queue, ids)


async def test_a_process_that_stands_still_loses_its_jobs_and_cannot_end_them(
    url: str, tmp_path: Path
) -> None:
    async with shared_queue(url, {}) as queue:
        ids = await submit(queue, 8)
        with processes(url, 1, 6.0, tmp_path) as running:
            await running[0].ready()
            async with asyncio.timeout(PATIENCE):
                while not (await queue.store.counts()).get(("ask", "running")):
                    await asyncio.sleep(0.05)
            running[0].kill(signal.SIGSTOP)
            running.append(Process(url, 0.05, tmp_path / "told1"))
            await all_done(queue, len(ids))
            running[0].kill(signal.SIGCONT)
            await asyncio.sleep(3)
        ended = told(tmp_path)
        assert ended == Counter(ids)
        await results_fit(queue, ids)


async def test_a_job_that_runs_elsewhere_is_stopped_within_a_second(
    url: str, tmp_path: Path
) -> None:
    async with shared_queue(url, {}) as queue:
        with processes(url, 1, 60.0, tmp_path) as running:
            await running[0].ready()
            (id, *_) = await submit(queue, 1)
            await queue.until(id, "running")
            await queue.jobs.pause(EVA, id)
            await asyncio.sleep(1.2)
            # Its place is free again: another of the kind's two begins beside a third.
            for name in ("second", "third"):
                await queue.store.submit(NewJob(name, "ingest", {"n": 0}, collection=name), 10)
            await asyncio.sleep(0.5)
            counts = await queue.store.counts()
            assert counts["ingest", "running"] == 2
            assert counts["ingest", "paused"] == 1


async def test_the_same_question_from_two_processes_is_one_job(url: str) -> None:
    async with shared_queue(url, {"ask": Counting()}) as queue:
        new = NewJob("ragask_1", "ask", {}, "default", "eva", ("staff",))
        jobs = await asyncio.gather(*(queue.store.submit(new, 1) for _ in range(8)))
        assert {job.id for job in jobs} == {"ragask_1"}
        await queue.runner.start()
        assert (await queue.ended("ragask_1")).attempts == 1


async def test_jobs_wait_while_the_database_is_away(url: str, postgres: PostgresServer) -> None:
    count = Counting(0.2)
    async with shared_queue(url, {"ask": count}) as queue:
        job = await queue.submit(to=10)
        await count.begun()
        await asyncio.to_thread(postgres.stop)
        await asyncio.sleep(3)
        await asyncio.to_thread(postgres.start)
        async with asyncio.timeout(PATIENCE):
            while not count.reached:
                await asyncio.sleep(0.05)
        assert (await settled(queue, job.id)).attempts == 1
        assert (await queue.ended((await queue.submit()).id)).state == "done"

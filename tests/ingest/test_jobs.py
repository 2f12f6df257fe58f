"""Durable jobs on real DBOS and SQLite."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ragstone.errors import Conflict, ModelUnavailable
from ragstone.ingest.jobs import Jobs, Report
from ragstone.service import Progress
from ragstone.state.database import open_database
from ragstone.state.jobs import SqlJobs

pytestmark = pytest.mark.slow


class Counting:
    """Work that counts files to `request['files']`, `pause` seconds each."""

    def __init__(self) -> None:
        self.runs = 0
        self.pause = 0.01

    async def __call__(self, job: str, request: dict[str, Any], report: Report) -> Progress:
        self.runs += 1
        for files in range(1, request["files"] + 1):
            await asyncio.sleep(self.pause)
            report(Progress(job, files=files))
        last = Progress(job, "done", files=request["files"], finished=True)
        report(last)
        return last


async def broken(job: str, request: dict[str, Any], report: Report) -> Progress:
    raise request["error"] if "error" in request else ModelUnavailable("The model is gone.")


async def buggy(job: str, request: dict[str, Any], report: Report) -> Progress:
    raise ZeroDivisionError


@asynccontextmanager
async def jobs_in(folder: Path, count: Counting) -> AsyncIterator[Jobs]:
    async with open_database(folder / "state.sqlite") as database:
        work = {"count": count, "broken": broken, "buggy": buggy}
        jobs = Jobs(folder / "jobs.sqlite", SqlJobs(database), work)
        try:
            yield jobs
        finally:
            await jobs.stop()


async def watched(jobs: Jobs, job: str) -> list[Progress]:
    return [progress async for progress in jobs.watch(job)]


async def test_given_a_job_when_watched_then_progress_comes_and_ends(tmp_path: Path) -> None:
    async with jobs_in(tmp_path, Counting()) as jobs:
        job = await jobs.submit("count", {"files": 5})
        seen = await watched(jobs, job)
        assert seen[-1] == Progress(job, "done", files=5, finished=True)
        assert [p.files for p in seen] == sorted(p.files for p in seen)
        assert jobs.unfinished() == ()


async def test_given_the_same_request_while_it_runs_then_it_is_one_job(tmp_path: Path) -> None:
    count = Counting()
    async with jobs_in(tmp_path, count) as jobs:
        count.pause = 0.1
        first = await jobs.submit("count", {"files": 3})
        assert await jobs.submit("count", {"files": 3}) == first
        assert await jobs.submit("count", {"files": 2}) != first
        await watched(jobs, first)
        assert await jobs.submit("count", {"files": 3}) != first


@pytest.mark.parametrize(
    ("kind", "message"), [("broken", "The model is gone."), ("buggy", "the log says what")]
)
async def test_given_work_that_fails_then_the_last_word_says_why(
    tmp_path: Path, kind: str, message: str
) -> None:
    async with jobs_in(tmp_path, Counting()) as jobs:
        last = (await watched(jobs, await jobs.submit(kind, {})))[-1]
        assert last.finished
        assert message in last.error


async def test_given_a_stop_in_the_middle_then_the_next_start_runs_the_job_again(
    tmp_path: Path,
) -> None:
    count = Counting()
    count.pause = 30
    async with jobs_in(tmp_path, count) as jobs:
        job = await jobs.submit("count", {"files": 3})
        while not count.runs:
            await asyncio.sleep(0.01)
    count.pause = 0.01
    async with jobs_in(tmp_path, count) as jobs:
        await jobs.start()
        assert (await watched(jobs, job))[-1].files == 3
        assert count.runs == 2
    async with jobs_in(tmp_path, count) as jobs:
        await jobs.start()
        await asyncio.sleep(1.5)
        assert count.runs == 2


async def test_given_a_crash_before_the_workflow_began_then_the_job_is_not_lost(
    tmp_path: Path,
) -> None:
    async with open_database(tmp_path / "state.sqlite") as database:
        await SqlJobs(database).create("j1", "count", {"files": 2})
    async with jobs_in(tmp_path, Counting()) as jobs:
        await jobs.start()
        assert (await watched(jobs, "j1"))[-1].files == 2


async def test_given_a_second_data_directory_in_this_process_then_a_clear_error(
    tmp_path: Path,
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    async with jobs_in(tmp_path / "a", Counting()) as one:
        await one.start()
        async with jobs_in(tmp_path / "b", Counting()) as two:
            with pytest.raises(Conflict, match="another data directory"):
                await two.start()

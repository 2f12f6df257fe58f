"""A queue with a runner on it, in a file or in PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

from ragstone.core.turn import Principal
from ragstone.jobs.runner import CONCURRENCY, Report, Runner, Work
from ragstone.local.jobs import LocalJobs
from ragstone.plugins.postgres.state import Postgres
from ragstone.ports.jobs import Job
from ragstone.service.jobs import JobView
from ragstone.store.sql.database import Database, open_backend, open_database
from ragstone.store.sql.jobs import SqlJobs
from ragstone.store.sql.parts import SqlWorkers
from tests.memory_store import MemoryNames
from tests.patience import PATIENCE

EVA = Principal("default", "eva", ("staff",))


class Counting:
    """Work that counts to `request['to']`, `pause` seconds each, and remembers who ran."""

    def __init__(self, pause: float = 0.01) -> None:
        self.pause = pause
        self.runs: list[str] = []
        self.reached: list[str] = []
        self.together = 0
        self.most = 0

    async def __call__(self, job: Job, report: Report) -> dict[str, Any]:
        self.runs.append(job.id)
        self.together += 1
        self.most = max(self.most, self.together)
        try:
            to = job.request.get("to", 1)
            for number in range(1, to + 1):
                await asyncio.sleep(self.pause)
                report({"share": number / to, "number": number})
            self.reached.append(job.id)
            return {"counted": to}
        finally:
            self.together -= 1

    async def begun(self) -> None:
        """Wait until a first job runs."""
        async with asyncio.timeout(PATIENCE):
            while not self.runs:
                await asyncio.sleep(0.01)


@dataclass
class Queue:
    """What a test has of a queue."""

    jobs: LocalJobs
    runner: Runner
    store: SqlJobs

    async def submit(self, kind: str = "ask", **request: Any) -> JobView:
        return await self.jobs.submit(kind, request, principal=EVA, id=uuid4().hex)

    async def ended(self, id: str) -> JobView:
        """The job when it has ended."""
        async with asyncio.timeout(PATIENCE):
            async for view in self.jobs.watch(EVA, id):
                last = view
        return last

    async def until(self, id: str, state: str) -> JobView:
        """The job when it is in this state."""
        async with asyncio.timeout(PATIENCE):
            while True:
                view = await self.jobs.get(EVA, id)
                if view and view.state == state:
                    return view
                await asyncio.sleep(0.01)


@asynccontextmanager
async def queue_in(
    folder: Path, work: Mapping[str, Work], concurrency: Mapping[str, int] = CONCURRENCY
) -> AsyncIterator[Queue]:
    """A queue in files of `folder`; stopped at the end."""
    async with (
        open_database(folder / "state.sqlite") as database,
        _queue(database, work, concurrency, shared=False) as queue,
    ):
        yield queue


@asynccontextmanager
async def shared_queue(
    url: str, work: Mapping[str, Work], concurrency: Mapping[str, int] = CONCURRENCY
) -> AsyncIterator[Queue]:
    """A queue in the PostgreSQL database at `url`, which `fresh_database` made."""
    async with (
        shared_database(url) as database,
        _queue(database, work, concurrency, shared=True) as queue,
    ):
        yield queue


@asynccontextmanager
async def _queue(
    database: Database, work: Mapping[str, Work], concurrency: Mapping[str, int], shared: bool
) -> AsyncIterator[Queue]:
    store = SqlJobs(database)
    runner = Runner(store, SqlWorkers(database), work, shared, concurrency)
    try:
        yield Queue(LocalJobs(store, MemoryNames(), runner), runner, store)
    finally:
        await runner.stop()


@asynccontextmanager
async def shared_database(url: str) -> AsyncIterator[Database]:
    """The state store in PostgreSQL."""
    async with open_backend(Postgres(url)) as database:
        yield database


async def fresh_database(server: str) -> str:
    """The address of a new database on a server, with the tables of jobs."""
    name = f"jobs_{uuid4().hex[:12]}"
    async with await psycopg.AsyncConnection.connect(server, autocommit=True) as connection:
        await connection.execute(f'CREATE DATABASE "{name}"')  # type: ignore[arg-type]
    url = server.replace("/postgres?", f"/{name}?")
    async with shared_database(url):
        return url

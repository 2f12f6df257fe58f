"""The queue of jobs: how soon a question begins, and 1,000 of them over two killed processes.

The questions' work is a pause, so that the figures are the queue's own.
"""

import asyncio
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.row import Row
from ragstone.core.turn import Principal
from ragstone.jobs.runner import Report, Runner
from ragstone.local.jobs import LocalJobs
from ragstone.ports.jobs import Job, NewJob
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import open_database
from ragstone.store.sql.jobs import SqlJobs
from ragstone.store.sql.parts import SqlWorkers
from tests.conformance.postgres_server import PostgresServer
from tests.jobs.adapters import fresh_database, shared_queue

SINGLE, CROWD, QUESTIONS, KILLS = 100, 300, 1000, 5


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        begun, per_second = asyncio.run(one_process(root))
        server = PostgresServer(root / "postgres")
        try:
            calm = asyncio.run(two_processes(server.url, root, 0))
            hard = asyncio.run(two_processes(server.url, root, KILLS))
        finally:
            server.stop()
    return [
        Row("Question submitted until it begins, median", begun[len(begun) // 2], "ms", most=50),
        Row("The same, 95th percentile", begun[int(len(begun) * 0.95)], "ms", detail=True),
        Row("Jobs of one process, in a file", per_second, "jobs/s", detail=True),
        Row("1,000 questions over two processes: answered", calm[0], "", least=QUESTIONS),
        Row("of them ended twice", calm[1], "", most=0),
        Row("their time", calm[2], "s", detail=True),
        Row(f"1,000 questions under {KILLS} kill -9: answered", hard[0], "", least=QUESTIONS),
        Row("of them ended twice, under kill -9", hard[1], "", most=0),
        Row("their time, under kill -9", hard[2], "s", detail=True),
    ]


async def one_process(root: Path) -> tuple[list[float], float]:
    """Milliseconds until a single question begins, sorted; jobs a second of a crowd."""
    begun: dict[str, float] = {}

    async def work(job: Job, report: Report) -> dict[str, Any]:
        begun[job.id] = time.perf_counter()
        return {}

    async with open_database(root / "state.sqlite") as database:
        store = SqlJobs(database)
        runner = Runner(store, SqlWorkers(database), {"ask": work})
        jobs, who = LocalJobs(store, await SqlCatalog.open(database), runner), Principal()
        await runner.start()
        waits = []
        for number in range(SINGLE):
            started = time.perf_counter()
            view = await jobs.submit("ask", {"n": number}, principal=who)
            async for _ in jobs.watch(who, view.id):
                pass
            waits.append(1000 * (begun[view.id] - started))
        started = time.perf_counter()
        for number in range(CROWD):
            await jobs.submit("ask", {}, principal=who, id=f"crowd{number}")
        while len(begun) < SINGLE + CROWD:
            await runner.wait_for_change(0.1)
        rate = CROWD / (time.perf_counter() - started)
        await runner.stop()
    return sorted(waits), rate


async def two_processes(server: str, root: Path, kills: int) -> tuple[int, int, float]:
    """Return questions that were answered, that ended twice, and seconds for all of them."""
    url = await fresh_database(server)
    told = [root / f"told{kills}.{number}" for number in range(2 + kills)]
    async with shared_queue(url, {}) as queue:
        for number in range(QUESTIONS):
            await queue.store.submit(NewJob(f"q{number}", "ask", {"n": number}), QUESTIONS)
        started = time.perf_counter()
        running = [_process(url, file) for file in told[:2]]
        for file in told[2:]:
            await asyncio.sleep(random.uniform(3, 6))
            victim = running.pop(random.randrange(2))
            victim.kill()
            victim.wait()
            running.append(_process(url, file))
        deadline = time.monotonic() + 300
        while (done := (await queue.store.counts()).get(("ask", "done"), 0)) < QUESTIONS:
            if time.monotonic() > deadline:
                break
            await asyncio.sleep(0.1)
        seconds = time.perf_counter() - started
        for process in running:
            process.kill()
            process.wait()
    ended = Counter(line for file in told for line in file.read_text().split())
    twice = sum(times > 1 for id, times in ended.items() if id != "ready")
    return done, twice, seconds


def _process(url: str, told: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "tests.jobs.process", url, "0.02"]
    with told.open("wb") as file:
        return subprocess.Popen(command, stdout=file)

"""`python -m tests.jobs.process URL [SECONDS]`: a process that runs jobs until it is killed.

It prints the id of each job that it ended, once the database has that.
"""

import asyncio
import random
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import patch

from ragstone.jobs.runner import Report
from ragstone.ports.jobs import Job, State
from ragstone.store.sql.jobs import SqlJobs
from tests.jobs import adapters as adapters

AT_ONCE = {"ask": 8, "ingest": 2}
QUICK = {"WORKER_TIMEOUT": 2.0, "POLL_SECONDS": 0.1, "DEATHS": 1000}


class Telling(SqlJobs):
    """Says which jobs it ended."""

    async def finish(self, job: Job, state: State, expires_at: float, **values: Any) -> bool:
        ended = await super().finish(job, state, expires_at, **values)
        if ended:
            print(job.id, flush=True)
        return ended


class Pausing:
    """Work of two steps that take a while."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def __call__(self, job: Job, report: Report) -> Mapping[str, Any]:
        for share in (0.5, 1.0):
            await asyncio.sleep(random.uniform(0, self._seconds))
            report({"share": share})
        return {"of": job.request["n"], "attempt": job.attempts}


@asynccontextmanager
async def worker(url: str, seconds: float) -> AsyncIterator[adapters.Queue]:
    adapters.SqlJobs = Telling  # type: ignore[misc]
    work: Any = Pausing(seconds)
    with patch.multiple("ragstone.jobs.runner", **QUICK):
        async with adapters.shared_queue(url, {"ask": work, "ingest": work}, AT_ONCE) as queue:
            await queue.runner.start()
            yield queue


async def main(url: str, seconds: float = 0.05) -> None:
    async with worker(url, seconds):
        print("ready", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], *map(float, sys.argv[2:])))

"""`kill -9` at random instants under mixed load: what was acknowledged is there afterwards.

RAGSTONE_KILLS=100 for the figure of docs/stores.md; a few of them in each `make test-real`.
"""

import asyncio
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import pytest

from ragstone.core.errors import RagstoneError
from ragstone.remote import connect_service
from ragstone.service import Service
from ragstone.service.server_file import find_server
from tests.e2e.document_load import Deleting, Ingesting, Shelf
from tests.e2e.mixed_load import Conversation, Jobs, Load, PromptOf, SettingsOf, Topics
from tests.e2e.processes import command, environment, run
from tests.patience import PATIENCE
from tests.with_constants import constants

KILLS = int(os.environ.get("RAGSTONE_KILLS", "5"))
FIRST = 12
"""Documents that are there before the first kill."""
MEAN_SECONDS = 1.5
"""How long a server works on, in the mean, when something was acknowledged."""
AT_START = 0.2
"""The share of kills that hit a server while it starts, so while it recovers from the last one."""

pytestmark = [pytest.mark.real, pytest.mark.timeout(300 + 60 * KILLS)]


@dataclass
class Lives:
    """One data directory, its clients, and what was seen of the servers that held it."""

    data: Path
    loads: list[Load]
    starts: list[float] = field(default_factory=list)
    settled: list[float] = field(default_factory=list)
    killed: bool = False

    @property
    def log(self) -> Path:
        return self.data.with_name("server.log")

    @property
    def told(self) -> Counter[str]:
        return sum((load.told for load in self.loads), Counter[str]())

    async def killed_at_start(self) -> None:
        """Start, and kill at some instant before it is ready or soon after."""
        process = self._spawn()
        await asyncio.sleep(random.uniform(0, 1.2 * median(self.starts)))
        process.kill()
        await asyncio.to_thread(process.wait)

    async def killed_at_work(self) -> None:
        """Start, check, work, and kill some time after one of the clients was acknowledged
        something."""
        async with self._started() as (process, service):
            await self._check(service, everything=False)
            self.killed = False
            clients = [asyncio.create_task(self._client(load, service)) for load in self.loads]
            [awaited] = random.choices(self.loads, [load.weight for load in self.loads])
            told = awaited.told.total()
            while awaited.told.total() == told and not any(task.done() for task in clients):
                await asyncio.sleep(0.02)
            await asyncio.sleep(min(10.0, random.expovariate(1 / MEAN_SECONDS)))
            self.killed = True
            process.kill()
            await asyncio.gather(*clients)

    async def calm(self) -> None:
        """Start, check, and end as one should."""
        async with self._started() as (process, service):
            await self._check(service, everything=True)
            process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(process.wait) == 0

    async def _client(self, load: Load, service: Service) -> None:
        """Do one thing after the other until the server is gone."""
        while not self.killed:
            await asyncio.sleep(0.02)
            try:
                await load.work(service)
            except RagstoneError as error:
                if not (self.killed and error.retry):
                    raise

    async def _check(self, service: Service, everything: bool) -> None:
        """What was acknowledged is as it was said, once the jobs of before have ended."""
        began = time.monotonic()
        while any(kind.jobs.keys() & {"queued", "running"} for kind in await service.jobs.kinds()):
            assert time.monotonic() - began < PATIENCE, "the jobs of before do not end"
            await asyncio.sleep(0.05)
        while notes := await findings(service):
            assert time.monotonic() - began < PATIENCE, notes
            await asyncio.sleep(0.05)
        self.settled.append(time.monotonic() - began)
        for load in self.loads:
            await load.check(service, everything)

    @asynccontextmanager
    async def _started(self) -> AsyncIterator[tuple["subprocess.Popen[bytes]", Service]]:
        began = time.monotonic()
        process = self._spawn()
        try:
            while not (server := await asyncio.to_thread(find_server, self.data)):
                assert process.poll() is None, "the server ended at its start"
                assert time.monotonic() - began < PATIENCE, "the server did not start"
                await asyncio.sleep(0.05)
            self.starts.append(time.monotonic() - began)
            service = connect_service(*server)
            yield process, service
            await service.aclose()
        finally:
            process.kill()
            await asyncio.to_thread(process.wait)
        assert "Traceback" not in self.log.read_text(), self.log.read_text()

    def _spawn(self) -> "subprocess.Popen[bytes]":
        at_once = random.choice((0, 500))
        variables = constants(
            {
                "ragstone.local.DELETE_AT_ONCE": at_once,
                "ragstone.jobs.ending.ANSWER_SECONDS": 86_400,
            }
        )
        with self.log.open("wb") as log:
            return subprocess.Popen(
                [*command(variables), "serve", "--port", "0"],
                env=environment(self.data, **variables),
                stdout=log,
                stderr=subprocess.STDOUT,
            )


async def findings(service: Service) -> tuple[str, ...]:
    """What `ragstone doctor --check` finds."""
    notes: tuple[str, ...] = ()
    async for step in service.maintenance.examine(mend=False):
        notes = step.notes
    return notes


def clients(shelf: Shelf) -> list[Load]:
    changing = [SettingsOf(scope) for scope in ("global", "tenant:default")]
    # None of those that are deleted as a whole: their settings end with them.
    changing.append(SettingsOf("collection:default/loft"))
    asking = (Conversation("hall"), Conversation("yard"))
    prompts = (PromptOf(""), PromptOf("default"))
    return [Ingesting(shelf), Deleting(shelf), *changing, *prompts, *asking, Jobs(), Topics()]


async def test_given_kills_at_random_instants_then_no_acknowledged_write_is_missing(
    tmp_path: Path,
) -> None:
    began = time.monotonic()
    shelf = Shelf(tmp_path)
    lives = Lives(tmp_path / "data", clients(shelf))
    assert run(lives.data, "ingest", *map(str, shelf.first(FIRST))).returncode == 0
    at_start = 0
    for number in range(KILLS):
        if number and random.random() < AT_START:
            at_start += 1
            await lives.killed_at_start()
        else:
            await lives.killed_at_work()
        if number % 10 == 9:
            print(f"\n{number + 1} kills after {time.monotonic() - began:.0f} s: {lives.told}")
    await lives.calm()
    doctor = run(lives.data, "doctor", "--check")
    assert doctor.returncode == 0, doctor.stdout
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(lives.told.items()))
    print(
        f"\n{KILLS} kills, {at_start} of them during a start; acknowledged: {told}; none missing, "
        f"none twice, doctor found nothing; ready after {median(lives.starts):.1f} s (most "
        f"{max(lives.starts):.1f}), jobs of before done after {median(lives.settled):.1f} s (most "
        f"{max(lives.settled):.1f}); {time.monotonic() - began:.0f} s in all"
    )
    assert lives.told.total() >= KILLS - at_start

"""`kill -9` at random instants under mixed load: what was acknowledged is there afterwards.

RAGSTONE_KILLS=100 for the figure of docs/state.md; a few of them in every run.
"""

import asyncio
import os
import random
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ragstone.errors import RagstoneError
from ragstone.ingest.topics import topic
from ragstone.remote import RemoteRagstone, find_server
from ragstone.service import IngestRequest
from ragstone.turn import Ask, Principal
from tests.e2e.processes import RAGSTONE, environment

KILLS = int(os.environ.get("RAGSTONE_KILLS", "8"))
START_SECONDS = 60.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300 + 60 * KILLS)]


@dataclass
class Known:
    """What a client was told: which documents there are and are not, and which topics."""

    folder: Path
    there: dict[int, int] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    open: set[int] = field(default_factory=set)
    topics: set[str] = field(default_factory=set)
    told: int = 0
    next: int = 0
    server_runs: bool = True

    def write(self, number: int, content: int) -> Path:
        file = self.folder / f"lamp{number}.md"
        file.write_text(f"# Lamp {number}\n\nThe lamp {number} burns for {content} hours.\n" * 3)
        return file


async def ingesting(service: RemoteRagstone, known: Known) -> None:
    """A new document, or new content of one that is there."""
    again = [number for number in known.there if number not in known.open]
    if again and random.random() < 0.3:
        number = random.choice(again)
    else:
        known.next += 1
        number = known.next
    known.open.add(number)
    content = random.randrange(10**6, 10**7)
    file = known.write(number, content)
    async for step in service.ingest(IngestRequest((str(file),))):
        last = step
    if last.finished and not last.error and not last.failed:
        known.there[number] = content
        known.open.discard(number)
        known.told += 1


async def deleting(service: RemoteRagstone, known: Known) -> None:
    some = [number for number in known.there if number not in known.open]
    if len(some) < 3:
        return
    number = random.choice(some)
    known.open.add(number)
    (known.folder / f"lamp{number}.md").unlink()
    if await service.delete(Principal(), "default", [f"/lamp{number}.md"]) == 1:
        del known.there[number]
        known.gone.add(number)
        known.open.discard(number)
        known.told += 1


async def asking(service: RemoteRagstone, known: Known) -> None:
    some = [number for number in known.there if number not in known.open]
    if not some:
        return
    number = random.choice(some)
    question = f"How many hours does the lamp {number} burn?"
    async for _ in service.ask(Ask(question, room=f"r{number}")):
        pass


async def setting(service: RemoteRagstone, known: Known) -> None:
    name = f"secret{random.randrange(10**6)}"
    await service.put_topics("default", [topic("default", name)])
    known.topics.add(name)
    known.told += 1
    await asyncio.sleep(0.2)


async def forever(
    work: Callable[[RemoteRagstone, Known], Awaitable[None]], service: RemoteRagstone, known: Known
) -> None:
    """Again and again, until the server is gone."""
    while known.server_runs:
        await asyncio.sleep(0.02)
        try:
            await work(service, known)
        except RagstoneError as error:
            if error.retry:
                return
            raise


async def check(service: RemoteRagstone, known: Known) -> None:
    """What was acknowledged is as it was said, once the jobs of before have ended."""
    deadline = time.monotonic() + START_SECONDS
    while (await service.overview()).jobs:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.1)
    listed = await service.documents(Principal(), "default", limit=10_000)
    names = {int(d.path.removeprefix("/lamp").removesuffix(".md")): d for d in listed}
    assert set(known.there) - known.open <= names.keys(), "an acknowledged document is missing"
    assert not (known.gone - known.open) & names.keys(), "a deleted document is back"
    settled = sorted(set(known.there) - known.open)
    for number in random.sample(settled, k=min(8, len(settled))):
        found = await service.search(Ask(f"lamp {number} hours", cache=False, top_k=50))
        texts = [hit.chunk.text for hit in found.hits if hit.chunk.path == f"/lamp{number}.md"]
        assert texts, "an acknowledged document is not found"
        assert all(str(known.there[number]) in text for text in texts), "an old version answers"
    for number in sorted(known.gone - known.open)[-5:]:
        found = await service.search(Ask(f"lamp {number} hours", cache=False, top_k=50))
        assert f"/lamp{number}.md" not in {hit.chunk.path for hit in found.hits}
    [summary] = await service.collections(Principal())
    assert summary.chunks == sum(d.chunks for d in listed), "chunks and documents disagree"
    assert known.topics <= {one.term for one in await service.topics("default")}
    # What was under way when the server was killed may have been done or not: now it is known.
    for number in list(known.open):
        known.there.pop(number, None)
        (known.folder / f"lamp{number}.md").unlink(missing_ok=True)
        if number in names:
            await service.delete(Principal(), "default", [f"/lamp{number}.md"])
        known.gone.add(number)
    known.open.clear()


async def one_life(data: Path, known: Known, seconds: float) -> None:
    """Start, check, work, and kill so many seconds after some writes were acknowledged; 0 for a
    calm end after the check."""
    process = subprocess.Popen(
        [RAGSTONE, "serve", "--port", "0"], env=environment(data), stdout=subprocess.DEVNULL
    )
    try:
        service = await started(data, process)
        if known.next:
            await check(service, known)
        works = (ingesting, deleting, asking, asking, setting)
        known.server_runs = True
        load = [asyncio.create_task(forever(work, service, known)) for work in works]
        if not seconds:
            for task in load:
                task.cancel()
        told = known.told
        while seconds and known.told < told + 2:
            assert not all(task.done() for task in load)
            await asyncio.sleep(0.02)
        await asyncio.sleep(seconds)
    finally:
        process.send_signal(signal.SIGKILL if seconds else signal.SIGTERM)
        await asyncio.to_thread(process.wait)
        known.server_runs = False
    for result in await asyncio.gather(*load, return_exceptions=True):
        if not isinstance(result, asyncio.CancelledError | None):
            raise result
    await service.aclose()


async def started(data: Path, process: "subprocess.Popen[bytes]") -> RemoteRagstone:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server ended at its start"
        server = await asyncio.to_thread(find_server, data)
        if server:
            return RemoteRagstone(*server)
        await asyncio.sleep(0.1)
    raise AssertionError("the server did not start")


async def test_given_kills_at_random_instants_then_no_acknowledged_write_is_missing(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    known = Known(folder)
    for _ in range(KILLS):
        await one_life(tmp_path / "data", known, random.uniform(0.01, 1.0))
    await one_life(tmp_path / "data", known, 0)
    print(f"{KILLS} kills, {known.told} acknowledged writes, none missing")
    assert known.told >= 2 * KILLS

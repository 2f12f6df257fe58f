"""A backup that takes a minute and a half, on a PostgreSQL that two servers share: what the other
one's writes and deletes cost meanwhile, and whether a question fails at either.

Whoever reads the backup's steps is slow, as a slow disk would be. `BENCH_SECONDS=600` is slower.
"""

import asyncio
import os
import tempfile
import time
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.kill9 import write
from benchmarks.row import Row
from ragstone import build
from ragstone.core.errors import RagstoneError
from ragstone.core.turn import Ask, Principal
from ragstone.plugins.evaluation.measures import percentile
from ragstone.remote import connect_service
from ragstone.service import IngestRequest, Service
from ragstone.service.server_file import find_server
from ragstone.settings import Settings
from tests.conformance.postgres_server import postgres_server
from tests.e2e.processes import serving

SECONDS = float(os.environ.get("BENCH_SECONDS", "90"))
FILES = 400
QUIET = 12
"""Writes and deletes before the backup begins."""

STEPS = 5
"""What the backup rests after: the state, and 512 chunks each."""


@dataclass
class Seen:
    """What became of questions, and how long writes and deletes took."""

    asked: int = 0
    errors: list[str] = field(default_factory=list)
    quiet: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as directory, postgres_server() as postgres:
        root = Path(directory)
        write(root / "documents", FILES)
        there = {"STATE__URL": postgres.url, "INDEX__URL": postgres.url}
        with serving(root / "there", **there):
            settings = Settings(
                ragstone_data=root / "here",
                state={"url": postgres.url},
                index={"url": postgres.url},
            )
            return asyncio.run(measure(settings, root))


async def measure(settings: Settings, root: Path) -> list[Row]:
    server = await asyncio.to_thread(find_server, root / "there")
    assert server is not None
    seen, file = Seen(), root / "backup.ragstone"
    async with build.open(settings) as here, aclosing(connect_service(*server)) as there:
        for name in ("default", "second"):
            await ingest(here, root / "documents", name)
        before = await contents(here)
        asking = [asyncio.create_task(ask(item, seen)) for item in (here, there)]
        for number in range(QUIET):
            seen.quiet.append(await change(there, root, number))
        then = await contents(here)
        changing = asyncio.create_task(change_on(there, root, seen))
        failure = await back_up(here, file)
        for task in (changing, *asking):
            task.cancel()
        await asyncio.wait((changing, *asking))
        whole = False
        if not failure:
            async for _ in here.maintenance.restore(str(file)):
                pass
            found = [step async for step in here.maintenance.examine(False)][-1].notes
            whole = await contents(here) == then and not found
    assert before != then
    for error in sorted(set(seen.errors)) + ([failure] if failure else []):
        print(f"  {error}", flush=True)
    what = f"A backup of {SECONDS:.0f} s beside another server"
    quiet, beside = percentile(seen.quiet, 0.5), percentile(seen.beside, 0.5)
    return [
        Row(f"{what}: questions asked at both", seen.asked),
        Row(f"{what}: questions that failed", len(seen.errors), most=0),
        Row(f"{what}: writes with a delete", len(seen.beside)),
        Row(f"{what}: a write and a delete, times one before it, p50", beside / quiet, most=2),
        Row(f"{what}: the longest, times that", max(seen.beside) / quiet),
        Row(f"{what}: what is restored is what there was at its beginning", whole, least=1),
    ]


async def back_up(service: Service, file: Path) -> str:
    """Write a backup slowly; why it failed, else nothing."""
    try:
        async for step in service.maintenance.back_up(str(file)):
            if not step.finished:
                await asyncio.sleep(SECONDS / STEPS)
    except RagstoneError as error:
        return f"The backup failed: {error.message}"
    return ""


async def ask(service: Service, seen: Seen) -> None:
    """Ask until cancelled."""
    while True:
        seen.asked += 1
        try:
            asked = Ask(f"Where does the harbour whistle meet letter {seen.asked}?", cache=False)
            async for event in service.ask(asked):
                if error := getattr(event, "error", None):
                    seen.errors.append(str(error))
        except RagstoneError as error:
            seen.errors.append(error.message)


async def change_on(service: Service, root: Path, seen: Seen) -> None:
    """Drop a collection, then write and delete until cancelled."""
    await service.delete(Principal(), "second", None)
    for number in range(QUIET, FILES):
        seen.beside.append(await change(service, root, number))


async def change(service: Service, root: Path, number: int) -> float:
    """Write a new version of a document and delete it; the seconds that took."""
    file = root / "documents" / f"{number:03}.md"
    file.write_text(f"# Document {number}\n\nThe meadow of {number} lanterns.\n", encoding="utf-8")
    began = time.perf_counter()
    await ingest(service, file, "default")
    await service.delete(Principal(), "default", [f"/documents/{file.name}"])
    return time.perf_counter() - began


async def ingest(service: Service, what: Path, collection: str) -> None:
    request = IngestRequest((str(what),), collection)
    last = [step async for step in service.ingest(request)][-1]
    assert not last.error, last.error
    assert not last.failed, last.failed


async def contents(service: Service) -> list[tuple[str, str, str]]:
    """Return the documents of every collection, and what they are made of."""
    found = []
    for collection in await service.collections(Principal()):
        name = collection.collection.name
        some = await service.documents(Principal(), name, limit=2 * FILES)
        found += [(name, item.path, item.content_hash) for item in some]
    return sorted(found)

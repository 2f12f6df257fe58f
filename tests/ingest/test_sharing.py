"""Several processes ingest one collection, with state in PostgreSQL and the index there or on
another server."""

import asyncio
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from ragstone.core.filters import EVERYTHING, AnyOf, Not
from ragstone.ports.jobs import ENDED, NewJob
from ragstone.service import IngestRequest
from ragstone.service.jobs import JobView
from tests.conformance.elasticsearch_server import ElasticsearchServer
from tests.conformance.postgres_server import PostgresServer
from tests.ingest.helper_process import WHO, Site, site
from tests.jobs.adapters import fresh_database
from tests.patience import PATIENCE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FILES, PARAGRAPHS = 300, 3

HIDING = 'mount -t tmpfs none "$1" && shift && exec "$@"'
"""Runs a command for which a folder is empty."""


def can_hide() -> bool:
    """Whether this user may mount something where only one process sees it."""
    done = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    return done.returncode == 0


@pytest.fixture
async def url(postgres: PostgresServer) -> str:
    return await fresh_database(postgres.url)


@pytest.fixture
async def here(url: str, tmp_path: Path) -> AsyncIterator[Site]:
    """This process, which runs no jobs until it is told to."""
    async with site(url, url, tmp_path / "here") as made:
        yield made


@pytest.fixture(params=["qdrant", "elasticsearch"])
def index_url(request: pytest.FixtureRequest) -> str:
    """The address of an index that is not in the database of the state."""
    if request.param == "qdrant":
        url, _ = request.getfixturevalue("qdrant")
        return str(url)
    server: ElasticsearchServer = request.getfixturevalue("elasticsearch")
    return f"elasticsearch+{server.url}"


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    write(folder, FILES)
    return folder


def write(folder: Path, count: int) -> None:
    """Files of some chunks each, of which no two say the same."""
    for number in range(count):
        said = [f"Whale {number} sang verse {verse}. " * 40 for verse in range(PARAGRAPHS)]
        (folder / f"{number:04}.txt").write_text("\n\n".join(said), encoding="utf-8")


class Process:
    """A process that ingests and helps."""

    def __init__(
        self, url: str, folder: Path, *seconds: float, hiding: Path | None = None, index: str = ""
    ) -> None:
        """`hiding` is a folder that it finds empty; without `index`, that is in the database."""
        folder.mkdir(parents=True, exist_ok=True)
        self.told = folder / "told"
        self._file: IO[bytes] = self.told.open("wb")
        command = [sys.executable, "-m", "tests.ingest.helper_process", url, index or url]
        command += [str(folder), *map(str, seconds)]
        if hiding:
            command = ["unshare", "--mount", "sh", "-c", HIDING, "sh", str(hiding), *command]
        self._process = subprocess.Popen(command, stdout=self._file, cwd=ROOT)

    async def ready(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while b"ready" not in self.told.read_bytes():
                assert self._process.poll() is None
                await asyncio.sleep(0.05)

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self._process.send_signal(signal.SIGCONT)
        self._process.kill()
        self._process.wait()
        self._file.close()


@contextmanager
def processes(url: str, folder: Path, count: int, *seconds: float) -> Iterator[list[Process]]:
    running = [Process(url, folder / f"process{n}", *seconds) for n in range(count)]
    try:
        yield running
    finally:
        for process in running:
            process.kill()


async def submit(here: Site, documents: Path, id: str = "big") -> None:
    """Queue an ingest, without running it here."""
    collection = await here.catalog.identity("default", "law")
    request: dict[str, Any] = {"paths": [str(documents)], "collection": "law"}
    new = NewJob(id, "ingest", request, WHO.tenant, WHO.user, WHO.groups, collection)
    await here.jobs._store.submit(new, 100)


async def view(here: Site, id: str = "big") -> JobView:
    found = await here.jobs.get(WHO, id)
    assert found
    return found


async def ended(here: Site, id: str = "big") -> JobView:
    async with asyncio.timeout(PATIENCE):
        while (now := await view(here, id)).state not in ENDED:
            await asyncio.sleep(0.1)
    return now


async def embedded_some(here: Site, share: float, id: str = "big") -> None:
    """Wait until the job is so far, or has ended."""
    async with asyncio.timeout(PATIENCE):
        while (now := await view(here, id)).state not in ENDED:
            if (now.progress.get("share") or 0.0) >= share:
                return
            await asyncio.sleep(0.05)


async def begun(here: Site, running: list[Process], documents: Path) -> set[int]:
    """Have an ingest begin; the processes that have parts of it, as soon as one has."""
    for process in running:
        await process.ready()
    await submit(here, documents)
    async with asyncio.timeout(PATIENCE):
        while not (at := (await workers_of(here))["part"]):
            await asyncio.sleep(0.02)
    return at


async def workers_of(here: Site) -> dict[str, set[int]]:
    """The processes that have an ingest, and those that have parts of one, by their ids."""
    from sqlalchemy import select

    from ragstone.store.sql.tables import jobs

    async with here.database.read_view() as connection:
        rows = await connection.execute(
            select(jobs.c.part_of, jobs.c.worker).where(jobs.c.state == "running")
        )
        found: dict[str, set[int]] = {"whole": set(), "part": set()}
        for part_of, worker in rows:
            found["part" if part_of else "whole"].add(int(worker.split("-")[-2]))
        return found


async def everything_is_there_once(here: Site, files: int = FILES) -> None:
    """Each document answers, with each of its chunks once, each with its vector."""
    collection = await here.catalog.collection("default", "law")
    assert collection
    known = {
        document.id: document for document in await here.catalog.documents("default", collection.id)
    }
    assert len(known) == files
    assert {item.status for item in known.values()} == {"ready"}
    async with here.catalog.snapshot(collection) as hidden:
        where = Not(AnyOf("revision", tuple(hidden))) if hidden else EVERYTHING
        seen = [chunk async for some in here.index.scan(collection, where) for chunk in some]
    per_document = Counter(chunk.document_id for chunk in seen)
    assert per_document == {id: item.chunks for id, item in known.items()}
    assert len({(chunk.path, chunk.chunk_index) for chunk in seen}) == len(seen)
    assert await here.index.without_vectors(collection, 10, where) == []


def adds_up(job: JobView, files: int = FILES) -> None:
    assert job.state == "done", job.error
    done = job.progress
    assert (done["indexed"] + done["unchanged"], done["total"]) == (files, files)
    assert done["files"] == files
    assert done["failed"] == []


def helpers(job: JobView) -> str:
    notes = [note for note in job.progress["notes"] if note.startswith("Other processes helped")]
    return " ".join(notes)


async def test_three_processes_ingest_one_collection_and_each_does_some_of_it(
    here: Site, url: str, documents: Path, tmp_path: Path
) -> None:
    with processes(url, tmp_path, 3, 0.3, 0.02) as running:
        for process in running:
            await process.ready()
        await submit(here, documents)
        job = await ended(here)
    adds_up(job)
    assert job.progress["indexed"] == FILES
    assert job.progress["chunks"] == job.progress["embedded"] > FILES * 2
    await everything_is_there_once(here)
    said = helpers(job)
    assert sum(f"-{process.pid}-" in said for process in running) == 2, said


async def test_kill_9_of_a_helper_and_of_who_leads_thrice_leaves_every_document_once(
    here: Site, url: str, documents: Path, tmp_path: Path
) -> None:
    with processes(url, tmp_path, 3, 0.4, 0.03) as running:
        for process in running:
            await process.ready()
        await submit(here, documents)
        for kill in range(6):
            await embedded_some(here, 0.02 + 0.1 * kill)
            await asyncio.sleep(random.uniform(0, 1))
            at = (await workers_of(here))["part" if kill % 2 else "whole"]
            for victim in [item for item in running if item.pid in at][:1]:
                victim.kill()
                running.remove(victim)
                running.append(Process(url, tmp_path / f"after{kill}", 0.4, 0.03))
        job = await ended(here)
    adds_up(job)
    assert job.attempts > 1
    await everything_is_there_once(here)


async def test_a_rebuild_is_embedded_by_several_and_whole_after_kill_9_of_one_of_them(
    here: Site, url: str, documents: Path, tmp_path: Path
) -> None:
    await here.pipeline.ingest("first", IngestRequest((str(documents),), "law"), lambda _: None)
    before = await here.catalog.collection("default", "law")
    assert before
    with processes(url, tmp_path, 3, 0.5) as running:
        for process in running:
            await process.ready()
        request = {"collection": "law"}
        new = NewJob("anew", "rebuild", request, WHO.tenant, WHO.user, WHO.groups, before.id)
        await here.jobs._store.submit(new, 100)
        async with asyncio.timeout(PATIENCE):
            while not (at := (await workers_of(here))["part"]):
                await asyncio.sleep(0.02)
        victim = next(item for item in running if item.pid in at)
        victim.kill()
        running.remove(victim)
        job = await ended(here, "anew")
    assert job.state == "done", job.error
    after = await here.catalog.collection("default", "law")
    assert after is not None
    assert after.build == before.build + 1
    await everything_is_there_once(here)
    assert job.progress["chunks"] == job.progress["embedded"] == await here.index.count(after)
    assert helpers(job)


async def test_kill_9_leaves_every_document_once_in_an_index_on_another_server(
    url: str, index_url: str, documents: Path, tmp_path: Path
) -> None:
    async with site(url, index_url, tmp_path / "here") as here:
        running = [Process(url, tmp_path / f"process{n}", 0.3, 0.03, index=index_url) for n in "ab"]
        try:
            at = await begun(here, running, documents)
            [helper] = [item for item in running if item.pid in at]
            helper.kill()
            running.remove(helper)
            running.append(Process(url, tmp_path / "processc", 0.3, 0.03, index=index_url))
            await running[-1].ready()
            async with asyncio.timeout(PATIENCE):
                while running[-1].pid not in (await workers_of(here))["part"]:
                    await asyncio.sleep(0.02)
            running.pop(0).kill()  # It leads: the one that helped takes its place.
            job = await ended(here)
        finally:
            for process in running:
                process.kill()
        adds_up(job)
        assert job.attempts > 1
        await everything_is_there_once(here)


async def test_a_helper_that_stands_still_until_all_is_done_by_others_changes_nothing_any_more(
    here: Site, url: str, documents: Path, tmp_path: Path
) -> None:
    with processes(url, tmp_path, 2, 0.3, 0.03) as running:
        at = await begun(here, running, documents)
        [helper] = [item for item in running if item.pid in at]
        helper.send(signal.SIGSTOP)
        job = await ended(here)
        adds_up(job)
        helper.send(signal.SIGCONT)
        # What it was at comes to its end, and is nobody's: it takes up the next work.
        await submit(here, documents, "again")
        await ended(here, "again")
        await asyncio.sleep(1)
    await everything_is_there_once(here)


@pytest.mark.skipif(not can_hide(), reason="takes a mount namespace")
async def test_who_does_not_see_the_folder_says_so_fails_no_file_and_embeds(
    here: Site, url: str, documents: Path, tmp_path: Path
) -> None:
    (documents / "broken.pdf").write_bytes(b"no pdf")
    with processes(url, tmp_path, 1, 1.5, 0.03) as running:
        await running[0].ready()
        await submit(here, documents)
        running.append(Process(url, tmp_path / "blind", 0.3, hiding=documents))
        await running[1].ready()
        job = await ended(here)
    assert [item["path"] for item in job.progress["failed"]] == ["/documents/broken.pdf"]
    assert (job.progress["indexed"], job.progress["files"]) == (FILES, FILES + 1)
    [note] = [item for item in job.progress["notes"] if "could not help" in item]
    assert f"does not have {documents}" in note
    assert re.search("read 0 files and embedded [0-9,]+ chunks", helpers(job))
    assert not re.search("embedded 0 chunks", helpers(job))


async def test_cancelling_stops_the_helpers(
    here: Site, url: str, documents: Path, tmp_path: Path
) -> None:
    with processes(url, tmp_path, 2, 0.4, 0.05) as running:
        await begun(here, running, documents)
        await here.jobs.cancel(WHO, "big")
        assert await workers_of(here) == {"whole": set(), "part": set()}
        async with asyncio.timeout(PATIENCE), here.catalog.alone("default", await law(here)):
            await asyncio.sleep(1)
            before = await documents_of(here)
            await asyncio.sleep(2)
            assert await documents_of(here) == before
        assert 0 < len(before) < FILES
        await here.jobs.retry(WHO, "big")
        job = await ended(here)
    adds_up(job)
    await everything_is_there_once(here)
    # What the helpers were writing when they were stopped is not hidden, but gone.
    async with here.catalog.snapshot() as hidden:
        assert hidden == frozenset()


async def law(here: Site) -> str:
    return await here.catalog.identity("default", "law")


async def documents_of(here: Site) -> dict[str, tuple[int, str]]:
    known = await here.catalog.documents("default", await law(here))
    return {item.path: (item.version, item.status) for item in known}

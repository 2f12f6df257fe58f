"""One ingest of one collection by one, two and four processes, with state and index in PostgreSQL.

Once with the bundled model, of which one process already takes every processor: on few of them more
processes gain little. And once with an embedder that takes a while and no processor, as a server
with accelerators does, so that the gain is that of the sharing itself.
"""

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.ingest import write
from benchmarks.row import Row
from ragstone.core.turn import Principal
from ragstone.ports.jobs import ENDED, Job, NewJob
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.jobs import SqlJobs
from tests.conformance.postgres_server import PostgresServer, postgres_server
from tests.ingest.test_sharing import write as write_many
from tests.jobs.adapters import fresh_database, shared_database

MANY = 400
BATCH_SECONDS = 2.0
"""What the other embedder takes for 64 chunks."""

WHO = Principal()
HELPED = re.compile(r"(\S+) read ([\d,]+) files and embedded ([\d,]+) chunks")


@dataclass(frozen=True)
class Measured:
    """Seconds of an ingest, and what others than the process that ran it did of it."""

    seconds: float
    files: int
    chunks: int
    others_files: tuple[int, ...]
    others_chunks: tuple[int, ...]

    @property
    def rate(self) -> float:
        return self.files / self.seconds

    @property
    def shares(self) -> str:
        """Of files read and chunks embedded, the process that ran it first."""
        read = (self.files - sum(self.others_files), *self.others_files)
        made = (self.chunks - sum(self.others_chunks), *self.others_chunks)
        return f"read {_sum(read)}, embedded {_sum(made)}"


def _sum(numbers: Iterable[int]) -> str:
    return " + ".join(f"{number:,}" for number in numbers)


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as directory, postgres_server() as server:
        root = Path(directory)
        write(root / "few")
        (root / "many").mkdir()
        write_many(root / "many", MANY)
        few = {n: best(server, root / "few", root / f"few{n}", n) for n in (1, 2)}
        yield from rows(f"bundled model, {os.cpu_count()} processors", few)
        many = {
            n: measured(server, root / "many", root / f"many{n}", n, real=False) for n in (1, 2, 4)
        }
        yield from rows("embedder elsewhere", many, least={2: 1.5})


def rows(what: str, by_count: Mapping[int, Measured], least: Mapping[int, float] = {}) -> list[Row]:
    one = by_count[1]
    found = [Row(f"Ingest by one process, {what}", one.rate, "files/s", detail=True)]
    for count, several in by_count.items():
        if count > 1:
            ratio = several.rate / one.rate
            name = f"Ingest by {count} processes, {what}, relative to one"
            found.append(Row(name, ratio, "x", least.get(count), note=several.shares))
    return found


def best(server: PostgresServer, documents: Path, folder: Path, count: int) -> Measured:
    """Return the faster of two: a machine that others share is not always as fast."""
    folder.mkdir()
    tries = [measured(server, documents, folder / str(n), count, real=True) for n in (1, 2)]
    return min(tries, key=lambda item: item.seconds)


def measured(
    server: PostgresServer, documents: Path, folder: Path, count: int, *, real: bool
) -> Measured:
    return asyncio.run(measure(server.url, documents, folder, count, real))


async def measure(server: str, documents: Path, folder: Path, count: int, real: bool) -> Measured:
    url = await fresh_database(server)
    async with shared_database(url) as database:
        catalog, store = await SqlCatalog.open(database), SqlJobs(database)
        with workers(url, folder, count, real):
            # Each runs two ingests at a time: all have their models before the clock starts.
            (folder / "warm.txt").write_text("Whales sing in the deep sea. " * 50)
            warm = [
                await ingest(catalog, folder / "warm.txt", f"warm{n}") for n in range(2 * count)
            ]
            await asyncio.gather(*(wait_until_done(store, item) for item in warm))
            new = await ingest(catalog, documents, "whole")
            started = time.perf_counter()
            job = await wait_until_done(store, new)
            seconds = time.perf_counter() - started
    said = HELPED.findall(" ".join(job.progress["notes"]))
    return Measured(
        seconds,
        job.progress["indexed"],
        job.progress["chunks"],
        tuple(int(files.replace(",", "")) for _, files, _ in said),
        tuple(int(chunks.replace(",", "")) for _, _, chunks in said),
    )


async def ingest(catalog: SqlCatalog, path: Path, name: str) -> NewJob:
    id = await catalog.identity(WHO.tenant, name)
    return NewJob(name, "ingest", {"paths": [str(path)], "collection": name}, collection=id)


async def wait_until_done(store: SqlJobs, new: NewJob) -> Job:
    await store.submit(new, 10)
    while True:
        job = await store.get(new.id)
        if job and job.state in ENDED:
            if job.state != "done":
                raise RuntimeError(job.error)
            return job
        await asyncio.sleep(0.05)


@contextmanager
def workers(url: str, folder: Path, count: int, real: bool) -> Iterator[None]:
    """So many processes that are ready; `real` ones are `ragstone worker`."""
    folder.mkdir()
    running = []
    try:
        for number in range(count):
            data = folder / f"data{number}"
            if real:
                command = ["-c", "from ragstone.cli import main; main()", "worker"]
            else:
                command = ["-m", "tests.ingest.helper_process", url, url, str(data)]
                command.append(str(BATCH_SECONDS))
            set_ = {"RAGSTONE_DATA": str(data), "STATE__URL": url, "INDEX__URL": url}
            told = folder / f"told{number}"
            with told.open("wb") as file:
                running.append(
                    subprocess.Popen(
                        [sys.executable, *command], stdout=file, env={**os.environ, **set_}
                    )
                )
            while not told.read_bytes():
                if running[-1].poll() is not None:
                    raise RuntimeError("A worker ended at once.")
                time.sleep(0.05)
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()

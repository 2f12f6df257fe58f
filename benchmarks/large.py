"""A large folder of real small files through a real server: the time of each file when there are
1,000 and when there are 20,000, what `/health` waits meanwhile, and what lists of them take.

`RAGSTONE_LARGE_FILES=FOLDER` names a folder; of the files below it of at most 4 KB, in an order by
chance, the first 1,000 are one ingest and the next 20,000 another. `BENCH_FILES=5000` takes fewer.
"""

import asyncio
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import httpx

from benchmarks.common import own_mb, resident_mb
from benchmarks.row import Row
from ragstone.core.turn import Principal
from ragstone.plugins.evaluation.measures import percentile
from ragstone.remote import connect_service
from ragstone.service import IngestRequest, Progress, Service
from ragstone.service.server_file import find_server
from tests.e2e.processes import serving

FEW, MANY = 1_000, int(os.environ.get("BENCH_FILES", "20000"))
LARGEST = 4_096
KINDS = frozenset(
    (
        ".md",
        ".rst",
        ".txt",
        ".html",
        ".py",
        ".js",
        ".ts",
        ".json",
        ".yaml",
        ".c",
        ".h",
        ".sh",
        ".css",
    )
)
PAUSE = 0.05
"""Seconds between two calls of /health."""

REPEATS = 5
COLLECTION = "default"

List = Callable[[Service, httpx.AsyncClient], Awaitable[object]]
LISTS: dict[str, List] = {
    "models": lambda service, http: http.get("/v1/models"),
    "collections": lambda service, http: http.get("/api/v1/collections"),
    "@rag-status": lambda service, http: http.get("/@rag-status"),
    "status": lambda service, http: service.overview(),
    "one collection": lambda service, http: service.collection(Principal(), COLLECTION),
    "100 documents": lambda service, http: service.documents(Principal(), COLLECTION, limit=100),
    "8,000 documents": lambda service, http: service.documents(
        Principal(), COLLECTION, limit=8_000
    ),
    "folders": lambda service, http: service.reading.folders(Principal(), COLLECTION),
}


@dataclass(frozen=True, slots=True)
class Run:
    """An ingest: seconds until everything was searchable by words and until it had ended, and its
    last word."""

    searchable: float
    seconds: float
    last: Progress


@dataclass
class Seen:
    """Seconds of each call of /health, and the server's largest memory, whole and but for what is
    part of a file."""

    health: list[float] = field(default_factory=list)
    memory: float = 0.0
    own: float = 0.0


def run() -> Iterator[Row]:
    source = os.environ.get("RAGSTONE_LARGE_FILES")
    if not source:
        sys.exit("Set RAGSTONE_LARGE_FILES to a folder with many small files.")
    with tempfile.TemporaryDirectory(prefix="ragstone-large-") as directory:
        root = Path(directory)
        copy_folders(Path(source), root)
        with serving(root / "data"):
            yield from asyncio.run(measure(root))


def copy_folders(source: Path, root: Path) -> None:
    """Copy the two folders, 200 files in each folder of theirs. Of files of one content, whose
    vectors would be made once, one is taken."""
    every = [path for path in source.rglob("*") if path.suffix in KINDS and path.is_file()]
    small = (path for path in sorted(every) if 0 < path.stat().st_size <= LARGEST)
    found = list({sha256(path.read_bytes()).digest(): path for path in small}.values())
    random.Random(0).shuffle(found)
    if len(found) < FEW + MANY:
        sys.exit(f"Below {source} are {len(found):,} small files; {FEW + MANY:,} are needed.")
    for name, some in (("few", found[:FEW]), ("many", found[FEW : FEW + MANY])):
        for number, path in enumerate(some):
            place = root / name / f"{number // 200:03}" / f"{number:05}-{path.name}"
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)


async def measure(root: Path) -> list[Row]:
    server = await asyncio.to_thread(find_server, root / "data")
    assert server is not None
    url, token = server
    seen = Seen()
    async with aclosing(connect_service(url, token)) as service, ask(url, token) as http:
        watching = asyncio.create_task(watch(http, process(root / "data"), seen))
        few = await ingested(service, root / "few")
        many = await ingested(service, root / "many")
        watching.cancel()
        lists = {name: await took(work, service, http) for name, work in LISTS.items()}
    files = f"{MANY:,} real small files"
    return [
        Row(
            f"{files}: searchable by words, files a minute", 60 * MANY / many.searchable, least=1000
        ),
        Row(
            f"{files}: each until searchable by words, times that of {FEW:,}",
            (many.searchable / MANY) / (few.searchable / FEW),
            "x",
            most=1.2,
        ),
        Row(f"{files}: chunks", many.last.chunks, detail=True),
        Row(f"{files}: with vectors", many.seconds, "s", detail=True),
        Row(f"{files}: chunks with vectors a second", many.last.chunks / many.seconds, detail=True),
        Row(
            f"{files}: each chunk until it has its vector, times that of {FEW:,} files",
            (many.seconds / many.last.chunks) / (few.seconds / few.last.chunks),
            "x",
            most=1.2,
        ),
        Row(f"{files}: that failed", many.last.failures, detail=True),
        Row(f"{files}: the server's memory at most", seen.memory, "MB", most=1000),
        Row(f"{files}: of that no part of a file", seen.own, "MB", detail=True),
        Row(f"{files}: /health meanwhile, p50", 1000 * percentile(seen.health, 0.5), "ms"),
        Row(
            f"{files}: /health meanwhile, p99", 1000 * percentile(seen.health, 0.99), "ms", most=50
        ),
        Row(f"{files}: /health meanwhile, longest", 1000 * max(seen.health), "ms", detail=True),
        *(Row(f"{files}: {name}", 1000 * lists[name], "ms", most=1000) for name in LISTS),
    ]


def ask(url: str, token: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=url, timeout=60, headers={"authorization": f"Bearer {token}"})


def process(data: Path) -> int:
    """Return the server's id."""
    pid: int = json.loads((data / "server.json").read_text())["pid"]
    return pid


async def watch(http: httpx.AsyncClient, pid: int, seen: Seen) -> None:
    """Call /health until cancelled."""
    while True:
        began = time.perf_counter()
        (await http.get("/health")).raise_for_status()
        seen.health.append(time.perf_counter() - began)
        seen.memory = max(seen.memory, resident_mb(pid))
        seen.own = max(seen.own, own_mb(pid))
        await asyncio.sleep(PAUSE)


async def ingested(service: Service, folder: Path) -> Run:
    began, searchable = time.perf_counter(), 0.0
    async for last in service.ingest(IngestRequest((str(folder),), COLLECTION)):
        if last.phase != "reading" and not searchable:
            searchable = time.perf_counter() - began
    assert not last.error, last.error
    assert last.indexed + last.failures == last.total, last
    return Run(searchable, time.perf_counter() - began, last)


async def took(work: List, service: Service, http: httpx.AsyncClient) -> float:
    """Return the longest of some times: the first pays for what is kept."""
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        answer = await work(service, http)
        if isinstance(answer, httpx.Response):
            answer.raise_for_status()
        seconds.append(time.perf_counter() - began)
    return max(seconds)

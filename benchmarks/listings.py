"""What requests cost that show a part of a large collection: each over 200,000 documents and over
2,000 in one run, and the longest stop of the event loop meanwhile.

Documents are rows as ingest would write them, each with a chunk in the index, without vectors.
`BENCH_DOCUMENTS=20000` makes fewer; the small collection has a hundredth of them. The state is in
SQLite, with `BENCH_STATE=postgresql` in PostgreSQL.
"""

import asyncio
import gc
import json
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx2
from sqlalchemy import Connection, insert

from benchmarks.common import own_mb
from benchmarks.row import Row
from ragstone import build
from ragstone.core.chunk import Chunk, revision
from ragstone.core.records import Collection, Document
from ragstone.core.turn import Principal
from ragstone.http.app import create_app
from ragstone.ingest.write import document_id
from ragstone.service.contract import operations
from ragstone.service.wire import OPERATION_HEADER
from ragstone.settings import Settings
from ragstone.store.sql.rows import document_row
from ragstone.store.sql.tables import documents, revisions, versions
from tests.conformance.postgres_server import PostgresServer

TOKEN = "benchmark"
DOCUMENTS = int(os.environ.get("BENCH_DOCUMENTS", "200000"))
SHARED = os.environ.get("BENCH_STATE") == "postgresql"
PAGE, WHOLE, FOLDER = 100, 8_000, 20
"""Documents of a page, of a long list, and of a folder."""

REPEATS = 5
SMALL = max(REPEATS * FOLDER, DOCUMENTS // 100)
TICK = 0.001
LOOKS = 50
"""Ticks from one look at the memory to the next."""

BATCH = 2_000
ALLOWED = (("*",), ("*", "group:staff"), ("group:board",))

Operation = Callable[["Caller"], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Measured:
    """The median seconds of an operation, its first ones, the longest stop of the loop, and what
    it added to the memory of the process while it ran, in megabytes."""

    first: float
    median: float
    stop: float
    memory: float


class Caller:
    """Asks the server in this process as its operator does."""

    def __init__(self, http: httpx2.AsyncClient, service: Any, collection: str) -> None:
        self.http = http
        self.service = service
        self.collection = collection
        self.deleted = 0

    async def get(self, path: str) -> None:
        (await self.http.get(path)).raise_for_status()

    async def call(self, name: str, **given: Any) -> bytes:
        """Call an operation by the server's own protocol; the answer as it was sent."""
        operation = operations()[name]
        content = json.dumps(operation.dump({"principal": Principal(), **given})).encode()
        headers = {
            "content-type": "application/json",
            OPERATION_HEADER: operation.fingerprint,
        }
        answer = await self.http.post(f"/local/call/{name}", content=content, headers=headers)
        answer.raise_for_status()
        return answer.content

    async def delete_folder(self) -> None:
        """Delete the next folder of the collection."""
        path = f"/share/{self.deleted:05}"
        self.deleted += 1
        await self.service.delete(Principal(), self.collection, [path])

    async def examine(self) -> None:
        async for _ in self.service.maintenance.examine(False):
            pass


def operations_measured(count: int) -> dict[str, Operation]:
    """Return each operation by its name."""
    middle = path_of(count // 6 * 3)  # one that everybody may read
    found: dict[str, Operation] = {
        "models": lambda c: c.get("/v1/models"),
        "collections": lambda c: c.get("/api/v1/collections"),
        "one collection": lambda c: c.call("collection", collection=c.collection),
        "status": lambda c: c.service.overview(),
        "@rag-status": lambda c: c.get("/@rag-status"),
        "the web app's page": lambda c: c.get("/"),
        f"{PAGE} documents": lambda c: c.call(
            "documents", collection=c.collection, limit=PAGE, after=middle
        ),
        f"{PAGE} documents of one year": lambda c: c.call(
            "documents", collection=c.collection, limit=PAGE, having={"year": 2003}
        ),
        "its folders": lambda c: c.call("reading.folders", collection=c.collection),
        f"{PAGE} folders in one": lambda c: c.call(
            "reading.folders", collection=c.collection, below="/share", limit=PAGE
        ),
        "its metadata": lambda c: c.call("reading.facets", collection=c.collection),
        "reading a document": lambda c: c.call(
            "reading.read", collection=c.collection, path=middle, offset=0, limit=1000
        ),
        f"deleting {FOLDER} documents": lambda c: c.delete_folder(),
        "doctor": lambda c: c.examine(),
    }
    if count >= WHOLE:
        found[f"{WHOLE:,} documents"] = lambda c: c.call(
            "documents", collection=c.collection, limit=WHOLE
        )
    return found


EVERYTHING = frozenset({"doctor"})
"""What looks at all documents by its nature, and is only to leave the loop alone, to take a time
in proportion to them and no memory. It is asked once."""


def run() -> Iterator[Row]:
    few, many = (asyncio.run(measure(count)) for count in (SMALL, DOCUMENTS))
    state = ", state in PostgreSQL" if SHARED else ""
    for name, item in many.items():
        what = f"{DOCUMENTS:,} documents{state}: {name}"
        whole = name in EVERYTHING
        yield Row(what, 1000 * item.median, "ms", most=None if whole else 1000)
        yield Row(f"{what}, the first time", 1000 * item.first, "ms", detail=True)
        yield Row(
            f"{what}, longest stop of the loop", 1000 * item.stop, "ms", most=100, detail=True
        )
        if name not in few:
            continue
        times = item.median / few[name].median
        yield Row(f"{what}, times that of {SMALL:,}", times, "", detail=True)
        if whole:
            each = times * SMALL / DOCUMENTS
            yield Row(f"{what}, time per document, times that of {SMALL:,}", each, most=2)
            yield Row(f"{what}, memory it adds", item.memory, "MB", most=50)


def path_of(number: int) -> str:
    return f"/share/{number // FOLDER:05}/{number % FOLDER:02}.md"


async def measure(count: int) -> dict[str, Measured]:
    """Return every operation on a collection of so many documents."""
    with tempfile.TemporaryDirectory() as directory, state_url(Path(directory)) as url:
        settings = Settings(ragstone_data=Path(directory), state={"url": url} if url else {})
        collection = await make_collection(settings)
        async with build.open_adapters(settings) as (adapters, _, database):
            await adapters.catalog.put_collection(collection)
            await adapters.index.create(collection)
            for start in range(0, count, BATCH):
                some = [document(collection, n) for n in range(start, min(count, start + BATCH))]
                await database.keep(partial(write_rows, some=some))
                await adapters.index.upsert(collection, [chunk(item) for item in some])
        async with build.open(settings) as service:
            gc.collect()
            gc.freeze()  # as `ragstone serve` does when it has started
            app = create_app(service, settings, TOKEN)
            async with httpx2.AsyncClient(
                transport=httpx2.ASGITransport(app),
                base_url="http://127.0.0.1",
                headers={"authorization": f"Bearer {TOKEN}"},
                timeout=600,
            ) as http:
                caller = Caller(http, service, collection.name)
                return {
                    name: await time_operation(work, caller, 1 if name in EVERYTHING else REPEATS)
                    for name, work in operations_measured(count).items()
                }


@contextmanager
def state_url(directory: Path) -> Iterator[str]:
    """An empty database for the state, or nothing for SQLite."""
    if not SHARED:
        yield ""
        return
    server = PostgresServer(directory / "postgres")
    try:
        yield server.url
    finally:
        server.stop()


async def make_collection(settings: Settings) -> Collection:
    """Return a collection for the bundled embedder."""
    async with build.open_embedders(settings) as embedders:
        model = embedders.choose("en")
    return Collection(
        "default", "default", model.name, model.fingerprint, model.dimensions, "en", id="c1"
    )


def document(collection: Collection, number: int) -> Document:
    path = path_of(number)
    return Document(
        document_id(collection.tenant, collection.id, path),
        collection.tenant,
        collection.id,
        path,
        title=f"Report {number}",
        media_type="text/markdown",
        content_hash=f"{number:032x}",
        version=1,
        allowed=ALLOWED[number % len(ALLOWED)],
        metadata={"year": 2000 + number % 25},
        status="ready",
        source=str(Path("/nowhere") / path.strip("/")),
        size=2_000,
        modified=1.7e9 + number,
        chunks=1,
    )


def chunk(of: Document) -> Chunk:
    """Return its only one."""
    return Chunk(
        chunk_id=str(uuid5(NAMESPACE_URL, f"{of.id}@1#0")),
        document_id=of.id,
        version=1,
        chunk_index=0,
        text=f"{of.title} tells of the year {dict(of.metadata or {})['year']}.",
        title=of.title,
        path=of.path,
        tenant=of.tenant,
        collection=of.collection,
        start=0,
        end=40,
        language="en",
        media_type=of.media_type,
        modified=of.modified,
        allowed=of.allowed,
        metadata=of.metadata or {},
    )


def write_rows(connection: Connection, some: Sequence[Document]) -> None:
    """What ingest leaves of finished documents."""
    connection.execute(insert(documents), [document_row(item) for item in some])
    connection.execute(insert(versions), [{"document_id": item.id, "last": 1} for item in some])
    rows = [
        {
            "name": revision(item.id, 1),
            "document_id": item.id,
            "version": 1,
            "tenant": item.tenant,
            "collection": item.collection,
            "state": "live",
        }
        for item in some
    ]
    connection.execute(insert(revisions), rows)


async def time_operation(work: Operation, caller: Caller, repeats: int) -> Measured:
    """Run an operation a few times beside a task that watches the loop and the memory."""
    before, held = own_mb(), 0.0
    stops: list[float] = [0.0]

    async def watch() -> None:
        nonlocal held
        while True:
            began = time.perf_counter()
            await asyncio.sleep(TICK)
            stops.append(time.perf_counter() - began - TICK)
            if len(stops) % LOOKS == 0:
                held = max(held, own_mb())

    watching = asyncio.create_task(watch())
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        await work(caller)
        seconds.append(time.perf_counter() - began)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    added = max(0.0, held - before)
    return Measured(seconds[0], sorted(seconds)[repeats // 2], max(stops), added)

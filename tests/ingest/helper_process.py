"""`python -m tests.ingest.helper_process URL INDEX FOLDER [BATCH_SECONDS] [READ_SECONDS]`: it
ingests, and helps others to, until it is killed. State and queue are in the database at URL.

Embedding a batch and reading a file take so many seconds more than they would.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

from ragstone.core.errors import DocumentError
from ragstone.core.turn import Principal
from ragstone.index.connect import connect
from ragstone.ingest.pipeline import Pipeline
from ragstone.jobs.runner import CONCURRENCY, Runner
from ragstone.local.jobs import LocalJobs
from ragstone.local.work import part_works, works
from ragstone.ports import ChunkIndex, Vectors
from ragstone.settings import IndexSettings, IngestSettings
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import Database
from ragstone.store.sql.jobs import SqlJobs
from ragstone.store.sql.parts import SqlParts, SqlWorkers
from tests.hashing import HashingEmbedder, OneEmbedder
from tests.jobs.adapters import shared_database

WHO = Principal("default", "eva", ("staff",))
QUICK = {"WORKER_TIMEOUT": 5.0, "POLL_SECONDS": 0.1, "DEATHS": 1000}


class SlowEmbedder(HashingEmbedder):
    """Takes a while for every batch, as a model does."""

    seconds = 0.0

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        await asyncio.sleep(self.seconds)
        return await super().embed_passages(texts)


class SlowPipeline(Pipeline):
    """Takes a while for every file."""

    seconds = 0.0

    async def _reads(self, *arguments: Any) -> DocumentError | None:
        await asyncio.sleep(self.seconds)
        return await super()._reads(*arguments)


@dataclass
class Site:
    """What a process has of the shared state."""

    database: Database
    catalog: SqlCatalog
    index: ChunkIndex
    pipeline: Pipeline
    runner: Runner
    jobs: LocalJobs


@asynccontextmanager
async def site(
    url: str,
    index_url: str,
    folder: Path,
    batch_seconds: float = 0.0,
    read_seconds: float = 0.0,
    concurrency: Mapping[str, int] = CONCURRENCY,
) -> AsyncIterator[Site]:
    """A Ragstone without answers, which runs jobs once its runner is started."""
    embedder = SlowEmbedder()
    embedder.seconds = batch_seconds
    with patch.multiple("ragstone.jobs.runner", **QUICK):
        async with shared_database(url) as database:
            catalog = await SqlCatalog.open(database)
            index = connect(IndexSettings(url=index_url), folder / "index")
            ingest = IngestSettings()
            pipeline = SlowPipeline(
                index, catalog, OneEmbedder(embedder), ingest, data=folder, parts=SqlParts(database)
            )
            pipeline.seconds = read_seconds
            store = SqlJobs(database)
            none = cast(Any, None)
            done = {**works(catalog, pipeline, none, none, store), **part_works(pipeline)}
            runner = Runner(store, SqlWorkers(database), done, True, concurrency)
            jobs = LocalJobs(store, catalog, runner)
            try:
                yield Site(database, catalog, index, pipeline, runner, jobs)
            finally:
                await runner.stop()
                await pipeline.aclose()
                await index.aclose()


async def main(url: str, index_url: str, folder: str, *seconds: str) -> None:
    async with site(url, index_url, Path(folder), *map(float, seconds)) as here:
        await here.runner.start()
        print("ready", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

"""What ingest costs for each of many small files, beside parsing and the model.

An embedder that takes no time stands for the model, and parsing is in processes of its own, so the
processor time of this process is what ingest itself takes. Then the same files again, unchanged,
with one of them edited, and with one that a watcher names. `BENCH_FILES=20000` makes more than
2,000.
"""

import asyncio
import os
import random
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import resident_mb
from benchmarks.row import Row
from ragstone.index.edge.index import EdgeIndex
from ragstone.ingest.pipeline import Pipeline
from ragstone.service import IngestRequest, Progress
from ragstone.settings import IngestSettings
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import open_database
from tests.hashing import HashingEmbedder, OneEmbedder

FILES = int(os.environ.get("BENCH_FILES", "2000"))
FOLDER = 200
WIDTH = 384


class InstantEmbedder(HashingEmbedder):
    """Gives every text the same vector."""

    def __init__(self) -> None:
        super().__init__("instant", dimensions=WIDTH)

    async def embed_passages(self, texts: object) -> object:  # type: ignore[override]
        return np.full((len(texts), WIDTH), 0.05, np.float32)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Run:
    """An ingest: seconds, processor seconds of this process, seconds until all was searchable by
    words, and its last word."""

    seconds: float
    processor: float
    searchable: float
    last: Progress


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        write(root / "share")
        yield from asyncio.run(measure(root))


async def measure(root: Path) -> list[Row]:
    async with open_files(root) as pipeline:
        first = await ingest(pipeline, root / "share")
        again = await ingest(pipeline, root / "share")
        (root / "share" / "000" / "00000.md").write_text("# Edited\n\nAnother text.\n")
        edited = await ingest(pipeline, root / "share")
        file = root / "share" / "000" / "00001.md"
        file.write_text("# Edited too\n\nOne more text.\n")
        watched = await ingest(pipeline, root / "share", only=(str(file),), prune=True)
    assert first.last.indexed == again.last.unchanged == FILES
    assert (edited.last.indexed, edited.last.unchanged) == (1, FILES - 1)
    assert (watched.last.indexed, watched.last.total) == (1, 1)
    files = f"{FILES:,} small files"
    return [
        Row(
            f"{files}: processor time of each beside parsing and the model",
            1000 * first.processor / FILES,
            "ms",
            most=5,
        ),
        Row(
            f"{files}: searchable by words, files a minute",
            60 * FILES / first.searchable,
            "",
            least=1000,
        ),
        Row(f"{files}: with vectors", first.seconds, "s", detail=True),
        Row(f"{files}: again, unchanged, each", 1000 * again.seconds / FILES, "ms", most=1),
        Row(f"{files}: again, one edited", edited.seconds, "s", detail=True),
        Row(f"{files}: the one that a watcher saw edited", watched.seconds, "s", most=2),
        Row(f"{files}: resident memory", resident_mb(), "MB", most=1000),
    ]


async def ingest(pipeline: Pipeline, folder: Path, **options: Any) -> Run:
    searchable: list[float] = []
    began, used = time.perf_counter(), time.process_time()

    def report(progress: Progress) -> None:
        if progress.phase != "reading" and not searchable:
            searchable.append(time.perf_counter() - began)

    last = await pipeline.ingest("job", IngestRequest((str(folder),), **options), report)
    took = time.perf_counter() - began
    return Run(took, time.process_time() - used, searchable[0], last)


@asynccontextmanager
async def open_files(root: Path) -> AsyncIterator[Pipeline]:
    async with open_database(root / "state.sqlite") as database:
        catalog = await SqlCatalog.open(database)
        index = EdgeIndex(root / "index")
        data = root / "data"
        data.mkdir()
        settings = IngestSettings()
        pipeline = Pipeline(index, catalog, OneEmbedder(InstantEmbedder()), settings, (), data)
        yield pipeline
        await pipeline.aclose()
        await index.aclose()


def write(folder: Path) -> None:
    """Write small files in folders, each of a heading and a few sentences."""
    words = random.Random(1)
    for number in range(FILES):
        file = folder / f"{number // FOLDER:03}" / f"{number:05}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        said = (
            f"Item {words.randrange(10**6)} costs {words.randrange(10**4)} euros." for _ in range(8)
        )
        file.write_text(f"# Note {number}\n\n{' '.join(said)}\n", encoding="utf-8")

"""1,000,000 chunks in one embedded index: time of a query, recall, memory, and time to build.

Vectors are synthetic: clusters of 50, of the bundled model's width. `BENCH_CHUNKS=100000` makes
fewer. The index is filled in another process, so that its memory is not counted here.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from contextlib import aclosing
from pathlib import Path
from uuid import UUID

import numpy as np

from benchmarks.common import resident_mb
from benchmarks.row import Row
from ragstone.core.chunk import Chunk
from ragstone.core.filters import reader_filter
from ragstone.core.records import Collection
from ragstone.core.turn import Principal
from ragstone.index.edge.index import EdgeIndex
from ragstone.plugins.evaluation.measures import percentile
from ragstone.ports import Search, Vectors

CHUNKS = int(os.environ.get("BENCH_CHUNKS", "1000000"))
DIMENSIONS = 384
CLUSTERS = CHUNKS // 50
NOISE = 0.7
"""Standard deviation around a cluster's centre, whose own is 1."""

BATCH = 2_000
QUERIES = 200
CANDIDATES = 100
COLLECTION = Collection(
    "default", "million", "synthetic", "synthetic/1", DIMENSIONS, "en", id="million"
)
WORDS = np.array([f"word{i}" for i in range(50_000)])


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "benchmarks.million", directory]
        built = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        seconds = float(built)
        rows = asyncio.run(measure(Path(directory)))
    return [
        Row(f"{CHUNKS:,} chunks: written, search structures built, in", seconds, "s"),
        *rows,
    ]


async def measure(data: Path) -> list[Row]:
    """Return queries for what only one principal may read and for everything, and exact ones."""
    asked = vectors(np.random.default_rng(1), QUERIES)
    async with aclosing(EdgeIndex(data)) as index:
        for item in asked[:20]:
            await find_best(index, item, exact=False)
        seconds, near = [], []
        for item in asked:
            started = time.perf_counter()
            near.append(await find_best(index, item, exact=False))
            seconds.append(time.perf_counter() - started)
        memory = resident_mb()  # before the exact searches, which read every vector
        exact = [await find_best(index, item, exact=True) for item in asked]
        hits = sum(len(set(a[:10]) & set(b[:10])) for a, b in zip(near, exact, strict=True))
    return [
        Row(f"{CHUNKS:,} chunks: a search by meaning, p50", 1000 * percentile(seconds, 0.5), "ms"),
        Row(
            f"{CHUNKS:,} chunks: a search by meaning, p95",
            1000 * percentile(seconds, 0.95),
            "ms",
            most=25,
        ),
        Row(f"{CHUNKS:,} chunks: recall@10", hits / (10 * QUERIES), least=0.95),
        Row(f"{CHUNKS:,} chunks: resident memory", memory, "MB", most=3_000),
    ]


async def find_best(index: EdgeIndex, vector: Vectors, exact: bool) -> list[str]:
    """Return the ids of the best chunks under an access filter."""
    search = Search("", vector)
    [one] = await index.search(COLLECTION, [search], reader_filter(Principal()), CANDIDATES, exact)
    return [scored.chunk_id for scored in one.found]


def vectors(random: np.random.Generator, count: int) -> Vectors:
    """Draw unit vectors around the centres of clusters."""
    centres = np.random.default_rng(0).normal(size=(CLUSTERS, DIMENSIONS)).astype(np.float32)
    rows = centres[random.integers(0, CLUSTERS, count)]
    rows = rows + NOISE * random.normal(size=rows.shape).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


async def fill(data: Path) -> None:
    """Write all chunks, and print the seconds that took until every search is fast."""
    random = np.random.default_rng(2)
    async with aclosing(EdgeIndex(data)) as index:
        started = time.perf_counter()
        for start in range(0, CHUNKS, BATCH):
            chunks = [a_chunk(random, start + i) for i in range(min(BATCH, CHUNKS - start))]
            await index.upsert(COLLECTION, chunks, vectors(random, len(chunks)))
            print(f"{start + len(chunks):,}", int(time.perf_counter() - started), file=sys.stderr)
        await index.optimize(COLLECTION)
        print(time.perf_counter() - started)


def a_chunk(random: np.random.Generator, number: int) -> Chunk:
    text = " ".join(WORDS[random.integers(0, len(WORDS), 20)])
    return Chunk(
        chunk_id=str(UUID(int=number)),
        document_id=f"d{number // 100}",
        version=1,
        chunk_index=number % 100,
        text=text,
        title=f"Document {number // 100}",
        path=f"/folder{number % 1000}/d{number // 100}.txt",
        tenant=COLLECTION.tenant,
        collection=COLLECTION.id,
        start=0,
        end=len(text),
    )


if __name__ == "__main__":
    asyncio.run(fill(Path(sys.argv[1])))

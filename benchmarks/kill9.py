"""`kill -9` at random instants of an ingest; the index must end as if nothing had happened."""

import asyncio
import os
import random
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.common import RAGSTONE
from benchmarks.row import Row
from ragstone.build import open_adapters
from ragstone.settings import Settings

FILES = 200
KILLS = 20
WORDS = (
    "harbour ledger compass orchard signal granite meadow lantern voyage archive timber "
    "whistle copper garden winter bridge station morning letter captain island "
)


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        write(root / "documents", FILES)
        undisturbed, seconds = ingest(root / "calm", root / "documents")
        kills = 0
        done = False
        while not done and kills < KILLS:
            done = ingest_until_killed(
                root / "killed", root / "documents", random.uniform(0.8, 3.0)
            )
            kills += not done
        ingest(root / "killed", root / "documents")
        same = undisturbed == contents(root / "killed")
    return [
        Row("Ingest of 200 documents, undisturbed", seconds, "s"),
        Row("Times it was killed with -9", kills, "kills", least=KILLS),
        Row("Index equal to the undisturbed one, chunk for chunk", float(same), "", least=1),
    ]


def write(documents: Path, files: int) -> None:
    """Write files of one to six paragraphs, always the same ones."""
    documents.mkdir(parents=True)
    source = random.Random(7)
    words = WORDS.split()
    for number in range(files):
        paragraphs = [
            " ".join(source.choice(words) for _ in range(source.randint(20, 90))).capitalize() + "."
            for _ in range(source.randint(1, 6))
        ]
        text = f"# Document {number}\n\n" + "\n\n".join(paragraphs)
        (documents / f"{number:03}.md").write_text(text, encoding="utf-8")


def ingest(data: Path, documents: Path) -> tuple[list[tuple[object, ...]], float]:
    """Ingest to the end; what the index then holds, and the seconds it took."""
    started = time.perf_counter()
    subprocess.run(command(data, documents), check=True, capture_output=True)
    return contents(data), time.perf_counter() - started


def ingest_until_killed(data: Path, documents: Path, after: float) -> bool:
    """Ingest, and kill the process after so many seconds; whether it had ended before."""
    process = subprocess.Popen(
        command(data, documents), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        return False
    return True


def command(data: Path, documents: Path) -> list[str]:
    return [RAGSTONE, "--data", str(data), "ingest", str(documents)]


def contents(data: Path) -> list[tuple[object, ...]]:
    """Every chunk with its place, the documents' states, and whether any vector is missing."""

    async def read() -> list[tuple[object, ...]]:
        async with open_adapters(Settings(ragstone_data=data)) as (adapters, _, _):
            [collection] = await adapters.catalog.collections()
            chunks = [c async for batch in adapters.index.scan(collection) for c in batch]
            documents = await adapters.catalog.documents("default")
            waiting = await adapters.index.without_vectors(collection, 10)
            return [
                *sorted((c.path, c.chunk_index, c.version, c.start, c.end, c.text) for c in chunks),
                *((d.path, d.status, d.version, d.chunks, d.content_hash) for d in documents),
                (len(waiting), await adapters.catalog.list_retired() == []),
            ]

    return asyncio.run(read())

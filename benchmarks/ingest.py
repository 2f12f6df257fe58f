"""Does ingest keep the embedder busy? The same texts through ingest, and through it alone: so many
that the start of the job and the building of search structures at its end are a small part."""

import asyncio
import os
import tempfile
import time
from pathlib import Path

from benchmarks.common import eval_data, resident_mb
from benchmarks.row import Row
from ragstone.build import open as open_ragstone
from ragstone.build import open_adapters
from ragstone.plugins.evaluation import dataset
from ragstone.ports import Embedder
from ragstone.service import IngestRequest
from ragstone.settings import Settings

FILES = int(os.environ.get("BENCH_FILES", "300"))
PASSAGES_IN_FILE = 12
SETS = ("squad2_dev", "scifact")


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as directory:
        return asyncio.run(measure(Path(directory)))


async def measure(directory: Path) -> list[Row]:
    documents = directory / "documents"
    write(documents)
    settings = Settings(ragstone_data=directory / "data")
    async with open_ragstone(settings) as ragstone:
        await ragstone.embed(["warm"])
        embedded = 0
        used, started = processor_seconds(), time.perf_counter()
        async for progress in ragstone.ingest(IngestRequest((str(documents),))):
            embedded = progress.embedded
        ingest = embedded / (time.perf_counter() - started)
        used = processor_seconds() - used
        memory = resident_mb()
    async with open_adapters(settings) as (adapters, _, _):
        [collection] = await adapters.catalog.collections()
        texts = [c.searchable async for batch in adapters.index.scan(collection) for c in batch]
        embedder = adapters.embedders.find_indexing(collection)
        await embedder.embed_passages(["warm"])
        # The better of two: a machine that others share is not always as fast.
        alone = processor_seconds()
        bare = max([await speed(embedder, texts) for _ in range(2)])
        alone = (processor_seconds() - alone) / 2
    return [
        Row("The embedder alone", bare, "passages/s"),
        Row("Ingest of text files, from files to vectors", ingest, "passages/s"),
        Row("Ingest, relative to the embedder alone", ingest / bare, "x", least=0.85),
        Row("Ingest, share of its processor time that the embedder alone takes", alone / used, ""),
        Row("Resident memory after ingest", memory, "MB", most=900),
    ]


def processor_seconds() -> float:
    """Return what this process and those that it waited for have used, the programs that read files
    too: it says more than a clock where others want the processors."""
    return sum(os.times()[:4])


async def speed(embedder: Embedder, texts: list[str]) -> float:
    started = time.perf_counter()
    await embedder.embed_passages(texts)
    return len(texts) / (time.perf_counter() - started)


def write(documents: Path) -> None:
    documents.mkdir()
    entries = [item for name in SETS for item in dataset.corpus(eval_data() / name)]
    for number in range(FILES):
        part = entries[number * PASSAGES_IN_FILE : (number + 1) * PASSAGES_IN_FILE]
        text = "\n\n".join(entry.text for entry in part)
        (documents / f"{number:03}.txt").write_text(text, encoding="utf-8")

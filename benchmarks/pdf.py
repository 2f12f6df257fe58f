"""How fast real PDFs become searchable by keyword, while embeddings follow behind."""

import asyncio
import tempfile
import time
from pathlib import Path

from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone.build import open as open_ragstone
from ragstone.service import IngestRequest
from ragstone.settings import Settings


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as directory:
        return asyncio.run(measure(Path(directory)))


async def measure(directory: Path) -> list[Row]:
    pdfs = eval_data() / "financebench" / "pdfs"
    async with open_ragstone(Settings(ragstone_data=directory)) as ragstone:
        started = time.perf_counter()
        async for progress in ragstone.ingest(IngestRequest((str(pdfs),))):
            if progress.phase != "reading":
                break
        seconds = time.perf_counter() - started
    if progress.failed:
        raise AssertionError(f"failed: {progress.failed}")
    pages = progress.pages
    return [
        Row("FinanceBench PDFs", pages, "pages"),
        Row("Parsed and keyword-searchable", pages / seconds, "pages/s", least=20),
    ]

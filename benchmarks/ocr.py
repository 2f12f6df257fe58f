"""How well and how fast scanned pages are read: pages whose text is known, made into pictures.

Takes the figures of real pages: filings, and every `.pdf` below the folder RAGSTONE_OCR_FILES where
that is set.
"""

import asyncio
import os
import re
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pypdfium2

from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone.ingest.parse_process import ParseProcesses
from ragstone.settings import IngestSettings

_Document: Any = pypdfium2.PdfDocument
_WORD = re.compile(r"\w+")
_PAGES = 12
_MIN_WORDS = 100
_DPI = 200


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as directory:
        return asyncio.run(measure(Path(directory)))


async def measure(directory: Path) -> list[Row]:
    folder = os.environ.get("RAGSTONE_OCR_FILES") or eval_data() / "financebench" / "pdfs"
    known = dict(_scans(Path(folder), directory))
    processes = ParseProcesses(IngestSettings(chunk_overlap=0))
    peaks: list[float] = []
    costs: dict[int, float] = {}
    started = time.perf_counter()
    watching = asyncio.create_task(_watch(peaks, costs))
    try:
        found = await asyncio.gather(*(_words(processes, path) for path in known))
    finally:
        watching.cancel()
        await processes.aclose()
    seconds = time.perf_counter() - started
    pairs = list(zip(known.values(), found, strict=True))
    shares = [(words & read).total() / words.total() for words, read in pairs]
    cores = f"{os.cpu_count()} cores"
    return [
        Row("Scanned pages read", len(known), "pages", detail=True),
        Row("Words of scanned pages found", 100 * statistics.fmean(shares), "%", least=97),
        Row("The page with the fewest words found", 100 * min(shares), "%", detail=True),
        Row("A scanned page", sum(costs.values()) / len(known), "processor seconds"),
        Row("Scanned pages, two files at a time", len(known) / seconds, "pages/s", note=cores),
        Row("Memory of one process", max(peaks), "MB", most=IngestSettings().parse_memory_mb),
    ]


def _scans(folder: Path, directory: Path) -> Iterator[tuple[Path, Counter[str]]]:
    """Yield pages of the files, evenly taken, as PDFs of a picture, and the words of each."""
    files = sorted(folder.rglob("*.pdf"))
    files = files[:: max(1, len(files) // _PAGES)][:_PAGES]
    for number, file in enumerate(files):
        with _Document(file) as document:
            for index in range(len(document) // 3, len(document)):
                page = document[index]
                words = Counter(_WORD.findall(page.get_textpage().get_text_range()))
                if words.total() < _MIN_WORDS:
                    continue
                path = directory / f"{number}.pdf"
                page.render(scale=_DPI / 72).to_pil().save(path, resolution=_DPI, quality=85)
                yield path, words
                break


async def _words(processes: ParseProcesses, path: Path) -> Counter[str]:
    words: Counter[str] = Counter()
    size = path.stat().st_size  # noqa: ASYNC240 - of a file of its own
    async with processes.open_reading(path, size) as reading:
        async for pieces in reading:
            for piece in pieces:
                words.update(_WORD.findall(piece.text))
    return words


async def _watch(peaks: list[float], costs: dict[int, float]) -> None:
    """Note the memory that each process which reads has for itself, and its processor seconds."""
    while True:
        for child in psutil.Process().children():
            used = child.memory_info()
            times = child.cpu_times()
            costs[child.pid] = times.user + times.system
            peaks.append((used.rss - used.shared) / (1 << 20))
        await asyncio.sleep(0.05)

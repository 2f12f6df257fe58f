"""What it costs that files are read in processes of their own, which may die of them."""

import asyncio
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.row import Row
from ragstone.ingest.chunk import chunk
from ragstone.ingest.parse import parse
from ragstone.ingest.parse_process import ParseProcesses
from ragstone.settings import IngestSettings

SMALL_FILES = 500
LARGE_MB = 8
SENTENCE = "Whale {} sings in the deep sea, and nobody knows for whom. "
SETTINGS = IngestSettings()


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as directory:
        return asyncio.run(measure(Path(directory)))


async def measure(directory: Path) -> list[Row]:
    files = [directory / f"{number}.txt" for number in range(SMALL_FILES)]
    for number, file in enumerate(files):
        file.write_text("".join(SENTENCE.format(number * 20 + i) for i in range(20)))
    large = directory / "large.txt"
    large.write_text("".join(f"{SENTENCE.format(i)}\n\n" for i in range(LARGE_MB * 16_000)))
    first: list[float] = []
    small: dict[str, list[float]] = {"thread": [], "process": []}
    whole: dict[str, list[float]] = {"thread": [], "process": []}
    for _ in range(3):  # in turns, as a machine that others share is not always as fast
        processes = ParseProcesses(SETTINGS)
        first.append(await time_parse(in_process(processes, files[:1])))
        small["process"].append(await time_parse(in_process(processes, files)))
        whole["process"].append(await time_parse(in_process(processes, [large])))
        await processes.aclose()
        small["thread"].append(await time_parse(in_thread(files)))
        whole["thread"].append(await time_parse(in_thread([large])))
    per_file = {way: min(times) * 1000 / SMALL_FILES for way, times in small.items()}
    speed = {way: large.stat().st_size / 1e6 / min(times) for way, times in whole.items()}
    return [
        Row("A small file in a thread of the server", per_file["thread"], "ms", detail=True),
        Row("A small file in a process", per_file["process"], "ms", detail=True),
        Row(
            "A small file: what the process adds",
            per_file["process"] - per_file["thread"],
            "ms",
            most=3,
        ),
        Row("The first file, with the start of a process", statistics.median(first), "s", most=0.5),
        Row("A large text in a thread of the server", speed["thread"], "MB/s", detail=True),
        Row("A large text in a process", speed["process"], "MB/s", detail=True),
        Row(
            "A large text in a process, relative to a thread",
            speed["process"] / speed["thread"],
            "x",
            least=0.6,
        ),
    ]


async def time_parse(work: object) -> float:
    started = time.perf_counter()
    await work  # type: ignore[misc]
    return time.perf_counter() - started


async def in_process(processes: ParseProcesses, files: list[Path]) -> None:
    for file in files:
        async with processes.open_reading(file, file.stat().st_size) as reading:
            async for _ in reading:
                pass


async def in_thread(files: list[Path]) -> None:
    def read(file: Path) -> None:
        for _ in chunk(parse(file, SETTINGS).blocks, SETTINGS.chunk_size, SETTINGS.chunk_overlap):
            pass

    with ThreadPoolExecutor(1) as thread:
        for file in files:
            await asyncio.get_running_loop().run_in_executor(thread, read, file)

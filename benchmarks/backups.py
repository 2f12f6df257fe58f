"""How long a backup takes: a whole one with one batch after the other and with several at once, and
an incremental one after a hundredth of the documents changed, which must restore to the same.

Each time is the shortest of five taken in turn. Vectors are random, so that they take as much room
as those of a model. `BENCH_FILES` is the number of documents.
"""

import asyncio
import hashlib
import os
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import numpy as np

from benchmarks.row import Row
from ragstone.backup.back_up import AT_ONCE, write_backup
from ragstone.ports import Vectors
from tests.backup.house import House, opened
from tests.conformance.postgres_server import postgres_server
from tests.databases import NAME, Databases
from tests.hashing import HashingEmbedder

FILES = int(os.environ.get("BENCH_FILES", "1500"))
WIDTH, TIMES = 384, 5
CHANGED = 100
"""One of so many documents is changed."""

PARAGRAPHS, WORDS = 16, 90


class RandomEmbedder(HashingEmbedder):
    """Every text has a random direction, always the same."""

    def _vector(self, text: str) -> Vectors:
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
        vector = np.random.default_rng(seed).standard_normal(WIDTH).astype(np.float32)
        unit: Vectors = vector / np.linalg.norm(vector)
        return unit


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as directory:
        yield from asyncio.run(measure(Path(directory), "Embedded index", None))
    with tempfile.TemporaryDirectory() as directory, postgres_server() as server:
        databases = Databases(server)
        for name in ("one", "two", "three"):
            (Path(directory) / name).mkdir()
            (Path(directory) / name / NAME).write_text(databases.migrated())
        yield from asyncio.run(measure(Path(directory), "PostgreSQL", databases))


async def measure(root: Path, where: str, databases: Databases | None) -> list[Row]:
    async with AsyncExitStack() as stack:
        houses = []
        for name in ("one", "two", "three"):
            folder = root / name
            folder.mkdir(exist_ok=True)
            url = databases.url((folder / NAME).read_text()) if databases else ""
            opener = databases.open if databases else None
            house = opened(folder, opener, index_url=url, embedder=RandomEmbedder(dimensions=WIDTH))
            houses.append(await stack.enter_async_context(house))
        return await _measure(root, where, *houses)


async def _measure(root: Path, where: str, house: House, other: House, third: House) -> list[Row]:
    for number in range(FILES):
        house.write(f"{number:05}.txt", _text(number))
    await house.ingest()
    chunks = len(await house.chunks())
    monday = root / "monday.ragstone"
    await house.back_up(monday)
    for number in range(0, FILES, CHANGED):
        house.write(f"{number:05}.txt", _text(FILES + number))
    await house.ingest()
    seconds: dict[str, list[float]] = defaultdict(list)
    sizes: dict[str, int] = {}
    for _ in range(TIMES):
        for what, since, at_once in (
            ("one", None, 1),
            ("whole", None, AT_ONCE),
            ("tuesday", monday, AT_ONCE),
        ):
            file = root / f"{what}.ragstone"
            file.unlink(missing_ok=True)
            began = time.perf_counter()
            async for _ in house.steps(write_backup, file, since=since, at_once=at_once):
                pass
            seconds[what].append(time.perf_counter() - began)
            sizes[what] = file.stat().st_size
    await other.restore(root / "whole.ragstone")
    await third.restore(root / "tuesday.ragstone")
    same = await other.contents() == await third.contents()
    whole, what = min(seconds["whole"]), f"{where}, {chunks:,} chunks of 384 numbers"
    share = f"1 of {CHANGED} documents changed"
    return [
        Row(
            f"{what}: a whole backup, times one with one batch after the other",
            whole / min(seconds["one"]),
        ),
        Row(
            f"{what}: an incremental backup after {share}, times the time of a whole one",
            min(seconds["tuesday"]) / whole,
        ),
        Row(
            f"{what}: an incremental backup after {share}, times the bytes of a whole one",
            sizes["tuesday"] / sizes["whole"],
            most=0.05,
        ),
        Row(f"{what}: both restore to the same", float(same), least=1),
    ]


def _text(number: int) -> str:
    """Return some paragraphs of words, of which there are as many as in a language."""
    source = random.Random(number)
    paragraphs = []
    for _ in range(PARAGRAPHS):
        words = [
            _word(min(source.randrange(20_000), source.randrange(20_000))) for _ in range(WORDS)
        ]
        paragraphs.append(" ".join(words).capitalize() + ".")
    return "\n\n".join(paragraphs)


def _word(number: int) -> str:
    source = random.Random(-number)
    return "".join(source.choice("eeetaoinshrdlucmfwyp") for _ in range(2 + number % 8))

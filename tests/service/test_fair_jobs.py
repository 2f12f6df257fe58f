"""A long job keeps no short one waiting, and a long document no finished one out of sight."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from ragstone import build
from ragstone.core.chunk import Chunk
from ragstone.core.errors import UnknownCollection
from ragstone.core.turn import Principal
from ragstone.ingest import embedding
from ragstone.jobs import ending
from ragstone.jobs.runner import CONCURRENCY
from ragstone.local import Ragstone
from ragstone.ports import Embedder, Vectors
from ragstone.service import IngestRequest, Progress
from ragstone.settings import Settings
from tests.ingest.pdf_files import pdf
from tests.patience import PATIENCE


class SlowModel:
    """Takes a second for 32 chunks, until it is to hurry."""

    def __init__(self) -> None:
        self.hurries = asyncio.Event()

    async def embed(
        self, embedder: Embedder, chunks: Sequence[Chunk], *_: object
    ) -> tuple[Vectors, None]:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.hurries.wait(), len(chunks) / 32)
        side = embedder.dimensions**-0.5
        return np.full((len(chunks), embedder.dimensions), side, np.float32), None


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> SlowModel:
    model = SlowModel()
    monkeypatch.setattr(embedding, "embed", model.embed)
    return model


@pytest_asyncio.fixture
async def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Ragstone]:
    """One that runs one ingest at a time, in short turns."""
    monkeypatch.setattr(ending, "TURN_SECONDS", 0.2)
    monkeypatch.setitem(CONCURRENCY, "ingest", 1)
    settings = Settings(ragstone_data=tmp_path / "data")
    async with build.open(settings) as service:
        yield service


def write_lines(folder: Path, files: int, lines: int) -> str:
    folder.mkdir()
    for number in range(files):
        text = "\n\n".join(f"Lamp {number}.{line} " + "shines " * 130 for line in range(lines))
        (folder / f"{folder.name}{number}.md").write_text(text)
    return str(folder)


async def ingest(service: Ragstone, folder: str, collection: str) -> Progress:
    async for progress in service.ingest(IngestRequest((folder,), collection)):
        last = progress
    assert not last.error
    return last


async def begun(service: Ragstone, collection: str) -> None:
    """Wait until an ingest has read all that it reads, and has many vectors to wait for."""
    async with asyncio.timeout(PATIENCE):
        while not any(
            job.collection == collection and job.progress.get("phase") == "embedding"
            for job in await service.jobs.list("default", "ingest")
        ):
            await asyncio.sleep(0.02)


@pytest.mark.slow
@pytest.mark.parametrize("collection", ["large", "small"])
async def test_a_few_files_are_done_long_before_the_vectors_of_many(
    service: Ragstone, model: SlowModel, tmp_path: Path, collection: str
) -> None:
    long = asyncio.create_task(ingest(service, write_lines(tmp_path / "long", 10, 100), "large"))
    await begun(service, "large")

    short = await ingest(service, write_lines(tmp_path / "short", 30, 1), collection)

    assert not long.done()
    assert short.indexed == short.embedded == 30
    model.hurries.set()
    done = await asyncio.wait_for(long, PATIENCE)
    assert done.indexed == 10
    assert done.embedded == done.chunks >= 1000
    assert done.failures == 0


async def test_the_finished_files_of_a_batch_are_listed_while_a_long_one_is_read(
    service: Ragstone, tmp_path: Path
) -> None:
    folder = write_lines(tmp_path / "batch", 11, 1)
    pdf(tmp_path / "batch" / "a.pdf", [["A heading", *["Some words of a line."] * 40]] * 150)

    reading = asyncio.create_task(ingest(service, folder, "batch"))

    async with asyncio.timeout(PATIENCE):
        while len(await listed(service)) < 11:
            await asyncio.sleep(0.02)
    assert "/batch/a.pdf" not in await listed(service)
    assert not reading.done()
    await reading
    assert len(await listed(service)) == 12


async def listed(service: Ragstone) -> list[str]:
    try:
        found = await service.documents(Principal(), "batch")
    except UnknownCollection:
        return []
    return [document.path for document in found]

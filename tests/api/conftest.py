"""A data directory with the example documents, made once."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import ragstone

DOCUMENTS = Path(__file__).parents[2] / "examples" / "documents"


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Only to be copied."""
    data = tmp_path_factory.mktemp("indexed") / "data"
    with ragstone.Client(data) as rag:
        progress = rag.ingest(DOCUMENTS)
    assert (progress.indexed, progress.failed) == (5, ())
    return data


@pytest.fixture
def data(indexed: Path, tmp_path: Path) -> Path:
    """A data directory in which `/documents` has the five example documents."""
    return Path(shutil.copytree(indexed, tmp_path / "data"))


@pytest.fixture
async def opened(data: Path) -> AsyncIterator[ragstone.AsyncClient]:
    """A client on that."""
    async with ragstone.AsyncClient(data) as rag:
        yield rag

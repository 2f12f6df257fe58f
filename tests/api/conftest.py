"""A data directory with the example documents, made once."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import ragstone
from tests.documents import copied


@pytest.fixture
def data(indexed_documents: Path, tmp_path: Path) -> Path:
    """A data directory in which `/documents` has the five example documents."""
    return copied(indexed_documents, tmp_path / "data")


@pytest.fixture
async def opened(data: Path) -> AsyncIterator[ragstone.AsyncClient]:
    """A client on that."""
    async with ragstone.AsyncClient(data) as rag:
        yield rag

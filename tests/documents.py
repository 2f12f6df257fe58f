"""The sample documents, ingested once."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from ragstone import build
from ragstone.service import IngestRequest
from ragstone.service.server_file import IDENTITY_FILE
from ragstone.settings import Settings

DOCUMENTS = Path(__file__).parents[1] / "examples" / "documents"


def copied(data: Path, target: Path) -> Path:
    """The copy of a data directory, as if it had been made there. An index has 270 MB of which all
    but 1 MB are holes, which `shutil.copytree` would fill."""
    subprocess.run(["cp", "-R", str(data), str(target)], check=True)
    (target / IDENTITY_FILE).unlink(missing_ok=True)
    return target


@pytest.fixture(scope="session")
def indexed_documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory that has the sample documents: to be copied, not to be opened."""
    data = tmp_path_factory.mktemp("documents") / "data"
    asyncio.run(_ingest(data))
    return data


async def _ingest(data: Path) -> None:
    async with build.open(Settings(ragstone_data=data)) as service:
        steps = [step async for step in service.ingest(IngestRequest((str(DOCUMENTS),)))]
    assert (steps[-1].indexed, steps[-1].failed) == (5, ())

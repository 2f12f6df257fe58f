"""Processes that stay for the next test read as new ones would."""

from pathlib import Path

import pytest

from ragstone.settings import IngestSettings
from tests.kept_parsers import LentProcesses


async def read(file: Path, settings: IngestSettings) -> int:
    """Read a file with processes that are opened for it; the number of the one that did."""
    processes = LentProcesses(settings)
    try:
        assert "31 days" in await processes.read_beginning(file, file.stat().st_size, 100)
        [process] = processes._free
        return process._popen.pid
    finally:
        await processes.aclose()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "lamp.md"
    file.write_text("A full charge lasts 31 days.")
    return file


async def test_given_the_same_surroundings_then_a_process_stays(file: Path) -> None:
    first = await read(file, IngestSettings())

    assert await read(file, IngestSettings()) == first


async def test_given_what_a_process_would_see_then_it_is_another(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await read(file, IngestSettings())

    assert await read(file, IngestSettings(parse_memory_mb=700)) != first
    monkeypatch.syspath_prepend(tmp_path)
    assert await read(file, IngestSettings()) != first

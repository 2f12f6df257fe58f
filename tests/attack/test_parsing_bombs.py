"""A file that uses up a parser's time ends with one line, and takes no other file's turn."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from ragstone.core.errors import DocumentError
from ragstone.ingest import parse_process
from ragstone.ingest.parse_process import ParseProcesses
from ragstone.ingest.turns import Owner
from ragstone.settings import IngestSettings
from tests.attack.parsing_bombs import BOMBS
from tests.patience import PATIENCE

SIZE = 100_000
ANN, BOB = Owner("ann", "notes"), Owner("bob", "notes")
SMALL = ("link definitions", "emphasis that closes", "dotted TOML keys", "ODS rows", "YAML aliases")
"""Those that take little time, one of several formats."""


@pytest_asyncio.fixture
async def processes() -> AsyncIterator[ParseProcesses]:
    processes = ParseProcesses(IngestSettings())
    yield processes
    await processes.aclose()


def make_bomb(folder: Path, name: str, size: int = SIZE) -> Path:
    ending, make = BOMBS[name]
    file = folder / f"bomb.{ending}"
    file.write_bytes(make(size))
    return file


async def read(processes: ParseProcesses, file: Path, owner: Owner = ANN) -> str:
    """The text of a file; raises DocumentError."""
    async with processes.open_reading(file, file.stat().st_size, owner=owner) as reading:
        return "".join([piece.text async for batch in reading.batches() for piece in batch])


async def check_bomb(processes: ParseProcesses, file: Path) -> None:
    """A file is read, or refused in one sentence, and then others are read."""
    said = ""
    try:
        await read(processes, file)
    except DocumentError as error:
        said = error.message
    assert "\n" not in said
    assert "the log says more" not in said, "the parser broke"
    good = file.with_name("good.txt")
    good.write_text("The lamp has a battery.")
    assert await read(processes, good) == "The lamp has a battery."


@pytest.mark.parametrize("name", SMALL)
async def test_a_bomb_is_read_or_refused_in_one_line(
    processes: ParseProcesses, tmp_path: Path, name: str
) -> None:
    await check_bomb(processes, make_bomb(tmp_path, name))


@pytest.mark.real
@pytest.mark.timeout(600)
@pytest.mark.parametrize("size", [SIZE, 10 * SIZE], ids=["100 kB", "1 MB"])
@pytest.mark.parametrize("name", BOMBS)
async def test_every_bomb_is_read_or_refused_in_one_line(
    processes: ParseProcesses, tmp_path: Path, name: str, size: int
) -> None:
    await check_bomb(processes, make_bomb(tmp_path, name, size))


async def test_a_bomb_is_refused_for_its_processor_time_and_says_what_to_set(
    processes: ParseProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parse_process, "MIN_PROCESSOR_SECONDS", 1.0)
    monkeypatch.setattr(parse_process, "PROCESSOR_SHARE", 0.0)

    with pytest.raises(DocumentError, match=r"kept the processor busy.*INGEST__PARSE_SECONDS"):
        await read(processes, make_bomb(tmp_path, "RST stars"))


async def test_what_a_table_says_to_repeat_a_million_times_does_not_fill_the_index(
    processes: ParseProcesses, tmp_path: Path
) -> None:
    assert len(await read(processes, make_bomb(tmp_path, "ODS rows"))) < 10_000


async def test_a_small_file_is_read_while_another_tenants_bombs_have_all_parsers(
    processes: ParseProcesses, tmp_path: Path
) -> None:
    bomb, small = make_bomb(tmp_path, "RST stars"), tmp_path / "small.txt"
    small.write_text("The lamp has a battery.")
    bombs = [asyncio.create_task(read(processes, bomb)) for _ in range(6)]
    await asyncio.sleep(0.1)

    read_small = await asyncio.wait_for(read(processes, small, BOB), PATIENCE)

    assert read_small == "The lamp has a battery."
    assert not any(task.done() for task in bombs)
    for task in bombs:
        task.cancel()
    await asyncio.gather(*bombs, return_exceptions=True)

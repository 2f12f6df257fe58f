"""A document as it was read: its text counts as its sources' spans do."""

from base64 import b64decode
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from ragstone import build
from ragstone.core.errors import UnknownDocument, UnknownOriginal
from ragstone.core.turn import Ask, Principal
from ragstone.local import Ragstone
from ragstone.service import IngestRequest
from ragstone.settings import Settings
from tests.service.test_collections import ingested

pytestmark = pytest.mark.slow

ME = Principal()
ADA = Principal(user="ada")
LONG = "\n\n".join(
    f"## Part {part}\n\n"
    + " ".join(f"Sentence {n} of part {part} says a thing." for n in range(60))
    for part in range(5)
)


@pytest_asyncio.fixture
async def ragstone(tmp_path: Path) -> AsyncIterator[Ragstone]:
    async with build.open(Settings(ragstone_data=tmp_path / "data")) as ragstone:
        yield ragstone


async def test_its_text_holds_every_span_of_a_search(ragstone: Ragstone, tmp_path: Path) -> None:
    file = tmp_path / "long.md"
    file.write_text(f"# Whole\n\n{LONG}\n\n1. One\n2. Two\n\n```sh\nls -l\n```\n")
    await ingested(ragstone, file)
    found = await ragstone.reading.read(ME, "notes", "/long.md", 0, 100_000)
    assert found.total == len(found.text)
    assert len(found.chunks) > 5
    hits = (await ragstone.search(Ask("Sentence 30 of part 3", collection="notes"))).hits
    of_it = [hit.chunk for hit in hits if hit.chunk.path == "/long.md"]
    assert of_it
    for chunk in of_it:
        assert found.text[chunk.start : chunk.end] == chunk.text
    kinds = [(block.kind, found.text[block.start : block.end]) for block in found.blocks]
    assert kinds[0] == ("heading", "Whole")
    assert kinds[-1] == ("code", "ls -l")
    assert sum(kind == "paragraph" for kind, _ in kinds) == 5


async def test_a_part_counts_its_blocks_anew(ragstone: Ragstone, tmp_path: Path) -> None:
    file = tmp_path / "long.md"
    file.write_text(f"# Whole\n\n{LONG}")
    await ingested(ragstone, file)
    whole = await ragstone.reading.read(ME, "notes", "/long.md", 0, 100_000)
    part = await ragstone.reading.read(ME, "notes", "/long.md", 1000, 500)
    assert part.text == whole.text[1000:1500]
    assert all(0 <= block.start < block.end <= 500 for block in part.blocks)
    assert 0 < len(part.chunks) < len(whole.chunks)
    beyond = await ragstone.reading.read(ME, "notes", "/long.md", 10**6, 5)
    assert (beyond.text, beyond.blocks, beyond.chunks) == ("", (), ())


async def test_the_file_that_was_read_comes_in_parts(ragstone: Ragstone, tmp_path: Path) -> None:
    file = tmp_path / "tower.txt"
    file.write_bytes(b"The tower of Ost is 41 metres high.\n")
    await ingested(ragstone, file)
    first = await ragstone.reading.original(ME, "notes", "/tower.txt", 0, 9)
    second = await ragstone.reading.original(ME, "notes", "/tower.txt", 9, 1000)
    assert (first.offset, second.offset, first.total) == (0, 9, 36)
    assert b64decode(first.base64) + b64decode(second.base64) == file.read_bytes()


async def test_a_file_that_has_changed_is_not_shown_for_the_one_that_was_read(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    file = tmp_path / "tower.txt"
    file.write_text("The tower of Ost is 41 metres high.\n")
    await ingested(ragstone, file)
    file.write_text("Something else that nobody allowed.\n")
    with pytest.raises(UnknownOriginal):
        await ragstone.reading.original(ME, "notes", "/tower.txt", 0, 100)
    file.unlink()
    with pytest.raises(UnknownOriginal):
        await ragstone.reading.original(ME, "notes", "/tower.txt", 0, 100)


async def test_a_file_is_shown_only_to_who_may_read_the_document(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    file = tmp_path / "tower.txt"
    file.write_text("The tower of Ost is 41 metres high.\n")
    request = IngestRequest((str(file),), "notes", allowed=("user:ada",))
    assert [step async for step in ragstone.ingest(request)][-1].indexed == 1
    assert (await ragstone.reading.original(ADA, "notes", "/tower.txt", 0, 100)).total == 36
    with pytest.raises(UnknownDocument):
        await ragstone.reading.original(ME, "notes", "/tower.txt", 0, 100)

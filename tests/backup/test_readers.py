"""Readers that change while a backup is written, or between two: what is restored is of one
moment, in the index too."""

from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.readers import FolderReaders
from tests.backup.house import House, opened

pytestmark = pytest.mark.slow

HR = ("group:hr",)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    (tmp_path / "here").mkdir()
    async with opened(tmp_path / "here") as house:
        for name in ("a.txt", "b.txt"):
            house.write(name, f"The text of {name}.")
        await house.ingest()
        yield house


async def readers(house: House) -> dict[str, tuple[str, ...]]:
    """Who may read each document; that its chunks are for the same is checked."""
    chunks = await house.chunks()
    documents = {
        document.path: document.allowed for document in await house.catalog.documents("default")
    }
    assert {chunk.path: chunk.allowed for chunk in chunks.values()} == documents
    return documents


async def give(house: House, name: str, names: tuple[str, ...]) -> None:
    collection = await house.collection()
    found = await house.catalog.documents("default", named=[f"/documents/{name}"])
    await house.pipeline.give_readers(collection, [item.id for item in found], names)


async def test_given_other_readers_while_a_backup_is_written_then_it_has_those_of_before(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, scan = tmp_path / "a.ragstone", house.index.scan
    before = await readers(house)

    async def changing(*arguments: Any, **named: Any) -> AsyncGenerator[Any, None]:
        monkeypatch.undo()
        await give(house, "a.txt", HR)
        async for some in scan(*arguments, **named):
            yield some

    monkeypatch.setattr(house.index, "scan", changing)
    await house.back_up(file)
    assert await readers(house) != before

    await house.restore(file)

    assert await readers(house) == before


async def test_given_other_readers_since_a_backup_then_one_that_continues_it_has_them(
    house: House, tmp_path: Path
) -> None:
    first, second = tmp_path / "a.ragstone", tmp_path / "b.ragstone"
    await house.back_up(first)
    await give(house, "a.txt", HR)
    rule = FolderReaders("/documents", ("group:board",))
    await house.pipeline.put_folder_readers(await house.collection(), [rule])
    now = await readers(house)
    await house.back_up(second, first)
    await give(house, "a.txt", ())

    await house.restore(second, first)

    assert await readers(house) == now
    assert set(now.values()) == {HR, ("group:board",)}
    id = (await house.collection()).id
    assert await house.catalog.folder_readers("default", id) == [rule]

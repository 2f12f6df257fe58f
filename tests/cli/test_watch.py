"""Watching folders for `ragstone ingest --watch`, on the real file system."""

import asyncio
import os
import time
from contextlib import aclosing
from pathlib import Path

import pytest

from ragstone.cli.watch import changes, enclosing_places
from ragstone.core.errors import InputError
from tests.patience import PATIENCE


async def first_change(folder: Path, data: Path, file: Path, seconds: float = PATIENCE) -> bool:
    """Whether it is noticed that `file` is written again and again, in this time."""
    async with aclosing(changes([str(folder)], data)) as bursts:
        await anext(bursts)
        waiting = asyncio.ensure_future(anext(bursts))
        deadline = time.monotonic() + seconds
        while not waiting.done() and time.monotonic() < deadline:
            file.write_text("text", encoding="utf-8")
            await asyncio.wait([waiting], timeout=0.3)
        noticed = waiting.done()
        waiting.cancel()
        await asyncio.wait([waiting])
        return noticed


async def test_given_a_new_file_then_it_is_noticed(tmp_path: Path) -> None:
    assert await first_change(tmp_path, tmp_path / "data", tmp_path / "new.txt")


async def test_given_a_data_directory_inside_then_its_files_are_not_noticed(
    tmp_path: Path,
) -> None:
    (tmp_path / "data").mkdir()
    assert not await first_change(tmp_path, tmp_path / "data", tmp_path / "data" / "x.txt", 2.0)


async def test_given_a_data_directory_whose_name_begins_alike_then_files_are_noticed(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "data-sets"
    folder.mkdir()
    assert await first_change(folder, tmp_path / "data", folder / "new.txt")


async def test_given_nothing_to_watch_then_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing at"):
        await anext(changes([str(tmp_path / "absent")], tmp_path))


async def test_what_changes_while_nobody_asks_is_told_the_next_time(tmp_path: Path) -> None:
    async with aclosing(changes([str(tmp_path)], tmp_path / "data")) as bursts:
        await anext(bursts)
        (tmp_path / "a.txt").write_text("text", encoding="utf-8")
        (tmp_path / "b.txt").write_text("text", encoding="utf-8")
        await asyncio.sleep(0.5)
        told: set[str] = set()
        while len(told) < 2:
            told |= await asyncio.wait_for(anext(bursts), PATIENCE)
    assert told == {str(tmp_path / "a.txt"), str(tmp_path / "b.txt")}


def test_few_changes_are_looked_at_one_by_one_and_many_by_their_folders() -> None:
    assert enclosing_places({"/a/x", "/a/y/z"}) == ("/a/x", "/a/y/z")
    assert enclosing_places({"/a/y", "/a/y/z", "/a/y/u"}) == ("/a/y",)
    many = {f"/a/{folder}/{file}" for folder in range(3) for file in range(50)}
    assert enclosing_places({*many, "/b"}) == ("/a/0", "/a/1", "/a/2", "/b")
    assert enclosing_places({f"/a/{n}/x" for n in range(1_000)}) == ("/a",)


async def test_what_has_a_name_that_is_no_text_ends_no_watch(tmp_path: Path) -> None:
    async with aclosing(changes([str(tmp_path)], tmp_path / "data")) as bursts:
        await anext(bursts)
        folder = os.path.join(os.fsencode(tmp_path), b"folder\xff")
        os.mkdir(folder)
        await asyncio.sleep(0.2)
        Path(os.fsdecode(folder), "a.txt").write_text("text", encoding="utf-8")
        assert str(tmp_path) in await asyncio.wait_for(anext(bursts), PATIENCE)
        (tmp_path / "b.txt").write_text("text", encoding="utf-8")
        assert str(tmp_path / "b.txt") in await asyncio.wait_for(anext(bursts), PATIENCE)


def test_what_has_a_name_that_is_no_text_is_looked_at_with_its_folder() -> None:
    assert enclosing_places({"/a/b\udcff/c/d.txt", "/a/e/f\udcfe.txt"}) == ("/a",)
    assert enclosing_places({"/a/e/f\udcfe.txt"}) == ("/a/e",)

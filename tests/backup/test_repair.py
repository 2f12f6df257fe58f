"""Any file of a data directory breaks in any way: doctor or restore bring everything back."""

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.errors import InputError, RagstoneError, StateUnavailable
from ragstone.index.edge import index as edge_index
from ragstone.local.repair import find_damage, is_state_lost, make_way
from ragstone.settings import Settings
from ragstone.store.sql import salvage, tables
from tests.backup.damages import DAMAGES, empty, kinds, remove, truncate
from tests.backup.house import opened
from tests.documents import copied
from tests.hashing import WIDTH

pytestmark = pytest.mark.slow

TOP = ("state.sqlite", "cache.sqlite")
EVERY_FILE = os.environ.get("RAGSTONE_DAMAGE") == "all"
"""Each kind of file in each way, also of an index with search structures, which takes hours; else
each kind of file in one way."""


READ_BY_FILTERS = {"point_to_values.bin", "data.bin"}
"""The values of each chunk in the index of a field, and the numbers in their order."""


@dataclass(frozen=True)
class Kept:
    """A data directory that nobody opens, its backup, and what was in it."""

    data: Path
    backup: Path
    texts: frozenset[tuple[str, str]]
    rows: Sequence[dict[str, Any]]
    dimensions: int = WIDTH


async def _texts(house: Any) -> frozenset[tuple[str, str]]:
    return frozenset((chunk.path, chunk.text) for chunk in (await house.chunks()).values())


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return asyncio.run(_made(tmp_path_factory.mktemp("kept"), documents=3))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """With graphs and other segments. Edge builds them from 10 MB of vectors on, which are 180 of
    this width: so many cases are worth few chunks."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(edge_index, "MIN_OPTIMIZE", 100)
        place = tmp_path_factory.mktemp("large")
        return asyncio.run(_made(place, documents=90, dimensions=16_384))


async def _made(place: Path, documents: int, dimensions: int = WIDTH) -> Kept:
    (place / "data").mkdir()
    async with opened(place / "data", dimensions=dimensions) as house:
        for number in range(documents):
            house.write(f"{number}.txt", f"Hall {number} opens at nine. " * 60)
        await house.ingest()
        await house.back_up(place / "backup.ragstone")
        texts, rows = await _texts(house), await house.rows(tables.documents)
    return Kept(place / "data", place / "backup.ragstone", texts, rows, dimensions)


def _settings(data: Path) -> Settings:
    return Settings(ragstone_data=data)


def _copy(kept: Kept, place: Path) -> Path:
    shutil.rmtree(place / "data", ignore_errors=True)
    shutil.copytree(kept.data.parent / "documents", place / "documents", dirs_exist_ok=True)
    return copied(kept.data, place / "data")


async def _mended(data: Path, dimensions: int = WIDTH) -> frozenset[tuple[str, str]]:
    """What a data directory holds after the doctor; raises StateUnavailable where only a backup
    can help."""
    for damage in find_damage(_settings(data)):
        if damage.mend is None:
            raise StateUnavailable(damage.remedy)
        damage.mend()
    if is_state_lost(_settings(data)):
        raise StateUnavailable("The state is gone.")
    async with opened(data, dimensions=dimensions) as house:
        await house.examine()
        for left in await house.examine():
            raise StateUnavailable(left)
        return await _texts(house)


async def _restored(data: Path, kept: Kept) -> tuple[Any, Any]:
    make_way(_settings(data), kept.backup)
    async with opened(data, dimensions=kept.dimensions) as house:
        await house.restore(kept.backup)
        assert await house.examine() == ()
        return await _texts(house), await house.rows(tables.documents)


def _of_one_way(files: Sequence[Path], way: str) -> list[Path]:
    """The files that break in this way: all, or the large ones and a share of the others."""
    turn = list(DAMAGES).index(way)
    return [
        file
        for number, file in enumerate(files)
        if EVERY_FILE or file.name in TOP or number % len(DAMAGES) == turn
    ]


async def _check(kept: Kept, place: Path, way: str, files: Sequence[Path]) -> None:
    assert files
    for file in files:
        data = _copy(kept, place)
        DAMAGES[way](data / file)
        if not is_state_lost(_settings(data)):
            try:
                assert await _mended(data, kept.dimensions) == kept.texts, file
            except StateUnavailable:
                assert file.name == "state.sqlite", file
        data = _copy(kept, place)
        DAMAGES[way](data / file)
        assert await _restored(data, kept) == (kept.texts, kept.rows), file


@pytest.mark.real
@pytest.mark.parametrize("way", DAMAGES)
async def test_given_any_damaged_file_then_doctor_or_restore_bring_everything_back(
    kept: Kept, tmp_path: Path, way: str
) -> None:
    await _check(kept, tmp_path, way, _of_one_way(kinds(kept.data), way))


if EVERY_FILE:

    @pytest.mark.real
    @pytest.mark.timeout(4 * 3600)
    @pytest.mark.parametrize("way", DAMAGES)
    async def test_given_an_index_with_search_structures_then_the_same_holds(
        large: Kept, tmp_path: Path, way: str
    ) -> None:
        files = kinds(large.data)
        assert any(file.name == "graph.bin" for file in files)
        await _check(large, tmp_path, way, _of_one_way(files, way))


@pytest.mark.parametrize("way", ["newer", "flipped", "truncated"])
async def test_given_a_damaged_index_of_a_field_that_only_filters_read_then_it_is_mended(
    large: Kept, tmp_path: Path, way: str
) -> None:
    files = [kind for kind in kinds(large.data) if kind.name in READ_BY_FILTERS]
    assert {item.name for item in files} == READ_BY_FILTERS
    for file in files:
        data = _copy(large, tmp_path)
        DAMAGES[way](data / file)
        assert await _mended(data, large.dimensions) == large.texts, file


def test_given_search_structures_and_nothing_wrong_then_no_damage_is_found(
    large: Kept, tmp_path: Path
) -> None:
    assert find_damage(_settings(_copy(large, tmp_path))) == []


def test_given_nothing_wrong_then_no_damage_is_found(kept: Kept, tmp_path: Path) -> None:
    assert find_damage(_settings(_copy(kept, tmp_path))) == []
    assert find_damage(_settings(tmp_path / "nowhere")) == []


def test_given_damage_then_looking_changes_nothing(kept: Kept, tmp_path: Path) -> None:
    data = _copy(kept, tmp_path)
    truncate(data / "state.sqlite")
    before = (data / "state.sqlite").read_bytes()
    assert find_damage(_settings(data))
    assert (data / "state.sqlite").read_bytes() == before
    assert not (data / "damaged").exists()


def test_given_mended_damage_then_what_was_damaged_is_set_aside(kept: Kept, tmp_path: Path) -> None:
    data = _copy(kept, tmp_path)
    [segment] = data.glob("index/*/*/1/segments/*")
    empty(segment / "payload_storage" / "page_0.dat")
    [damage] = find_damage(_settings(data))
    assert damage.mend
    damage.mend()
    assert list((data / "damaged").glob("*/index/*/*/1"))
    assert find_damage(_settings(data)) == []


def test_given_a_folder_that_a_restore_left_then_it_is_found_and_set_aside(
    kept: Kept, tmp_path: Path
) -> None:
    data = _copy(kept, tmp_path)
    [shard] = data.glob("index/*/*/1")
    copied(shard, shard.with_name("2"))
    [damage] = find_damage(_settings(data))
    assert "belongs to no collection" in damage.what
    assert damage.mend
    damage.mend()
    assert find_damage(_settings(data)) == []


def test_given_a_damaged_backup_then_nothing_is_set_aside(kept: Kept, tmp_path: Path) -> None:
    data = _copy(kept, tmp_path)
    remove(data / "state.sqlite")
    broken = tmp_path / "broken.ragstone"
    shutil.copyfile(kept.backup, broken)
    truncate(broken)
    with pytest.raises(InputError, match="not a backup"):
        make_way(_settings(data), broken)
    assert not (data / "damaged").exists()


async def test_given_a_lost_state_then_nothing_opens_the_index_without_it(
    kept: Kept, tmp_path: Path
) -> None:
    from ragstone import build

    data = _copy(kept, tmp_path)
    remove(data / "state.sqlite")
    with pytest.raises(StateUnavailable, match="ragstone doctor"):
        async with build.open(_settings(data)):
            pass
    assert not (data / "state.sqlite").exists()


async def test_given_a_damaged_index_then_it_is_refused_in_one_line(
    kept: Kept, tmp_path: Path
) -> None:
    for name in ("segment.json", "vector_storage-dense/deleted/status.dat"):
        data = _copy(kept, tmp_path)
        [segment] = data.glob("index/*/*/1/segments/*")
        empty(segment / name)
        with pytest.raises(RagstoneError, match="ragstone doctor"):
            async with opened(data):
                pass


async def test_given_rows_that_cannot_be_read_then_the_others_are_kept(
    kept: Kept, tmp_path: Path
) -> None:
    data = _copy(kept, tmp_path)
    with (data / "state.sqlite").open("r+b") as file:
        file.write(b"\xff" * 16)
    [damage] = find_damage(_settings(data))
    assert damage.mend
    assert "are kept" in damage.mend()
    async with opened(data) as house:
        assert await house.rows(tables.documents) == kept.rows
        assert await _texts(house) == kept.texts


def test_given_a_state_whose_column_has_another_name_then_it_is_found_and_its_rows_are_saved(
    kept: Kept, tmp_path: Path
) -> None:
    file = tmp_path / "state.sqlite"
    shutil.copyfile(kept.data / "state.sqlite", file)
    with closing(sqlite3.connect(file)) as connection:
        before = connection.execute("SELECT id, allowed FROM documents ORDER BY id").fetchall()
    raw = file.read_bytes()
    at = raw.index(b"\tallowed", raw.index(b"CREATE TABLE documents"))
    file.write_bytes(raw[: at + 1] + b"allnwed" + raw[at + 8 :])
    assert salvage.find_lost_columns(file) == ["documents.allowed"]
    assert salvage.save_rows(file, tmp_path / "saved.sqlite")
    with closing(sqlite3.connect(tmp_path / "saved.sqlite")) as connection:
        after = connection.execute("SELECT id, allowed FROM documents ORDER BY id").fetchall()
    assert after == before

"""Building search structures beside an index that goes on answering and being written."""

import asyncio
import shutil
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.filters import EVERYTHING, eq
from ragstone.core.records import Collection
from ragstone.index.edge import index as edge
from ragstone.index.edge.index import MIN_OPTIMIZE, EdgeIndex
from ragstone.ports import Search
from tests.conformance.test_chunk_index import (
    a_chunk,
    a_collection,
    a_late_collection,
    late_ids,
    packed_tokens,
    vectors,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def index(tmp_path: Path) -> EdgeIndex:
    """Every test closes it, and looks at what is left."""
    return EdgeIndex(tmp_path)


async def filled(index: EdgeIndex) -> Collection:
    collection = a_collection()
    chunks = [a_chunk(collection, f"word{i}", document_id=f"d{i}") for i in range(MIN_OPTIMIZE)]
    tokens = [b"t"] * MIN_OPTIMIZE
    await index.upsert(collection, chunks, vectors(*range(MIN_OPTIMIZE)), tokens)
    return collection


def generations(root: Path, collection: Collection) -> list[str]:
    folder = root / collection.tenant / collection.id
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


async def assert_whole(index: EdgeIndex, collection: Collection) -> None:
    """What was written and deleted during the build is, and everything has its vectors."""
    assert await index.count(collection) == MIN_OPTIMIZE
    assert await index.count(collection, eq("document_id", "d0")) == 0
    assert await index.count(collection, eq("document_id", "late1")) == 1
    assert await index.without_vectors(collection, 10) == []


async def test_given_writes_while_it_is_built_then_none_is_lost_and_nothing_stands_still(
    index: EdgeIndex, tmp_path: Path
) -> None:
    collection = await filled(index)
    building = asyncio.create_task(index.optimize(collection))
    written = 0
    while not building.done() and written < MIN_OPTIMIZE:
        late = a_chunk(collection, f"late{written}", document_id=f"late{written}")
        await index.upsert(collection, [late], vectors(9_000 + written))
        await index.set_vectors(collection, [late.chunk_id], vectors(9_000 + written), [b"n"])
        await index.delete(collection, eq("document_id", f"d{written}"))
        [found] = await index.search(collection, [Search(f"late{written}")], EVERYTHING, 5)
        assert [scored.chunk_id for scored in found.found] == [late.chunk_id]
        written += 1
    await building
    assert written > 20  # one or two would be if writers waited for what is built
    await assert_whole(index, collection)
    await index.aclose()
    async with aclosing(EdgeIndex(tmp_path)) as again:
        await assert_whole(again, collection)
    assert generations(tmp_path, collection) == ["1.1"]


async def test_given_an_index_that_is_closed_while_it_builds_then_it_is_as_before(
    index: EdgeIndex, tmp_path: Path
) -> None:
    collection = await filled(index)
    building = asyncio.create_task(index.optimize(collection))
    await asyncio.sleep(0.2)
    await index.aclose()
    await asyncio.wait([building])
    assert generations(tmp_path, collection) == ["1"]
    async with aclosing(EdgeIndex(tmp_path)) as again:
        assert await again.count(collection) == MIN_OPTIMIZE
        await again.optimize(collection)
        assert generations(tmp_path, collection) == ["1.1"]
        await again.optimize(collection)
        assert generations(tmp_path, collection) == ["1.1"]


async def test_given_more_written_than_memory_should_hold_then_it_is_built_before_more_is_written(
    index: EdgeIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge, "MAX_UNOPTIMIZED", MIN_OPTIMIZE)
    collection = await filled(index)
    assert generations(tmp_path, collection) == ["1.1"]
    await index.upsert(collection, [a_chunk(collection, "one more")], vectors(9_999))
    assert generations(tmp_path, collection) == ["1.1"]
    assert await index.count(collection) == MIN_OPTIMIZE + 1
    await index.aclose()


async def test_given_much_was_written_then_it_is_built_behind_the_writer(
    index: EdgeIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge, "MANY_UNOPTIMIZED", MIN_OPTIMIZE)
    collection = await filled(index)
    assert generations(tmp_path, collection)[0] == "1"  # the writer has not waited
    late = a_chunk(collection, "late", document_id="late1")
    await index.upsert(collection, [late], vectors(9_001), [b"n"])
    await index.delete(collection, eq("document_id", "d0"))
    while generations(tmp_path, collection) != ["1.1"]:
        await asyncio.sleep(0.05)
    await assert_whole(index, collection)
    await index.aclose()


async def test_given_a_large_shard_then_a_part_of_it_is_written_before_it_is_copied_again(
    index: EdgeIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = await filled(index)
    await index.optimize(collection)
    monkeypatch.setattr(edge, "MANY_UNOPTIMIZED", 10)
    fewer = MIN_OPTIMIZE // edge.SHARE - 1
    chunks = [a_chunk(collection) for _ in range(fewer)]
    await index.upsert(collection, chunks, vectors(*range(fewer)))
    assert not index._building
    await index.upsert(collection, [a_chunk(collection)], vectors(1))
    assert index._building
    await index.drop(collection)
    assert await index.count(collection) == 0
    await index.aclose()


async def test_given_a_collection_dropped_while_it_is_built_then_nothing_of_it_stays(
    index: EdgeIndex, tmp_path: Path
) -> None:
    collection = await filled(index)
    building = asyncio.create_task(index.optimize(collection))
    await asyncio.sleep(0.2)
    await index.drop(collection)
    await asyncio.wait([building])
    await index.aclose()
    async with aclosing(EdgeIndex(tmp_path)) as again:
        assert await again.count(collection) == 0


async def test_given_what_a_crash_left_then_the_newest_whole_generation_is_opened(
    index: EdgeIndex, tmp_path: Path
) -> None:
    collection = await filled(index)
    await index.optimize(collection)
    await index.aclose()
    folder = tmp_path / collection.tenant / collection.id
    shutil.copytree(folder / "1.1", folder / "1.2-building-7")
    (folder / "1.2-building-7" / "segments").rename(folder / "1.2-building-7" / "half")
    (folder / "1").mkdir()
    async with aclosing(EdgeIndex(tmp_path)) as again:
        assert await again.count(collection) == MIN_OPTIMIZE
        assert generations(tmp_path, collection) == ["1.1"]


async def test_given_a_disk_with_little_room_then_it_is_built_only_where_its_data_fit_three_times(
    index: EdgeIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    """The files are longer than the disk is free: most of them are holes."""
    collection = await filled(index)
    usage = shutil.disk_usage(tmp_path)
    lengths = sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file())
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1_000_000))
    await index.optimize(collection)
    assert generations(tmp_path, collection) == ["1"]
    assert "no room" in caplog.text
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=lengths // 2))
    chunks = [a_chunk(collection) for _ in range(MIN_OPTIMIZE)]
    await index.upsert(collection, chunks, vectors(*range(MIN_OPTIMIZE)))
    await index.optimize(collection)
    assert generations(tmp_path, collection) == ["1.1"]
    await index.aclose()


async def test_given_late_interaction_when_it_is_built_then_it_finds_as_before_and_after_a_start(
    index: EdgeIndex, tmp_path: Path
) -> None:
    collection = a_late_collection()
    chunks = [a_chunk(collection) for _ in range(MIN_OPTIMIZE)]
    tokens = [packed_tokens(i, i + 1) for i in range(MIN_OPTIMIZE)]
    await index.upsert(collection, chunks, vectors(*range(MIN_OPTIMIZE)), tokens)
    await index.optimize(collection)
    assert generations(tmp_path, collection) == ["1.1"]
    assert (await late_ids(index, collection, EVERYTHING, 70, 71))[0] == chunks[70].chunk_id
    await index.aclose()
    async with aclosing(EdgeIndex(tmp_path)) as again:
        assert (await late_ids(again, collection, EVERYTHING, 70, 71))[0] == chunks[70].chunk_id

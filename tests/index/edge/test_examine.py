"""A healthy shard is called healthy, whatever its numbers."""

from pathlib import Path

import pytest

from ragstone.core.filters import EVERYTHING
from ragstone.index.edge.examine import Shard, find_flaws, save
from ragstone.index.edge.index import EdgeIndex
from ragstone.index.edge.shard import newest_generation, next_generation, shard_path
from tests.conformance.test_chunk_index import (
    a_chunk,
    a_collection,
    a_late_collection,
    late_ids,
    packed_tokens,
    vectors,
)


async def test_given_times_of_files_to_the_last_digit_then_nothing_is_wrong(tmp_path: Path) -> None:
    """Edge reads some floats with another last digit than it wrote."""
    collection = a_collection()
    times = [1763939531.9737995, 1763935900.0714285, 1763936087.2350957, 1763932811.7517905]
    index = EdgeIndex(tmp_path)
    await index.upsert(collection, [a_chunk(collection, "text", modified=time) for time in times])
    await index.aclose()
    path = newest_generation(shard_path(tmp_path, collection))
    assert find_flaws(Shard(path, collection.dimensions, collection.language)) == []


async def test_given_late_interaction_then_a_shard_is_healthy_and_what_is_saved_of_it_has_it(
    tmp_path: Path,
) -> None:
    collection = a_late_collection()
    chunks = [a_chunk(collection), a_chunk(collection)]
    index = EdgeIndex(tmp_path)
    await index.upsert(collection, chunks, vectors(1, 2), [packed_tokens(1), packed_tokens(2)])
    await index.aclose()
    path = newest_generation(shard_path(tmp_path, collection))
    shard = Shard(path, collection.dimensions, collection.language, collection.late)
    assert find_flaws(shard) == []
    saved = save(shard, next_generation(path))
    assert saved is not None
    assert (saved.chunks, saved.vectors) == (2, 2)
    index = EdgeIndex(tmp_path)
    found = await late_ids(index, collection, EVERYTHING, 2)
    assert found == [chunks[1].chunk_id, chunks[0].chunk_id]
    await index.aclose()


async def test_given_modules_in_the_current_folder_then_none_of_them_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A folder that is shared may hold a `json.py`."""
    folder = tmp_path / "shared"
    folder.mkdir()
    for name in ("json.py", "numpy.py", "ragstone.py"):
        (folder / name).write_text("raise SystemExit('this is not ours')")
    collection, index = a_collection(), EdgeIndex(tmp_path / "index")
    await index.upsert(collection, [a_chunk(collection, "text")])
    monkeypatch.chdir(folder)
    monkeypatch.setattr("ragstone.index.edge.index.MIN_OPTIMIZE", 1)
    await index.optimize(collection)
    await index.aclose()
    assert caplog.messages == []
    path = newest_generation(shard_path(tmp_path / "index", collection))
    assert find_flaws(Shard(path, collection.dimensions, collection.language)) == []

"""What happens to the files of a collection that is removed while others want it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.records import Collection
from ragstone.index.edge import pool
from ragstone.index.edge.pool import ShardPool

NOTES = Collection("default", "notes", "m", "m/1", 3, "en", id="c1")
OTHER = Collection("default", "other", "m", "m/1", 3, "en", id="c2")


def points(shards: ShardPool, collection: Collection) -> int:
    with shards.use(collection) as held:
        return int(held.shard.info().points_count)


def test_given_a_collection_that_is_being_removed_then_who_wants_it_waits_and_others_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of its files would be taken for a damaged index."""
    shards = ShardPool(tmp_path, 4)
    for item in (NOTES, OTHER):
        assert points(shards, item) == 0
    begun, go_on = threading.Event(), threading.Event()
    remove = pool.remove_generations

    def slowly(path: Path) -> Any:
        begun.set()
        assert go_on.wait(30)
        return remove(path)

    monkeypatch.setattr(pool, "remove_generations", slowly)
    with ThreadPoolExecutor(3) as threads:
        removing = threads.submit(shards.remove, NOTES)
        assert begun.wait(30)
        wanted = threads.submit(points, shards, NOTES)
        assert threads.submit(points, shards, OTHER).result(30) == 0
        assert not wanted.done()
        go_on.set()
        removing.result(30)
        assert wanted.result(30) == 0
    shards.close()


def test_given_files_that_cannot_be_removed_then_the_collection_is_not_lost_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards = ShardPool(tmp_path, 4)
    assert points(shards, NOTES) == 0

    def denied(_: Path) -> None:
        raise PermissionError("no")

    with monkeypatch.context() as patch:
        patch.setattr(pool, "remove_generations", denied)
        with pytest.raises(PermissionError):
            shards.remove(NOTES)
    assert points(shards, NOTES) == 0
    shards.remove(NOTES)
    shards.close()

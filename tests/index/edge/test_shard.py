"""A shard is there whole or not at all, also when its process is killed."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import qdrant_edge as edge

from ragstone.core.chunk import Chunk
from ragstone.index.bm25 import Bm25Encoder
from ragstone.index.edge import shard as edge_shard
from ragstone.index.edge.shard import (
    DENSE,
    FLOAT_FIELDS,
    INTEGER_FIELDS,
    KEYWORD_FIELDS,
    copy_shard,
    disk_bytes,
    newest_generation,
    open_shard,
    optimize_shard,
    points,
    remove_generations,
)
from ragstone.ports import Vectors
from tests.conformance.test_chunk_index import a_chunk, a_collection, vectors

FIELDS = {*KEYWORD_FIELDS, *INTEGER_FIELDS, *FLOAT_FIELDS}


class Killed(Exception):
    """Here the process ends."""


class KilledAt:
    """Fields of which the second one is never reached."""

    def __iter__(self) -> Any:
        yield "page"
        raise Killed


def killed(*_: object) -> None:
    raise Killed


def opened(base: Path) -> set[str]:
    """The fields with an index of the shard, as a process finds it at its start."""
    shard = open_shard(newest_generation(base), 8)
    fields = set(shard.info().payload_schema)
    assert shard.info().points_count == 0
    shard.close()
    return fields


def test_given_a_kill_while_it_is_made_then_the_next_process_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path / "0"
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        with pytest.raises(Killed):
            open_shard(base, 8)
    with monkeypatch.context() as patch:
        patch.setattr(edge_shard, "INTEGER_FIELDS", KilledAt())
        with pytest.raises(Killed):
            opened(base)
    assert opened(base) == FIELDS
    assert opened(base) == FIELDS
    assert list(tmp_path.iterdir()) == [base]


@pytest.mark.parametrize("generation", ["0", "0.3"])
def test_given_a_kill_while_it_is_deleted_then_the_next_one_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, generation: str
) -> None:
    base = tmp_path / "0"
    open_shard(base, 8).close()
    base.rename(tmp_path / generation)

    def some(path: Path, ignore_errors: bool = False) -> None:
        for file in sorted(path.rglob("*"))[::2]:
            if file.is_file():
                file.unlink()
        if path.exists():
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", some)
        with pytest.raises(Killed):
            remove_generations(base)
    assert opened(base) == FIELDS
    assert list(tmp_path.iterdir()) == [base]


WIDTH = vectors(1).shape[1]


def written(shard: edge.EdgeShard, chunks: list[Chunk], *seeds: int) -> None:
    rows = points(chunks, vectors(*seeds), Bm25Encoder("en"))
    shard.update(edge.UpdateOperation.upsert_points(rows))


def kept(shard: edge.EdgeShard, chunk: Chunk) -> dict[str, Any]:
    [record] = shard.retrieve([chunk.chunk_id], True, False)
    return dict(record.payload or {})


def vector(shard: edge.EdgeShard, chunk: Chunk) -> Vectors:
    [record] = shard.retrieve([chunk.chunk_id], False, [DENSE])
    assert isinstance(record.vector, dict)
    return np.array(record.vector[DENSE], np.float32)


def built_copy(path: Path) -> Path:
    """The next generation, as it is built beside one that goes on answering."""
    target = path.with_name(f"{path.name}1")
    copy_shard(path, target, with_log=False)
    optimize_shard(target, WIDTH)
    return target


def test_given_a_copy_without_the_log_then_all_that_is_written_to_it_later_is_there(
    tmp_path: Path,
) -> None:
    """Edge leaves out a write whose number is lower than that of the chunk that it is about."""
    shard = open_shard(tmp_path / "0", WIDTH)
    chunks = [a_chunk(a_collection(), f"word{i}") for i in range(90)]
    for number, chunk in enumerate(chunks):
        written(shard, [chunk], number)
    shard.flush()
    path = built_copy(tmp_path / "0")
    shard.close()
    assert 2 * disk_bytes(path / "wal") < disk_bytes(tmp_path / "0" / "wal")
    for text in ("changed", "changed again"):
        shard = open_shard(path, WIDTH)
        new = Chunk.from_payload({**chunks[-1].payload(), "text": text})
        written(shard, [new], 1)
        shard.update(edge.UpdateOperation.delete_points([chunks[0].chunk_id]))
        row = edge.PointVectors(chunks[1].chunk_id, {DENSE: vectors(7)[0].tolist()})
        shard.update(edge.UpdateOperation.update_vectors([row]))
        shard.flush()
        shard.close()
        path = built_copy(path)
        shard = open_shard(path, WIDTH)
        assert shard.info().points_count == 89
        assert kept(shard, new)["text"] == text
        assert vector(shard, chunks[1]) @ vectors(7)[0] > 0.99
        shard.close()


def test_given_a_shard_of_floats_then_it_is_read_written_and_built_as_it_is(tmp_path: Path) -> None:
    """Versions before those of bytes made it."""
    path = tmp_path / "0"
    edge.EdgeShard.create(str(path), edge_shard.former_config(WIDTH, 16)).close()
    shard = open_shard(path, WIDTH, 16)
    chunk = a_chunk(a_collection())
    written(shard, [chunk], 1)
    shard.close()
    copy_shard(path, tmp_path / "1", with_log=False)
    optimize_shard(tmp_path / "1", WIDTH, 16)
    shard = open_shard(tmp_path / "1", WIDTH, 16)
    other = a_chunk(a_collection())
    written(shard, [other], 2)
    for held, seed in ((chunk, 1), (other, 2)):
        assert np.allclose(vector(shard, held), vectors(seed)[0], atol=1e-6)
    shard.close()


def test_given_a_chunk_then_empty_fields_are_not_kept_but_nobody_as_its_reader_is(
    tmp_path: Path,
) -> None:
    shard = open_shard(tmp_path / "0", WIDTH)
    full = a_chunk(a_collection(), page=3, section=("a",), subject="s", metadata={"m": 1})
    bare = a_chunk(a_collection(), path="/x.txt", page=None, section=(), metadata={}, allowed=())
    written(shard, [full, bare], 1, 2)
    said = kept(shard, bare)
    assert not {"page", "section", "metadata", "layout", "subject", "folders"} & said.keys()
    assert said["allowed"] == []
    assert [Chunk.from_payload(kept(shard, item)) for item in (full, bare)] == [full, bare]
    shard.close()


def test_given_a_file_of_holes_then_a_copy_has_no_more_than_its_data(tmp_path: Path) -> None:
    (tmp_path / "0").mkdir()
    with (tmp_path / "0" / "page").open("wb") as file:
        for place in (0, 70_000, 900_000):
            file.seek(place)
            file.write(b"data")
        file.truncate(4_000_001)
    copy_shard(tmp_path / "0", tmp_path / "1")
    assert (tmp_path / "1" / "page").read_bytes() == (tmp_path / "0" / "page").read_bytes()
    assert disk_bytes(tmp_path / "1") <= disk_bytes(tmp_path / "0") <= 12 * 4096

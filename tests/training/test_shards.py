"""Batches are drawn of all shards, in one order for all processes."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from training.reader.rows import Row, save
from training.reader.shards import Rows, read_batches, read_checks


def write_shard(folder: Path, name: str, token: int, sizes: Sequence[int]) -> None:
    """Write a shard whose rows are of one token each, so that it can be told from others."""
    rows = [
        Row((token,) * size, (1,) * size, (0,) * size, answers=1, start=-1, end=-1, verdict=-1)
        for size in sizes
    ]
    save(folder / f"{name}.npz", rows, ["kind"] * len(rows))


def count_rows(batches: Sequence[tuple[np.ndarray, ...]], token: int) -> int:
    return sum(int((ids[:, 0] == token).sum()) for ids, *_ in batches)


def test_of_our_own_shards_a_share_is_read_and_of_labelled_sets_all(tmp_path: Path) -> None:
    write_shard(tmp_path, "train-0", 5, [8] * 1000)
    write_shard(tmp_path, "train-1000", 7, [8] * 400)
    rows = Rows(*sorted(tmp_path.glob("*.npz")), longest=8, own=0.3)

    batches = [rows.batch(chosen) for chosen in rows.batches(np.random.default_rng(1), 80)]

    assert count_rows(batches, 7) == 400
    assert 200 < count_rows(batches, 5) < 400


def test_without_a_share_shard_follows_shard(tmp_path: Path) -> None:
    write_shard(tmp_path, "train-0", 5, [8] * 20)
    write_shard(tmp_path, "train-1000", 7, [8] * 20)

    batches = list(islice(read_batches(tmp_path, longest=8, tokens=160), 4))

    assert [int(ids[0, 0]) for ids, *_ in batches] == [5, 7, 5, 7]


def test_processes_read_other_rows_of_the_same_order_and_as_many(tmp_path: Path) -> None:
    write_shard(tmp_path, "train-0", 5, range(1, 8))
    write_shard(tmp_path, "train-1000", 7, range(8, 16))
    every = list(islice(read_batches(tmp_path, 20, 16, own=1.0), 6))

    both = [list(islice(read_batches(tmp_path, 20, 16, rank, 2, own=1.0), 3)) for rank in (0, 1)]

    taken = [batch for pair in zip(*both, strict=True) for batch in pair]
    for one, other in zip(every, taken, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_rows_of_several_shards_keep_their_tokens_and_labels(tmp_path: Path) -> None:
    write_shard(tmp_path, "train-0", 5, [3, 30])
    write_shard(tmp_path, "train-1", 7, [4])
    rows = Rows(*sorted(tmp_path.glob("*.npz")), longest=20)

    (chosen,) = rows.batches(None, 100)
    ids, parts, _, labels = rows.batch(chosen)

    assert ids.tolist() == [[5, 5, 5, 0, 0, 0, 0, 0], [7, 7, 7, 7, 0, 0, 0, 0]]
    assert parts.tolist()[0] == [1, 1, 1, -1, -1, -1, -1, -1]
    assert labels.tolist() == [[1, -1, -1, -1]] * 2


def test_what_is_measured_on_of_labelled_sets_need_not_be_there(tmp_path: Path) -> None:
    write_shard(tmp_path, "check", 5, [3])
    assert len(read_checks(tmp_path)) == 1

    write_shard(tmp_path, "check-harvest", 7, [3, 4])
    assert [len(rows.sizes) for rows in read_checks(tmp_path)] == [1, 2]

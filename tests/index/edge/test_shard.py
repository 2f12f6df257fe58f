"""A shard is there whole or not at all, also when its process is killed."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from ragstone.index.edge import shard as edge_shard
from ragstone.index.edge.shard import (
    FLOAT_FIELDS,
    INTEGER_FIELDS,
    KEYWORD_FIELDS,
    newest_generation,
    open_shard,
    remove_generations,
)

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

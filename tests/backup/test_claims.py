"""A backup that says anything of itself that its contents do not bear out is refused."""

import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.backup.chain import Chain
from ragstone.core.errors import InputError
from tests.backup.house import House
from tests.backup.test_backup import house  # noqa: F401
from tests.in_turn import in_turn

Change = Callable[[dict[str, bytes]], None]

INFORMATION = ("version", "schema", "made", "id", "base", "build", "place", "shared", "content")
"""What no content of a whole backup can bear out: who wrote it and when, and where it was."""


def change_parts(file: Path, change: Change) -> Path:
    """A copy of a backup with changed parts."""
    with zipfile.ZipFile(file) as held:
        parts = {name: held.read(name) for name in held.namelist()}
    change(parts)
    changed = file.with_name("changed.zip")
    with zipfile.ZipFile(changed, "w") as new:
        for name, data in parts.items():
            new.writestr(name, data)
    return changed


def check(file: Path) -> None:
    """Check a whole backup, as a restore does first."""
    chain = Chain(file)
    try:
        list(chain.check())
    finally:
        chain.close()


def list_claims(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where each single value of a manifest is."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        if key in INFORMATION and not (path and key == "id"):
            continue
        if isinstance(inner, dict | list):
            yield from list_claims(inner, (*path, key))
        else:
            yield (*path, key)


def claim(manifest: Any, path: tuple[Any, ...], value: Any) -> bool:
    """Let a manifest say something else; whether that is something else."""
    for key in path[:-1]:
        manifest = manifest[key]
    former, manifest[path[-1]] = manifest[path[-1]], value
    return bool(former != value)


VALUES = st.one_of(st.integers(-2, 10**12), st.text(max_size=5), st.none(), st.booleans())


@pytest.fixture
async def backup(house: House, tmp_path: Path) -> Path:  # noqa: F811
    file = tmp_path / "backup.zip"
    await house.back_up(file)
    check(file)
    return file


def test_no_claim_of_a_manifest_is_believed(backup: Path) -> None:
    with zipfile.ZipFile(backup) as held:
        written = held.read("manifest.json")
    places = list(list_claims(json.loads(written)))
    assert ("parts", 0, "collection", "id") in places

    @given(st.sampled_from(places), VALUES)
    def refuses(place: tuple[Any, ...], value: Any) -> None:
        manifest = json.loads(written)
        if not claim(manifest, place, value):
            return
        changed = change_parts(
            backup, lambda parts: parts.update({"manifest.json": json.dumps(manifest).encode()})
        )
        with pytest.raises(InputError):
            check(changed)

    refuses()


@in_turn(
    "change",
    [
        lambda manifest: manifest["parts"].clear(),
        lambda manifest: manifest["parts"].append(manifest["parts"][0]),
        lambda manifest: manifest["parts"][0]["collection"].update(id="other", name="other"),
        lambda manifest: manifest["parts"][0]["collection"].update(tenant="other"),
        lambda manifest: manifest.update(made=float("inf")),
    ],
)
def test_a_manifest_that_tells_other_collections_is_refused(
    backup: Path, change: Callable[[Any], None]
) -> None:
    def lie(parts: dict[str, bytes]) -> None:
        manifest = json.loads(parts["manifest.json"])
        change(manifest)
        parts["manifest.json"] = json.dumps(manifest).encode()

    with pytest.raises(InputError):
        check(change_parts(backup, lie))


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"tenant":"default"', b'"tenant":"another"'), (b'"collection":"', b'"collection":"x')],
    ids=["tenant", "collection"],
)
def test_chunks_of_another_collection_are_refused(backup: Path, old: bytes, new: bytes) -> None:
    def move(parts: dict[str, bytes]) -> None:
        [name] = [name for name in parts if name.startswith("index/") and name.endswith("jsonl")]
        assert old in parts[name]
        parts[name] = parts[name].replace(old, new)

    with pytest.raises(InputError, match="damaged at index"):
        check(change_parts(backup, move))


def test_a_part_that_no_manifest_names_is_refused(backup: Path) -> None:
    hidden = change_parts(backup, lambda parts: parts.update({"state/9999.jsonl": b""}))
    with pytest.raises(InputError, match="damaged at state/9999"):
        check(hidden)

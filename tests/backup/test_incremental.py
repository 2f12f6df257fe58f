"""An incremental backup holds what earlier ones lack, and restores to what a whole one does."""

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as with_settings
from hypothesis import strategies as st

from ragstone.backup.archive import ArchiveReader
from ragstone.backup.back_up import write_backup
from ragstone.backup.manifest import digest_array, places, sort_digests
from ragstone.core.chunk import Chunk
from ragstone.core.errors import InputError
from ragstone.core.filters import eq
from ragstone.ingest.uploads import Spool
from ragstone.service import Handed, IngestRequest
from tests.backup.house import House, opened
from tests.databases import NAME, Databases
from tests.in_turn import in_turn

TEXT = "The museum opens at nine. Guided tours begin at ten and last an hour. "
RULES = "Dogs must be on a lead. " * 60

Change = Callable[[House, random.Random], Awaitable[None]]
Opener = Callable[[str], AbstractAsyncContextManager[House]]


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    (tmp_path / "data").mkdir()
    async with opened(tmp_path / "data") as house:
        house.write("hours.txt", TEXT)
        house.write("rules.txt", RULES)
        await house.ingest()
        yield house


@pytest.fixture
async def monday(house: House, tmp_path: Path) -> Path:
    """A whole backup of it."""
    await house.back_up(tmp_path / "monday.ragstone")
    return tmp_path / "monday.ragstone"


async def upload(house: House, path: str, content: bytes) -> None:
    kept = Spool(house.data).add(BytesIO(content), path[1:])
    request = IngestRequest(handed=(Handed(kept, path, f"upload:{path}"),))
    await house.pipeline.ingest("job", request, lambda _: None)


async def check_equal(house: House, since: Path, open_other: Opener) -> Path:
    """Back up whole and incrementally at the same moment, and restore both elsewhere; the
    incremental one."""
    folder = since.parent
    number = len(list(folder.glob("*.ragstone")))
    whole, more = folder / f"{number}-whole.ragstone", folder / f"{number}-more.ragstone"
    await house.back_up(whole)
    await house.back_up(more, since)
    found = []
    for file in (whole, more):
        async with open_other(file.name) as other:
            await other.restore(file)
            found.append(await other.contents())
            assert await other.examine(mend=False) == await house.examine(mend=False)
    assert found[0] == found[1]
    whole.unlink()
    return more


def elsewhere(folder: Path) -> Opener:
    """Opens other houses with embedded indexes."""

    def open_other(name: str) -> AbstractAsyncContextManager[House]:
        (folder / f"other-{name}").mkdir()
        return opened(folder / f"other-{name}")

    return open_other


def members(file: Path, kind: str) -> int:
    with zipfile.ZipFile(file) as held:
        return sum(name.endswith(kind) for name in held.namelist())


def own_chunks(file: Path) -> int:
    return sum(part.chunks for part in ArchiveReader(file).manifest.parts)


async def test_given_nothing_changed_then_it_holds_no_chunks_and_restores_all(
    house: House, monday: Path, tmp_path: Path
) -> None:
    await upload(house, "/tower.txt", b"The tower opens at ten.")
    tuesday = await check_equal(house, monday, elsewhere(tmp_path))
    assert own_chunks(tuesday) == 1
    assert members(tuesday, "originals/000000") == 1
    wednesday = await check_equal(house, tuesday, elsewhere(tmp_path))
    assert own_chunks(wednesday) == 0
    assert members(wednesday, "originals/000000") == 0
    said = (await house.back_up(tmp_path / "thursday.ragstone", wednesday)).notes
    assert "all 4 are needed" in said[1]


async def test_given_a_changed_document_then_only_its_chunks_are_written(
    house: House, monday: Path, tmp_path: Path
) -> None:
    before = own_chunks(monday)
    house.write("hours.txt", "The museum is closed for good.")
    await house.ingest()
    await house.pipeline.purge()
    tuesday = await check_equal(house, monday, elsewhere(tmp_path))
    assert 0 < own_chunks(tuesday) < before
    async with opened_empty(tmp_path / "again") as other:
        await other.restore(tuesday)
        texts = {chunk.text for chunk in (await other.chunks()).values()}
    assert "The museum is closed for good." in texts
    assert TEXT.strip() not in texts


def opened_empty(folder: Path) -> AbstractAsyncContextManager[House]:
    folder.mkdir()
    return opened(folder)


async def test_given_vectors_that_came_later_then_they_are_restored(
    house: House, monday: Path, tmp_path: Path
) -> None:
    collection, chunks = await house.collection(), list((await house.chunks()).values())
    vectors = await house.index.vectors(collection, [chunk.chunk_id for chunk in chunks])
    await house.index.upsert(collection, chunks)  # They wait for their vectors.
    tuesday = await check_equal(house, monday, elsewhere(tmp_path))
    ids = list(vectors)
    await house.index.set_vectors(
        collection, ids, np.stack([vectors[id] for id in ids]), [b"tokens"] * len(ids)
    )
    wednesday = await check_equal(house, tuesday, elsewhere(tmp_path))
    assert own_chunks(wednesday) == len(chunks)


async def test_given_readers_and_metadata_changed_in_place_then_they_are_restored(
    house: House, monday: Path, tmp_path: Path
) -> None:
    collection, chunks = await house.collection(), list((await house.chunks()).values())
    changed = replace(chunks[0], allowed=("group:staff",), metadata={"year": 2024, "b": [1.5]})
    vectors = await house.index.vectors(collection, [changed.chunk_id])
    await house.index.upsert(collection, [changed], np.stack(list(vectors.values())))
    tuesday = await check_equal(house, monday, elsewhere(tmp_path))
    assert own_chunks(tuesday) == 1


async def test_given_a_chunk_that_came_back_then_it_is_restored_once(
    house: House, monday: Path, tmp_path: Path
) -> None:
    collection, chunks = await house.collection(), list((await house.chunks()).values())
    [vector] = (await house.index.vectors(collection, [chunks[0].chunk_id])).values()
    await house.index.delete(collection, eq("revision", chunks[0].revision))
    tuesday = await check_equal(house, monday, elsewhere(tmp_path))
    await house.index.upsert(collection, chunks[:1], np.stack([vector]))
    wednesday = await check_equal(house, tuesday, elsewhere(tmp_path))
    assert own_chunks(wednesday) == 1


async def test_given_uploads_then_what_an_earlier_file_has_is_taken_from_there(
    house: House, monday: Path, tmp_path: Path
) -> None:
    await upload(house, "/tower.txt", b"The tower opens at ten.")
    await upload(house, "/large.txt", b"The hall." + b" " * 2_000_000)
    tuesday = await check_equal(house, monday, elsewhere(tmp_path))
    assert members(tuesday, "originals/000000") + members(tuesday, "originals/000001") == 2
    await upload(house, "/tower.txt", b"The tower is closed.")
    await upload(house, "/again.txt", b"The tower opens at ten.")
    wednesday = await check_equal(house, tuesday, elsewhere(tmp_path))
    with zipfile.ZipFile(wednesday) as held:
        assert sum(name.startswith("originals/") for name in held.namelist()) == 1


# Bad input.


async def test_given_no_such_base_then_nothing_is_written(house: House, tmp_path: Path) -> None:
    file = tmp_path / "tuesday.ragstone"
    for base in (tmp_path / "monday.ragstone", file):
        with pytest.raises(InputError, match="There is no file"):
            await house.back_up(file, base)
    assert not list(tmp_path.glob("*tuesday*"))


async def test_given_a_damaged_base_then_nothing_is_written(
    house: House, monday: Path, tmp_path: Path
) -> None:
    damage(monday)
    with pytest.raises(InputError, match="monday.ragstone is damaged at index"):
        await house.back_up(tmp_path / "tuesday.ragstone", monday)
    monday.write_bytes(monday.read_bytes()[:-50])
    with pytest.raises(InputError, match="monday.ragstone is not a backup"):
        await house.back_up(tmp_path / "tuesday.ragstone", monday)
    assert not list(tmp_path.glob("*tuesday*"))


def damage(file: Path, part: str = "index/0000/000000.vectors") -> None:
    """Change a byte of a part."""
    place = zipfile.ZipFile(file).getinfo(part).header_offset
    data = bytearray(file.read_bytes())
    data[place + 30 + len(part) + 5] ^= 0xFF
    file.write_bytes(data)


async def test_given_a_backup_of_another_ragstone_then_nothing_is_written(
    house: House, monday: Path, tmp_path: Path
) -> None:
    async with opened_empty(tmp_path / "other") as other:
        await other.ingest()
        with pytest.raises(InputError, match="monday.ragstone is a backup of another Ragstone"):
            await other.back_up(tmp_path / "tuesday.ragstone", monday)
    assert not list(tmp_path.glob("*tuesday*"))


async def test_given_a_base_of_before_a_restore_then_it_is_continued(
    house: House, monday: Path, tmp_path: Path
) -> None:
    house.write("hours.txt", "Changed.")
    await house.ingest()
    await house.restore(monday)
    house.write("hours.txt", "Changed otherwise.")
    await house.ingest()
    await check_equal(house, monday, elsewhere(tmp_path))


@pytest.fixture
async def tuesday(house: House, monday: Path, tmp_path: Path) -> Path:
    """An incremental backup."""
    file = tmp_path / "tuesday.ragstone"
    house.write("hours.txt", "The museum is closed for good.")
    await house.ingest()
    await house.back_up(file, monday)
    return file


async def refused(house: House, says: str, file: Path, *earlier: Path) -> None:
    """A restore says why it cannot be, and nothing has changed."""
    before = await house.contents()
    with pytest.raises(InputError, match=says):
        await house.restore(file, *earlier)
    assert await house.contents() == before


async def test_given_a_chain_that_lacks_a_file_then_it_is_named(
    house: House, monday: Path, tuesday: Path, tmp_path: Path
) -> None:
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    monday.rename(moved / "first.ragstone")
    await refused(house, r"tuesday.ragstone continues the backup monday.ragstone of 2", tuesday)
    with pytest.raises(InputError, match=r"no such file in"):
        await house.back_up(tmp_path / "wednesday.ragstone", tuesday)
    await house.restore(tuesday, moved / "first.ragstone")
    assert await house.examine() == ()


async def test_given_another_backup_in_the_place_of_its_base_then_it_is_named(
    house: House, monday: Path, tuesday: Path
) -> None:
    monday.unlink()
    await house.back_up(monday)  # Newer than the one that continues it.
    await refused(house, "monday.ragstone is another backup, of 2.*, than the one of 2", tuesday)


async def test_given_a_damaged_file_of_the_chain_then_it_is_named(
    house: House, monday: Path, tuesday: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copy(monday, copy)
    damage(monday)
    says = "The backup monday.ragstone is damaged: its checksum is not the one in tuesday.ragstone"
    await refused(house, says, tuesday)
    shutil.copy(monday, tmp_path / "m")
    monday.write_bytes(monday.read_bytes()[:-50])
    await refused(house, "monday.ragstone, which tuesday.ragstone continues, is damaged", tuesday)
    monday.unlink()
    await refused(house, "The backup m is damaged: its checksum", tuesday, tmp_path / "m")
    await house.restore(tuesday, copy)


@in_turn("share", [0.0, 0.5, 0.9, 0.999])
async def test_given_an_incremental_backup_that_was_cut_off_then_nothing_changes(
    house: House, tuesday: Path, share: float
) -> None:
    data = tuesday.read_bytes()
    tuesday.write_bytes(data[: int(share * len(data))])
    await refused(house, "tuesday.ragstone is not a backup of Ragstone, or was cut off", tuesday)
    tuesday.write_bytes(data)


async def test_given_a_damaged_part_of_an_incremental_backup_then_nothing_changes(
    house: House, tuesday: Path
) -> None:
    damage(tuesday)
    await refused(house, "tuesday.ragstone is damaged at index", tuesday)


async def test_given_files_that_it_does_not_continue_then_they_are_named(
    house: House, monday: Path, tuesday: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.ragstone"
    await house.back_up(other)
    await refused(house, "other.ragstone is not a backup that monday.ragstone con", monday, other)
    await refused(house, "tuesday.ragstone is not a backup that tuesday", tuesday, monday, tuesday)
    await refused(house, "There is no file", tuesday, tmp_path / "none")


def changed(file: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a file's manifest."""
    with zipfile.ZipFile(file) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    manifest = json.loads(parts["manifest.json"])
    change(manifest)
    parts["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(file, "w") as new:
        for name, data in parts.items():
            new.writestr(name, data)


@in_turn(
    ("change", "says"),
    [
        (lambda it: it.update(format=1), "not a backup"),
        (lambda it: it.update(base=None), "not a backup"),
        (lambda it: it["base"].update(name="../monday.ragstone"), "not a backup"),
        (lambda it: it["base"].update(name="/etc/passwd"), "not a backup"),
        (lambda it: it["base"].update(name=""), "not a backup"),
        (lambda it: it["base"].update(name=7), "not a backup"),
        (lambda it: it.update(base=["monday.ragstone"]), "not a backup"),
        (lambda it: it["base"].update(sha256="0" * 64), "monday.ragstone is damaged"),
        (lambda it: it["base"].update(sha256="0" * 64, id="x"), "is another backup"),
        (lambda it: it["base"].update(name="tuesday.ragstone"), "is another backup"),
        (lambda it: it["base"].update(name="tuesday.ragstone", id=it["id"]), "is damaged"),
        (lambda it: it["parts"][0].update(kept=0), "damaged at index"),
        (lambda it: it["parts"][0].update(kept=-1), "not a backup"),
        (lambda it: it["parts"][0].update(gone=0), "damaged at index"),
        (lambda it: it["parts"][0].update(gone=10**9), "damaged at index"),
        (lambda it: it["parts"][0].update(content=""), "damaged at index"),
        (lambda it: it["parts"][0]["collection"].update(id="other"), "damaged at manifest"),
        (lambda it: it["parts"][0]["collection"].update(dimensions=31), "damaged at manifest"),
    ],
)
async def test_given_a_manifest_that_lies_then_nothing_changes(
    house: House, tuesday: Path, change: Callable[[dict[str, Any]], None], says: str
) -> None:
    whole = tuesday.read_bytes()
    changed(tuesday, change)
    await refused(house, says, tuesday)
    tuesday.write_bytes(whole)


async def test_given_two_backups_that_claim_to_continue_each_other_then_it_ends(
    house: House, monday: Path, tuesday: Path
) -> None:
    said = ArchiveReader(tuesday).manifest
    base = {"name": tuesday.name, "id": said.id, "sha256": "0" * 64, "made": 1.0}
    changed(monday, lambda it: it.update(base=base, format=2))
    await refused(house, "damaged", tuesday)
    await refused(house, "damaged", monday)


async def test_given_an_incremental_backup_then_its_first_step_changes_nothing(
    house: House, monday: Path, tmp_path: Path
) -> None:
    """One that is given up leaves nothing, and the next is whole."""
    file = tmp_path / "tuesday.ragstone"
    for many in (1, 2, 3):
        steps = house.steps(write_backup, file, since=monday)
        for _ in range(many):
            await anext(steps)
        await steps.aclose()
        assert sorted(tmp_path.glob("*tuesday*")) == []
        assert sorted(tmp_path.glob(".*")) == []
    assert await check_equal(house, monday, elsewhere(tmp_path))


KILLED = """
import asyncio, sys, time
from pathlib import Path
from ragstone.backup.back_up import write_backup
from tests.backup.house import opened

async def main(data, file, since, steps):
    async with opened(Path(data)) as house:
        work = house.steps(write_backup, Path(file), since=Path(since))
        for _ in range(int(steps)):
            await anext(work)
        print("there", flush=True)
        time.sleep(600)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="needs files without names")
@pytest.mark.parametrize("steps", [1, 2, 3])
async def test_given_a_kill_then_nothing_is_left_and_the_next_backup_works(
    tmp_path: Path, steps: int
) -> None:
    (tmp_path / "data").mkdir()
    backups = tmp_path / "backups"
    backups.mkdir()
    monday, file = backups / "monday.ragstone", backups / "tuesday.ragstone"
    async with opened(tmp_path / "data") as house:
        house.write("hours.txt", TEXT)
        await house.ingest()
        await house.back_up(monday)
        house.write("rules.txt", RULES)
        await house.ingest()
    command = [sys.executable, "-c", KILLED, str(tmp_path / "data"), str(file), str(monday)]
    process = await asyncio.create_subprocess_exec(
        *command, str(steps), stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    assert process.stdout
    assert (await process.stdout.readline()).strip() == b"there"
    process.send_signal(signal.SIGKILL)
    await process.wait()
    assert os.listdir(backups) == [monday.name]
    async with opened(tmp_path / "data") as house:
        house.pipeline.originals.drop_linked()
        await check_equal(house, monday, elsewhere(tmp_path))


async def test_given_a_backup_of_an_earlier_version_then_it_is_continued(
    house: House, monday: Path, tmp_path: Path
) -> None:
    def earlier(manifest: dict[str, Any]) -> None:
        for name in ("id", "base", "originals"):
            del manifest[name]
        for part in manifest["parts"]:
            for name in ("kept", "gone", "content"):
                del part[name]

    changed(monday, earlier)
    tuesday = await check_equal(house, monday, elsewhere(tmp_path))
    assert own_chunks(tuesday) == 0


async def test_given_a_whole_backup_then_earlier_versions_can_restore_it(
    house: House, tmp_path: Path
) -> None:
    await upload(house, "/tower.txt", b"The tower opens at ten.")
    await house.back_up(tmp_path / "whole.ragstone")
    with zipfile.ZipFile(tmp_path / "whole.ragstone") as held:
        assert held.testzip() is None
        assert json.loads(held.read("manifest.json"))["format"] == 1
        [line] = held.read("originals.jsonl").splitlines()
        assert set(json.loads(line)) == {"document", "name", "size", "sha256"}
        [first, *_] = held.read("index/0000/000000.jsonl").splitlines()
        assert list(json.loads(first)) == ["chunk", "vector", "tokens"]


@given(st.lists(st.binary(min_size=16, max_size=16)), st.lists(st.sampled_from([0, 1, 255])))
def test_digests_are_found_where_they_are(some: list[bytes], ends: list[int]) -> None:
    among = [*some, *(bytes([end]) * 15 + b"\0" for end in ends), bytes(16)]
    held = sort_digests(set(among))
    raw = held.tobytes()
    for item, at in zip(among, places(digest_array(among), held).tolist(), strict=True):
        assert raw[16 * at : 16 * at + 16] == item
    others = [bytes([*item[:15], item[15] ^ 7]) for item in among]
    for item, at in zip(others, places(digest_array(others), held).tolist(), strict=True):
        assert (at >= 0) == (item in among)


# Whatever happens in between, a whole and an incremental backup restore to the same.


async def write(house: House, source: random.Random) -> None:
    names = ["hours.txt", "rules.txt", "a.txt", "b.txt"]
    house.write(source.choice(names), f"{TEXT * source.randint(1, 60)} {source.random()}")
    await house.ingest(source.choice(["default", "second"]))


async def upload_some(house: House, source: random.Random) -> None:
    text = f"The tower of {source.randint(1, 3)} windows."
    await upload(house, f"/tower-{source.randint(1, 2)}.txt", text.encode())


async def delete(house: House, source: random.Random) -> None:
    found = await house.catalog.documents("default")
    if found:
        await house.catalog.retire([source.choice(found).id])
        await house.pipeline.purge()


async def rename(house: House, source: random.Random) -> None:
    [*found] = await house.catalog.collections()
    free = {"default", "second", "third"} - {item.name for item in found}
    if found and free:
        await house.catalog.rename_collection(source.choice(found), source.choice(sorted(free)))


async def drop(house: House, source: random.Random) -> None:
    found = await house.catalog.collections()
    if len(found) > 1:
        await house.catalog.drop_collection("default", source.choice(found).id)
        await house.pipeline.purge()


async def rebuild(house: House, source: random.Random) -> None:
    for collection in await house.catalog.collections():
        await house.rebuild(collection.name)


async def allow(house: House, source: random.Random) -> None:
    """Other readers, in place."""
    await put(house, source, lambda chunk: replace(chunk, allowed=(f"user:{source.random()}",)))


async def describe(house: House, source: random.Random) -> None:
    """Other metadata, in place."""
    said = {"year": source.randint(1990, 2030), "of": {"b": source.random(), "a": ["x"]}}
    await put(house, source, lambda chunk: replace(chunk, metadata=said))


async def wait_for_vectors(house: House, source: random.Random) -> None:
    await put(house, source, lambda chunk: chunk, vectors=False)


async def embed(house: House, source: random.Random) -> None:
    for collection in await house.catalog.collections():
        await house.pipeline.embed(collection)


async def put(
    house: House,
    source: random.Random,
    change: Callable[[Chunk], Chunk],
    vectors: bool = True,
) -> None:
    """Write some chunks of every collection again."""
    for collection in await house.catalog.collections():
        async for some in house.index.scan(collection):
            chosen = [chunk for chunk in some if source.random() < 0.5]
            known = await house.index.vectors(collection, [chunk.chunk_id for chunk in chosen])
            changed = [change(chunk) for chunk in chosen if chunk.chunk_id in known]
            rows = [known[chunk.chunk_id] for chunk in changed]
            if rows:
                await house.index.upsert(collection, changed, np.stack(rows) if vectors else None)


CHANGES = (
    write,
    upload_some,
    delete,
    rename,
    drop,
    rebuild,
    allow,
    describe,
    wait_for_vectors,
    embed,
)

histories = st.lists(
    st.lists(st.sampled_from(CHANGES), min_size=1, max_size=4), min_size=1, max_size=3
)


async def holds_for(days: list[list[Change]], seed: int, root: Path, open_house: Opener) -> None:
    source = random.Random(seed)
    async with open_house("first") as house:
        house.write("hours.txt", TEXT)
        house.write("rules.txt", RULES)
        await house.ingest()
        await house.ingest("second")
        last = root / "0.ragstone"
        await house.back_up(last)
        for changes in days:
            for change in changes:
                await change(house, source)
            last = await check_equal(house, last, open_house)


@pytest.mark.slow
@given(histories, st.integers(0, 1000))
@with_settings(max_examples=12, deadline=None)
def test_whatever_changes_an_incremental_backup_restores_to_what_a_whole_one_does(
    days: list[list[Change]], seed: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(holds_for(days, seed, Path(folder), elsewhere(Path(folder))))


@pytest.mark.slow
@given(histories, st.integers(0, 1000))
@with_settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_so_it_does_on_postgresql(
    postgres_databases: Databases, days: list[list[Change]], seed: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:

        def open_house(name: str) -> AbstractAsyncContextManager[House]:
            place = Path(folder) / f"house-{name}"
            place.mkdir()
            database = postgres_databases.new()
            (place / NAME).write_text(database)
            url = postgres_databases.url(database)
            return opened(place, postgres_databases.open, index_url=url)

        asyncio.run(holds_for(days, seed, Path(folder), open_house))

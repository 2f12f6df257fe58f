"""A backup holds everything as of one moment; a restore puts it back, or changes nothing."""

import asyncio
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragstone import build
from ragstone.access.secrets import key_id
from ragstone.backup.archive import ArchiveReader
from ragstone.backup.back_up import write_backup
from ragstone.core.errors import ConfigError, InputError, StorageFull, Unauthorized
from ragstone.core.filters import eq
from ragstone.core.records import Person
from ragstone.core.turn import Principal
from ragstone.ingest.uploads import LINKED, RESTORED, Spool
from ragstone.local.keys import LocalKeys
from ragstone.local.repair import find_damage
from ragstone.plugins.sharing.contract import Share
from ragstone.plugins.sharing.service import SqlSharing
from ragstone.plugins.webhooks.contract import Webhook
from ragstone.plugins.webhooks.store import SqlWebhooks, StoredWebhook
from ragstone.ports import StoredPerson
from ragstone.ports.jobs import NewJob
from ragstone.service import Handed, IngestRequest
from ragstone.service.keys import KeyGrant
from ragstone.settings import Settings
from ragstone.store.sql import migrations
from ragstone.store.sql.dump import SqlDump
from ragstone.store.sql.jobs import SqlJobs
from ragstone.store.sql.people import SqlKeys, SqlPeople
from ragstone.store.sql.tables import (
    documents,
    jobs,
    shared_conversations,
    statistics,
    webhooks,
)
from tests.backup.house import House, opened
from tests.databases import DatabaseOpener
from tests.in_turn import in_turn
from tests.store.sql.next_schema import NEXT, next_schema

TEXT = "The museum opens at nine. Guided tours begin at ten and last an hour. "


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    (tmp_path / "data").mkdir()
    async with opened(tmp_path / "data") as house:
        house.write("hours.txt", TEXT)
        house.write("rules.txt", "Dogs must be on a lead. " * 60)
        await house.ingest()
        yield house


async def test_given_a_backup_when_restored_elsewhere_then_everything_is_there(
    house: House, tmp_path: Path
) -> None:
    file = tmp_path / "backup.zip"
    done = await house.back_up(file)
    assert done.finished
    (tmp_path / "other").mkdir()
    async with opened(tmp_path / "other") as other:
        await other.restore(file)
        assert await other.rows(documents) == await house.rows(documents)
        here, there = await house.chunks(), await other.chunks()
        assert here == there
        one = next(iter(here))
        before = await house.index.vectors(await house.collection(), [one])
        after = await other.index.vectors(await other.collection(), [one])
        assert np.allclose(before[one], after[one])
        assert await other.examine() == ()


async def upload(house: House, path: str, content: bytes) -> None:
    kept = Spool(house.data).add(BytesIO(content), path[1:])
    request = IngestRequest(handed=(Handed(kept, path, f"upload:{path}"),))
    await house.pipeline.ingest("job", request, lambda _: None)


async def uploads(house: House) -> dict[str, bytes]:
    """What is kept of them, by path."""
    paths = {row["id"]: str(row["path"]) for row in await house.rows(documents)}
    return {paths.get(id, id): file.read_bytes() for id, file in house.pipeline.originals.all()}


async def test_given_uploads_then_a_restore_brings_them_back_and_the_doctor_reads_them_again(
    house: House, tmp_path: Path
) -> None:
    file, tower = tmp_path / "backup.zip", b"The tower opens at ten."
    await upload(house, "/tower.txt", tower)
    await upload(house, "/large.txt", (large := b"The hall is closed." + b" " * 3_000_000))
    done = await house.back_up(file)
    assert "2 uploads" in done.notes[0]
    assert file.stat().st_mode & 0o777 == 0o600
    (tmp_path / "other").mkdir()
    async with opened(tmp_path / "other") as other:
        await other.restore(file)
        assert await uploads(other) == {"/tower.txt": tower, "/large.txt": large}
        for _, kept in other.pipeline.originals.all():
            assert kept.stat().st_mode & 0o777 == 0o600
            assert kept.parent.stat().st_mode & 0o777 == 0o700
        lost = [chunk for chunk in (await other.chunks()).values() if chunk.path == "/tower.txt"]
        await other.index.delete(await other.collection(), eq("document_id", lost[0].document_id))
        assert await other.examine() != ()
        assert tower.decode() in {chunk.text for chunk in (await other.chunks()).values()}
        assert await other.examine() == ()


async def test_given_uploads_since_then_a_restore_takes_them_back(
    house: House, tmp_path: Path
) -> None:
    file = tmp_path / "backup.zip"
    await upload(house, "/tower.txt", b"The tower opens at ten.")
    await house.back_up(file)
    await upload(house, "/tower.txt", b"The tower is closed.")
    await upload(house, "/new.txt", b"A bridge.")
    await house.restore(file)
    assert await uploads(house) == {"/tower.txt": b"The tower opens at ten."}
    assert not (house.data / RESTORED).exists()


async def test_given_uploads_that_are_replaced_or_deleted_meanwhile_then_it_has_those_of_before(
    house: House, tmp_path: Path
) -> None:
    file, before = tmp_path / "backup.zip", b"The tower opens at ten."
    await upload(house, "/tower.txt", before)
    await upload(house, "/hall.txt", before)
    steps = house.steps(write_backup, file)
    await anext(steps)
    await upload(house, "/tower.txt", b"The tower is closed.")
    await upload(house, "/new.txt", b"A bridge.")
    [hall] = [
        document
        for document in await house.catalog.documents("default")
        if document.path == "/hall.txt"
    ]
    await house.catalog.retire([hall.id])
    house.pipeline.originals.delete([hall.id])
    async for _ in steps:
        pass
    assert not list(house.data.glob(f"{LINKED}*"))
    await house.restore(file)
    assert await uploads(house) == {"/tower.txt": before, "/hall.txt": before}


async def test_given_a_backup_that_was_killed_then_a_start_deletes_its_links(
    house: House, tmp_path: Path
) -> None:
    await upload(house, "/tower.txt", b"The tower opens at ten.")
    house.pipeline.originals.link_all()
    assert list(house.data.glob(f"{LINKED}*"))
    house.pipeline.originals.drop_linked()
    assert not list(house.data.glob(f"{LINKED}*"))
    assert await uploads(house) == {"/tower.txt": b"The tower opens at ten."}


async def test_given_a_deletion_while_a_backup_is_written_then_its_end_deletes_the_chunks(
    tmp_path: Path,
) -> None:
    (tmp_path / "hours.txt").write_text(TEXT)
    settings = Settings(ragstone_data=tmp_path / "data")
    async with build.open(settings) as service:
        async for _ in service.ingest(IngestRequest((str(tmp_path / "hours.txt"),))):
            pass
        steps = service.maintenance.back_up(str(tmp_path / "backup.zip"))
        await anext(steps)
        assert await service.delete(Principal(), "default", None) == 1
        catalog, index = service._adapters.catalog, service._adapters.index
        [dropped] = await catalog.list_unused()
        assert await index.count(dropped)
        async for _ in steps:
            pass
        assert await catalog.list_unused() == []
        assert await index.count(dropped) == 0


async def test_given_a_backup_without_uploads_then_those_of_its_documents_stay(
    house: House, tmp_path: Path
) -> None:
    file, earlier = tmp_path / "backup.zip", tmp_path / "earlier.zip"
    await upload(house, "/tower.txt", b"The tower opens at ten.")
    await house.back_up(file)

    def changed(name: str, data: bytes) -> bytes | None:
        if name.startswith("originals"):
            return None
        if name != "manifest.json":
            return data
        known = json.loads(data)
        del known["originals"]
        return json.dumps(known).encode()

    _copy(file, earlier, changed)
    await house.restore(earlier)
    assert await uploads(house) == {"/tower.txt": b"The tower opens at ten."}


@in_turn(
    "change",
    [
        {"size": 22},
        {"size": 24},
        {"size": -1},
        {"size": 10**15},
        {"size": "23"},
        {"sha256": "0" * 64},
        {"sha256": ""},
        {"name": "../tower.txt"},
        {"name": "/etc/passwd"},
        {"name": ".."},
        {"name": ""},
        {"name": None},
        {"document": "../../x"},
        {"document": ".."},
        {"document": "0" * 36},
        {"more": 1},
        None,
    ],
)
async def test_given_an_upload_that_is_not_what_its_line_says_then_nothing_changes(
    house: House, tmp_path: Path, change: dict[str, object] | None
) -> None:
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    file, other = folder / "backup.zip", folder / "other.zip"
    await upload(house, "/tower.txt", b"The tower opens at ten.")
    await house.back_up(file)

    def changed(name: str, data: bytes) -> bytes | None:
        if change is None:
            return None if name == "originals/000000" else data
        return json.dumps({**json.loads(data), **change}).encode() if "ls.jsonl" in name else data

    _copy(file, other, changed)
    await upload(house, "/tower.txt", b"A bridge.")
    before = await uploads(house)
    with pytest.raises(InputError, match="damaged"):
        await house.restore(other)
    assert await uploads(house) == before
    assert not (house.data / RESTORED).exists()


def test_given_a_restore_that_was_ended_then_the_doctor_clears_its_uploads_away(
    tmp_path: Path,
) -> None:
    left = tmp_path / RESTORED / ("0" * 36)
    left.mkdir(parents=True)
    (left / "tower.txt").write_text("The tower.")
    [found] = find_damage(Settings(ragstone_data=tmp_path))
    assert "interrupted" in found.what
    assert found.mend
    found.mend()
    assert find_damage(Settings(ragstone_data=tmp_path)) == []


async def test_given_no_room_for_the_uploads_then_nothing_changes(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "backup.zip"
    await upload(house, "/tower.txt", b"The tower opens at ten.")
    await house.back_up(file)
    house.write("new.txt", "A new exhibition.")
    await house.ingest()
    before = await house.rows(documents)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10))
    with pytest.raises(StorageFull, match="Free some space"):
        await house.restore(file)
    assert await house.rows(documents) == before


async def test_given_a_backup_then_it_can_be_restored_to_either_database(
    house: House, tmp_path: Path, open_state: DatabaseOpener
) -> None:
    file, again = tmp_path / "backup.zip", tmp_path / "again.zip"
    await house.back_up(file)
    (tmp_path / "other").mkdir()
    async with opened(tmp_path / "other", open_state) as other:
        await other.restore(file)
        assert await other.rows(documents) == await house.rows(documents)
        before = await other.edition()
        other.write("new.txt", "A new exhibition about bridges.")
        await other.ingest()
        after = await other.edition()
        assert before
        assert after
        assert before.stamp != after.stamp
        assert await other.examine() == ()
        await other.back_up(again)
    await house.restore(again)
    assert len(await house.rows(documents)) == 3


async def test_given_changes_since_then_a_restore_takes_them_back(
    house: House, tmp_path: Path
) -> None:
    file = tmp_path / "backup.zip"
    await house.back_up(file)
    before = await house.chunks()
    house.write("hours.txt", "The museum is closed for good.")
    house.write("new.txt", "A new exhibition about bridges.")
    await house.ingest()
    await house.ingest("second")
    old = await house.collection()
    await house.restore(file)
    assert await house.chunks() == before
    assert await house.catalog.collection("default", "second") is None
    assert (await house.collection()).build == old.build + 1
    assert await house.index.count(old) == 0
    house.write("hours.txt", "The museum is closed for good.")
    await house.ingest()
    texts = [chunk.text for chunk in (await house.chunks()).values()]
    assert "The museum is closed for good." in texts
    assert await house.examine() == ()


async def test_given_secrets_that_were_withdrawn_since_then_a_restore_revives_none(
    house: House, tmp_path: Path
) -> None:
    store = SqlKeys(house.database)
    keys = LocalKeys(store, house.catalog)
    untouched, revoked, rotated = [(await keys.create(KeyGrant(name))).secret for name in "abc"]
    file = tmp_path / "backup.zip"
    await house.back_up(file)
    await keys.revoke(None, key_id(revoked))
    rotated_to = (await keys.rotate(None, key_id(rotated), 0)).secret
    made_since = (await keys.create(KeyGrant("d"))).secret
    await keys.end_session("a session", until=2e10)

    await house.restore(file)

    restarted = LocalKeys(store, house.catalog)
    for secret in (untouched, rotated_to):
        assert await restarted.whose(secret)
    for secret in (revoked, rotated, made_since):
        with pytest.raises(Unauthorized):
            await restarted.whose(secret)
    assert await restarted.has_ended("a session")


def make_account(name: str, **rights: Any) -> StoredPerson:
    person = Person("default", name, name, ("staff",), None, "admin", 5.0)
    return StoredPerson(replace(person, **rights), password="a hash")


async def test_given_rights_that_were_taken_since_then_a_restore_gives_none_back(
    house: House, tmp_path: Path
) -> None:
    people = SqlPeople(house.database)
    for name in ("leaver", "mover", "switched-off"):
        await people.add(make_account(name))
    shares, hooks = SqlSharing(house.database), SqlWebhooks(house.database)
    whose = Principal("default", "mover")
    for id in ("ended", "shown"):
        await shares.put_share("default", Share(id, "mover", "room", "", 2e10))
    for id in ("dropped", "kept"):
        await hooks.add(
            StoredWebhook(
                Webhook(id, "https://example.org", (), "mover", 5.0), whose, "", "", False
            )
        )
    file = tmp_path / "backup.zip"
    await house.back_up(file)
    await people.remove("default", "leaver")
    for changed in (
        make_account("mover", groups=(), collections=(), role="reader"),
        make_account("switched-off", active=False),
    ):
        edit = partial(replace, person=changed.person, password="another hash")
        await people.edit("default", changed.person.name, edit)
    await people.add(joined := make_account("joined"))
    await shares.remove_share(whose, "ended")
    await hooks.remove("dropped")
    now = await people.list_all("default")

    done = await house.restore(file)

    assert await people.list_all("default") == now
    assert joined in now
    assert "removed since the backup are not back: leaver" in done.notes[1]
    assert [share.id for share in await shares.list_shares(whose)] == ["shown"]
    assert [row["id"] for row in await house.rows(webhooks)] == ["kept"]


async def test_given_an_empty_or_another_state_then_a_restore_brings_every_account_back(
    house: House, tmp_path: Path
) -> None:
    accounts = [make_account("ada"), make_account("ben", role="reader")]
    for account in accounts:
        await SqlPeople(house.database).add(account)
    await SqlSharing(house.database).put_share("default", Share("a", "ada", "room", "", 2e10))
    file = tmp_path / "backup.zip"
    await house.back_up(file)
    for number, started in enumerate((False, True)):
        folder = tmp_path / f"other {number}"
        folder.mkdir()
        async with opened(folder) as other:
            store = SqlPeople(other.database)
            if started:
                await store.add(make_account("operator"))
                await other.ingest()

            done = await other.restore(file)

            assert await store.list_all("default") == accounts
            assert await other.rows(shared_conversations) != []
            assert len(done.notes) == 1


async def test_given_a_backup_of_before_the_first_account_then_accounts_stay(
    house: House, tmp_path: Path
) -> None:
    file = tmp_path / "backup.zip"
    await house.back_up(file)
    people = SqlPeople(house.database)
    await people.add(make_account("ada"))

    await house.restore(file)

    assert await people.any()


async def test_given_a_backup_of_before_the_first_key_then_nobody_is_let_in_without(
    house: House, tmp_path: Path
) -> None:
    store = SqlKeys(house.database)
    file = tmp_path / "backup.zip"
    await house.back_up(file)
    await LocalKeys(store, house.catalog).create(KeyGrant("a"))

    await house.restore(file)

    assert await LocalKeys(store, house.catalog).exist()


async def test_given_a_document_changed_while_a_backup_is_written_then_it_is_whole(
    house: House, tmp_path: Path
) -> None:
    file = tmp_path / "backup.zip"
    steps = house.steps(write_backup, file)
    await anext(steps)  # The state is written, the index is not.
    house.write("hours.txt", "Changed.")
    ingest = asyncio.create_task(house.ingest())
    await asyncio.sleep(0.2)
    async for _ in steps:
        pass
    await ingest
    (tmp_path / "other").mkdir()
    async with opened(tmp_path / "other") as other:
        await other.restore(file)
        assert TEXT.strip() in {c.text for c in (await other.chunks()).values()}
        assert await other.examine() == ()


async def test_given_a_job_that_runs_then_its_backup_says_that_it_must_be_started_again(
    house: House, tmp_path: Path
) -> None:
    store = SqlJobs(house.database)
    await store.submit(NewJob("one", "ask", {"question": "Why?"}), 10)
    assert await store.claim("w1", {"ask": 1})
    await house.back_up(tmp_path / "backup.zip")
    await house.restore(tmp_path / "backup.zip")
    [job] = await house.rows(jobs)
    assert job["state"] == "failed"
    assert "begins it again" in str(job["error"])


async def test_given_a_file_that_is_there_then_it_is_not_overwritten(
    house: House, tmp_path: Path
) -> None:
    file = tmp_path / "backup.zip"
    file.write_text("mine")
    with pytest.raises(InputError, match="already"):
        await house.back_up(file)
    assert file.read_text() == "mine"


async def test_given_no_such_folder_then_it_says_so_and_nothing_is_left(
    house: House, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        await house.back_up(tmp_path / "no" / "backup.zip")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data", "documents"]


async def test_given_no_files_without_names_then_a_backup_has_one_until_it_is_whole(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    file = tmp_path / "backup.zip"
    steps = house.steps(write_backup, file)
    await anext(steps)
    assert list(tmp_path.glob(".backup.zip.*"))
    await steps.aclose()
    assert not list(tmp_path.glob("*backup.zip*"))
    await house.back_up(file)
    assert [item.name for item in tmp_path.glob("*backup.zip*")] == [file.name]
    assert file.stat().st_mode & 0o777 == 0o600
    await house.restore(file)


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="needs files without names")
async def test_given_a_file_that_somebody_else_wrote_meanwhile_then_it_is_not_overwritten(
    house: House, tmp_path: Path
) -> None:
    file = tmp_path / "backup.zip"
    steps = house.steps(write_backup, file)
    await anext(steps)
    file.write_text("mine")
    with pytest.raises(InputError, match="cannot be written"):
        async for _ in steps:
            pass
    assert file.read_text() == "mine"


@in_turn("share", [0.0, 0.1, 0.5, 0.9, 0.999])
async def test_given_a_file_that_was_cut_off_then_nothing_changes(
    house: House, tmp_path: Path, share: float
) -> None:
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    file, cut = folder / "backup.zip", folder / "cut.zip"
    await house.back_up(file)
    data = file.read_bytes()
    cut.write_bytes(data[: int(share * len(data))])
    before = await house.chunks()
    with pytest.raises(InputError, match="cut off"):
        await house.restore(cut)
    assert await house.chunks() == before


async def test_given_a_damaged_byte_then_nothing_changes(house: House, tmp_path: Path) -> None:
    file = tmp_path / "backup.zip"
    await house.back_up(file)
    info = zipfile.ZipFile(file).getinfo("index/0000/000000.vectors")
    data = bytearray(file.read_bytes())
    data[info.header_offset + 60] ^= 0xFF
    file.write_bytes(data)
    before = await house.rows(documents)
    with pytest.raises(InputError, match="damaged"):
        await house.restore(file)
    assert await house.rows(documents) == before


async def test_given_a_part_that_is_missing_then_nothing_changes(
    house: House, tmp_path: Path
) -> None:
    file, less = tmp_path / "backup.zip", tmp_path / "less.zip"
    await house.back_up(file)
    _copy(file, less, lambda name, data: None if name == "index/0000/000000.jsonl" else data)
    with pytest.raises(InputError, match="damaged"):
        await house.restore(less)
    assert await house.examine() == ()


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"format": 99}, InputError, "format 99"),
        ({"schema": "9999"}, ConfigError, "newer Ragstone"),
    ],
)
async def test_given_a_backup_of_a_newer_ragstone_then_nothing_changes(
    house: House, tmp_path: Path, change: dict[str, object], error: type[Exception], says: str
) -> None:
    file, newer = tmp_path / "backup.zip", tmp_path / "newer.zip"
    await house.back_up(file)

    def changed(name: str, data: bytes) -> bytes:
        return json.dumps({**json.loads(data), **change}).encode() if "manifest" in name else data

    _copy(file, newer, changed)
    before = await house.chunks()
    with pytest.raises(error, match=says):
        await house.restore(newer)
    assert await house.chunks() == before
    assert await house.rows(documents)


async def test_given_rows_that_fit_no_table_then_nothing_changes(
    house: House, tmp_path: Path
) -> None:
    file, other = tmp_path / "backup.zip", tmp_path / "other.zip"
    await house.back_up(file)
    _copy(file, other, lambda _, data: data.replace(b'"documents"', b'"documentz"'))
    before = await house.rows(documents)
    with pytest.raises(InputError, match="documentz"):
        await house.restore(other)
    assert await house.rows(documents) == before


async def test_given_a_backup_of_an_older_schema_then_its_rows_are_brought_up_to_date(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {
        "day": "2026-01-02", "tenant": "default", "user": "ann", "room": "", "model": "m",
        "questions": 3, "refused": 1, "blocked": 0, "prompt_tokens": 10, "completion_tokens": 20,
        "cost": 0.5,
    }  # fmt: skip
    with next_schema(tmp_path):
        monkeypatch.setattr(SqlDump, "schema", NEXT)
        await house.dump.replace(migrations.REVISIONS[0], [("statistics", [row])], [])
    [kept] = await house.rows(statistics)
    assert (kept["user"], kept["questions"], kept["blocked"]) == ("ann", 4, 0)
    assert str(kept["day"]) == "2026-01-02"


async def test_given_a_restore_that_was_interrupted_then_the_next_one_is_whole(
    house: House, tmp_path: Path
) -> None:
    file = tmp_path / "backup.zip"
    await house.back_up(file)
    before = await house.chunks()
    from ragstone.backup.restore import restore

    steps = house.steps(restore, file)
    await anext(steps)
    await steps.aclose()
    assert await house.chunks() == before
    await house.restore(file)
    assert await house.chunks() == before


def test_given_another_zip_then_it_is_no_backup(tmp_path: Path) -> None:
    file = tmp_path / "photos.zip"
    with zipfile.ZipFile(file, "w") as other:
        other.writestr("photo.txt", "x")
    with pytest.raises(InputError, match="not a backup"):
        ArchiveReader(file)


def _copy(source: Path, target: Path, change: object) -> None:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = change(name, old.read(name))  # type: ignore[operator]
            if data is not None:
                new.writestr(name, data)

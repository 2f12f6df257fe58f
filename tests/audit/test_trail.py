"""The audit trail of a real Ragstone: what is in it, who may see it, and what it outlives."""

import asyncio
import json
import multiprocessing
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ragstone import build
from ragstone.access.asking import ASKING
from ragstone.core.caller import Caller
from ragstone.core.errors import StorageFull, UnknownCollection
from ragstone.core.turn import Ask, Principal
from ragstone.local import Ragstone
from ragstone.plugins.audit import trail as trail_module
from ragstone.plugins.audit.contract import AUDIT
from ragstone.plugins.audit.event import AuditPage
from ragstone.plugins.audit.events import KINDS, UNRECORDED, Subject, find_kind, make_event
from ragstone.plugins.audit.settings import AuditSettings
from ragstone.plugins.audit.trail import Trail
from ragstone.service import IngestRequest
from ragstone.service.contract import operations
from ragstone.settings import load

ADA = Principal("default", "ada", ("hr",))
HOSTILE = 'x\n{"time":1}\r\u2028\x1b[31mÜñ🙂\udc80"'


@asynccontextmanager
async def opened(tmp_path: Path, **audit: Any) -> AsyncIterator[Ragstone]:
    given = {f"audit.{name}": value for name, value in audit.items()}
    settings = load(ragstone_data=str(tmp_path / "data"), **given)
    async with build.open(settings) as ragstone:
        yield ragstone


@pytest.fixture
async def ragstone(tmp_path: Path) -> AsyncIterator[Ragstone]:
    async with opened(tmp_path, folder=str(tmp_path / "trail")) as ragstone:
        yield ragstone


async def read(ragstone: Ragstone, tenant: str = "default", **wanted: Any) -> AuditPage:
    return await AUDIT.of(ragstone).events(tenant, **wanted)


def records(tmp_path: Path) -> list[dict[str, Any]]:
    files = sorted((tmp_path / "trail").iterdir(), key=trail_module._order)
    return [json.loads(line) for file in files for line in file.read_bytes().splitlines()]


def make(user: str = "ada", name: str = "a.txt", tenant: str = "default") -> dict[str, Any]:
    who = Subject(Caller(Principal(tenant, user), key=f"key:{user}"), Principal(tenant, user))
    return make_event("read", "reading.read", who, "allowed", names=(("path", name),))


async def ingest(ragstone: Ragstone, file: Path) -> None:
    assert [step async for step in ragstone.ingest(IngestRequest((str(file),)))][-1].failed == ()


async def test_who_asked_read_and_deleted_is_told_but_not_the_question(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    file = tmp_path / "ship.txt"
    file.write_text("The ship Meridian was built in Glasgow.")
    await ingest(ragstone, file)
    [document] = await ragstone.documents(ADA, "default")

    async for _ in ragstone.ask(Ask("Where was the Meridian built?", principal=ADA)):
        pass
    await ragstone.reading.read(ADA, "default", document.id, 0, 10)
    await ragstone.delete(ADA, "default", [document.path])

    page = await read(ragstone, user="ada")
    assert [(e.kind, e.operation, e.outcome) for e in page.events] == [
        ("delete", "delete", "allowed"),
        ("read", "reading.read", "allowed"),
        ("ask", "ask", "allowed"),
    ]
    assert (
        page.events[1].what == f"collection default, path {document.id}, document {document.path}"
    )
    assert b"Meridian" not in b"".join(f.read_bytes() for f in (tmp_path / "trail").iterdir())


async def test_a_document_that_may_not_be_seen_is_refused_and_a_filter_finds_it(
    ragstone: Ragstone,
) -> None:
    with pytest.raises(UnknownCollection):
        await ragstone.reading.read(ADA, "secret", "salaries.txt", 0, 10)

    [event] = (await read(ragstone, outcome="refused", about="SALARIES")).events
    assert (event.user, event.kind, event.detail) == ("ada", "read", "unknown_collection")
    assert (await read(ragstone, outcome="failed")).events == ()


async def test_reading_the_trail_is_recorded(ragstone: Ragstone) -> None:
    await read(ragstone)

    [event] = (await read(ragstone)).events
    assert (event.kind, event.operation) == ("read", "audit.events")


async def test_another_tenants_events_are_not_shown(ragstone: Ragstone) -> None:
    with pytest.raises(UnknownCollection):
        await ragstone.reading.read(Principal("acme", "bob"), "x", "y.txt", 0, 10)

    assert [e.user for e in (await read(ragstone, "acme")).events] == ["bob"]
    assert [e.user for e in (await read(ragstone)).events] == []


async def test_pages_follow_each_other_without_a_gap(ragstone: Ragstone) -> None:
    trail = ragstone.audit.trail  # type: ignore[attr-defined]
    for n in range(10):
        await trail.write(make(name=f"{n}.txt"))

    seen, before = [], ""
    while events := (await read(ragstone, user="ada", limit=3, before=before)).events:
        seen += [event.what for event in events]
        before = events[-1].id

    assert seen == [f"path {n}.txt" for n in reversed(range(10))]


async def test_erasing_a_user_leaves_a_pseudonym_and_every_line_in_its_place(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    trail = ragstone.audit.trail  # type: ignore[attr-defined]
    for user, tenant in (("ada", "default"), ("bob", "default"), ("ada", "acme")):
        await trail.write(make(user, tenant=tenant))
    before = [len(line) for line in _lines(tmp_path)]

    await ragstone.conversations.forget(ADA)

    assert [len(line) for line in _lines(tmp_path)][: len(before)] == before
    users = [(e["metadata"]["tenant_uid"], e["actor"]["user"]["name"]) for e in records(tmp_path)]
    erased = users[0][1]
    assert erased.startswith("erased-")
    assert users == [("default", erased), ("default", "bob"), ("acme", "ada"), ("default", erased)]
    assert "hr" not in str(records(tmp_path))


def _lines(tmp_path: Path) -> list[bytes]:
    return b"".join(f.read_bytes() for f in (tmp_path / "trail").iterdir()).splitlines()


@pytest.mark.parametrize("user", ["", "a", "a" * 400, HOSTILE], ids=["empty", "a", "long", "evil"])
async def test_any_name_is_one_line_and_can_be_erased_in_place(tmp_path: Path, user: str) -> None:
    trail = Trail(AuditSettings(folder=str(tmp_path / "trail")))
    await trail.write(make(user, HOSTILE))
    await trail.write(make("bob"))

    await trail.erase("default", user[:300])

    first, second = records(tmp_path)
    assert first["actor"]["user"]["name"].startswith("erased-")
    assert first["resources"][0]["name"] == HOSTILE
    assert second["actor"]["user"]["name"] == "bob"
    assert all(line.isascii() for line in _lines(tmp_path))
    await trail.aclose()


def _write_many(folder: str, name: str) -> None:
    async def write() -> None:
        trail = Trail(AuditSettings(folder=folder))
        for n in range(200):
            await trail.write(make(name, f"{n}-{'x' * 200}"))
        await trail.aclose()

    trail_module.MAX_FILE_BYTES = 50_000
    asyncio.run(write())


def test_processes_that_write_at_once_lose_nothing_and_files_are_followed_by_others(
    tmp_path: Path,
) -> None:
    start = multiprocessing.get_context("spawn")
    names = ("ada", "bob", "eva")
    processes = [
        start.Process(target=_write_many, args=(str(tmp_path / "trail"), name)) for name in names
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()

    written = records(tmp_path)
    for name in names:
        own = [e["resources"][0]["name"] for e in written if e["actor"]["user"]["name"] == name]
        assert [int(text.partition("-")[0]) for text in own] == list(range(200))
    assert len(list((tmp_path / "trail").iterdir())) > 3


def _write_and_die(folder: str) -> None:
    async def write() -> None:
        trail = Trail(AuditSettings(folder=folder))
        for n in range(50):
            await trail.write(make(name=f"{n}"))
        os.kill(os.getpid(), 9)

    asyncio.run(write())


def test_a_killed_process_leaves_every_event_that_it_wrote(tmp_path: Path) -> None:
    process = multiprocessing.get_context("spawn").Process(
        target=_write_and_die, args=(str(tmp_path / "trail"),)
    )
    process.start()
    process.join()

    assert process.exitcode == -9
    assert len(records(tmp_path)) == 50


@pytest.mark.parametrize("required", [False, True])
async def test_a_full_disk_is_one_error_and_requests_go_on_unless_the_trail_is_required(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    required: bool,
) -> None:
    async with opened(tmp_path, folder=str(tmp_path / "trail"), required=required) as ragstone:
        full = os.open("/dev/full", os.O_WRONLY)
        own = ragstone.audit.trail._file  # type: ignore[attr-defined]
        ragstone.audit.trail._file = full  # type: ignore[attr-defined]

        for _ in range(3):
            if required:
                with pytest.raises(StorageFull):
                    await ragstone.conversations.forget(ADA, "some account")
            else:
                await ragstone.conversations.forget(ADA, "some account")

        errors = [r.message for r in caplog.records if "audit trail" in r.message]
        assert len(errors) == 1
        assert "No space left" in errors[0]
        ragstone.audit.trail._file = own  # type: ignore[attr-defined]
        os.close(full)
        await ragstone.conversations.forget(ADA, "some account")
        page = await read(ragstone, kind="delete")
        assert len(page.events) == 1
        assert page.lost == (1 if required else 3)


async def test_days_that_are_over_are_deleted(tmp_path: Path) -> None:
    (tmp_path / "trail").mkdir()
    for day in ("2020-01-01", "2999-01-01"):
        (tmp_path / "trail" / f"audit-{day}.1.jsonl").write_text("")

    trail = Trail(AuditSettings(folder=str(tmp_path / "trail"), days=7))
    await trail.aclose()

    names = [file.name for file in sorted((tmp_path / "trail").iterdir())]
    assert "audit-2020-01-01.1.jsonl" not in names
    assert names[-1] == "audit-2999-01-01.1.jsonl"
    assert (tmp_path / "trail" / names[0]).stat().st_mode & 0o077 == 0


async def test_a_line_that_was_cut_off_is_passed_over(tmp_path: Path) -> None:
    trail = Trail(AuditSettings(folder=str(tmp_path / "trail")))
    await trail.write(make())
    [file] = (tmp_path / "trail").iterdir()
    with file.open("ab") as out:
        out.write(b'{"time":17\n[1]\n')
    await trail.write(make("bob"))

    users = [record["actor"]["user"]["name"] for _, record in trail.read_back()]
    assert users == ["bob", "ada"]
    await trail.aclose()


async def test_a_key_is_named_in_the_event(ragstone: Ragstone) -> None:
    ASKING.set(Caller(ADA, "reader", key="key:7"))

    with pytest.raises(UnknownCollection):
        await ragstone.reading.read(ADA, "secret", "x", 0, 10)

    [event] = (await read(ragstone, outcome="refused")).events
    assert (event.user, event.key) == ("ada", "key:7")


def test_what_is_listed_is_an_operation_and_is_listed_once() -> None:
    listed = [*UNRECORDED, *(name for names in KINDS.values() for name in names)]

    assert len(listed) == len(set(listed))
    assert set(listed) <= set(operations())


def test_given_an_operation_in_no_list_then_it_is_recorded() -> None:
    found = operations()

    assert find_kind(found["rename_collection"]) == "change"
    assert find_kind(found["reading.read"]) == "read"

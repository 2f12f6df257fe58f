"""Files of Google Drive are for those for whom Drive says that they are, and for nobody else.

Drive is imitated after its public documentation (`cloud_services`); no real one was met.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.chunk import EVERYONE
from ragstone.core.errors import InputError
from ragstone.plugins.sources.kinds import SOURCES
from ragstone.plugins.sources.options import check_options
from tests.ingest.sources.cloud_services import FOLDER, Answer, Drive, grant_to, serve
from tests.ingest.sources.file_servers import VARIABLE
from tests.ingest.sources.scripted_source import SyncedCollection, opened_collection
from tests.ingest.sources.test_cloud import counts, find_readers


@pytest.fixture
def drive(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Drive]:
    """A drive with two texts, for Ada."""
    made = Drive(getattr(request, "param", ""))
    made.put({1: "Room 1 is green.", 2: "Room 2 is blue."})
    with serve(made):
        monkeypatch.setenv(VARIABLE, made.secret)
        yield made


@pytest.fixture
async def synced(tmp_path: Path, drive: Drive) -> AsyncIterator[SyncedCollection]:
    options = {**drive.options, "organization": "group:staff"}
    async with opened_collection(tmp_path, kind="drive", options=options) as opened:
        yield opened


ADA = grant_to("ada")
ANYONE = {"id": "anyone", "type": "anyone", "role": "reader"}
DOMAIN = {"id": "7k", "type": "domain", "role": "reader", "domain": "X.org"}


@pytest.mark.parametrize("drive", ["", "0AHouse"], ids=["mine", "shared"], indirect=True)
@pytest.mark.parametrize(
    ("permission", "readers"),
    [
        (ADA, {"user:ada@x.org"}),
        ({**ADA, "role": "fileOrganizer"}, {"user:ada@x.org"}),
        ({**ADA, "type": "group", "emailAddress": "HR@x.org"}, {"group:hr@x.org"}),
        ({**ANYONE, "allowFileDiscovery": True}, {EVERYONE}),
        ({**DOMAIN, "allowFileDiscovery": True}, {"group:staff"}),
        ({**ANYONE, "allowFileDiscovery": False}, set()),
        (ANYONE, set()),
        ({**DOMAIN, "allowFileDiscovery": False}, set()),
        ({**DOMAIN, "domain": "partner.org", "allowFileDiscovery": True}, set()),
        ({**ADA, "expirationTime": "2026-12-01T00:00:00Z"}, set()),
        ({**ADA, "deleted": True}, set()),
        ({**ADA, "view": "metadata"}, set()),
        ({**ADA, "inheritedPermissionsDisabled": True}, set()),
        ({**ADA, "role": "other"}, set()),
        ({**ADA, "emailAddress": ""}, set()),
    ],
    ids=[
        *("account", "other role", "group", "everyone", "domain", "link", "link unsaid"),
        *("link in the domain", "other domain", "ends", "deleted", "view", "closed folder"),
        *("no role", "no address"),
    ],
)
async def test_a_file_is_for_those_whom_its_permissions_name(
    synced: SyncedCollection, drive: Drive, permission: dict[str, Any], readers: set[str]
) -> None:
    drive.share(1)
    drive.remove(2)
    drive.grants = [permission]
    await synced.sync()

    assert await find_readers(synced, drive) == ({1: readers} if readers else {})


@pytest.mark.parametrize("drive", ["0AHouse"], indirect=True)
async def test_rights_in_a_shared_drive_are_asked_for_only_where_they_may_have_changed(
    synced: SyncedCollection, drive: Drive
) -> None:
    changes: list[Callable[[], object]] = [
        lambda: None,
        lambda: None,
        lambda: drive.share(1, "bob"),
        lambda: drive.move("Halls"),
        lambda: drive.members.append(grant_to("cleo")),
        lambda: setattr(drive, "forgets", True),
    ]
    counted = []
    for change in changes:
        change()
        drive.asked.clear()
        run = await synced.sync()
        assert run.state == "done", run.error
        asked = {path for path in drive.asked if path.endswith("/permissions")}
        counted.append(len(asked - {"/drive/v3/files/0AHouse/permissions"}))
    readers = await find_readers(synced, drive)

    assert counted == [2, 0, 1, 2, 2, 2]
    assert readers[1] == {"user:bob@x.org", "user:cleo@x.org"}
    assert set(await synced.documents()) == {"/house/Halls/1.txt", "/house/Halls/2.txt"}


@pytest.mark.parametrize("drive", ["0AHouse"], indirect=True)
async def test_rights_that_may_not_be_read_close_a_file_and_those_that_fail_end_the_run(
    synced: SyncedCollection, drive: Drive
) -> None:
    await synced.sync()
    path = "/drive/v3/files/file-1/permissions"
    drive.share(1, "ada")
    drive.troubles = [(path, Answer({}, 500))]
    broken = await synced.sync()
    drive.troubles = [(path, Answer({}, 403))]
    refused = await synced.sync()

    assert broken.state == "failed"
    assert counts(refused) == (0, 0, 0, 1, 0)


async def test_googles_own_documents_are_exported_and_forms_are_left_out(
    synced: SyncedCollection, drive: Drive
) -> None:
    drive.put(dict.fromkeys(range(3, 7), "Own."))
    google = "application/vnd.google-apps."
    kinds = ("document", "spreadsheet", "presentation", "form")
    drive.kinds = {n: f"{google}{kind}" for n, kind in enumerate(kinds, 3)}
    run = await synced.sync()

    # What is exported here is no such file, so reading it fails; what matters is what was asked.
    assert {item.path for item in run.failures} == {"Rooms/3.docx", "Rooms/4.xlsx", "Rooms/5.pptx"}
    assert run.added == 2
    assert sorted(drive.fetched) == [1, 2, 3, 4, 5]


async def test_files_of_one_name_are_both_there_and_folders_that_lead_back_end_the_run(
    synced: SyncedCollection, drive: Drive
) -> None:
    shortcut = {"id": "x", "name": "X.txt", "mimeType": "application/vnd.google-apps.shortcut"}
    drive.entries = [{**drive.describe(2), "id": "twin-2", "name": "1.txt"}, shortcut]
    first = await synced.sync()
    paths = set(await synced.documents())
    drive.entries = [
        {"id": "a", "name": "A", "mimeType": FOLDER, "parents": ["b"]},
        {"id": "b", "name": "B", "mimeType": FOLDER, "parents": ["a"]},
        {**drive.describe(2), "id": "file-3", "parents": ["a"]},
    ]
    second = await synced.sync()

    assert counts(first) == (3, 0, 0, 0, 0)
    assert paths == {f"/house/Rooms/{name}.txt" for name in ("1", "2", "1 twin-2")}
    assert second.error.endswith("cannot be read: its folders lead back to where they were.")


async def test_a_search_that_is_not_complete_removes_nothing(
    synced: SyncedCollection, drive: Drive
) -> None:
    await synced.sync()
    drive.is_incomplete = True
    run = await synced.sync()

    assert run.error == "Google Drive ada@x.org cannot be read: its listing is not whole."
    assert len(await synced.documents()) == 2


async def test_googles_403_for_too_many_requests_is_waited_for(
    synced: SyncedCollection, drive: Drive
) -> None:
    reason = {"domain": "usageLimits", "reason": "userRateLimitExceeded"}
    busy = {"error": {"code": 403, "message": "Rate Limit Exceeded", "errors": [reason]}}
    drive.troubles = [("/drive/v3/files$", Answer(busy, 403, {"Retry-After": "0"}))]
    run = await synced.sync()

    assert counts(run) == (2, 0, 0, 0, 0)


@pytest.mark.parametrize("key", ["sesame", "[]", "{}", '{"token_uri": "http://127.0.0.1:1/"}'])
async def test_a_key_that_is_none_is_told_and_not_shown(
    synced: SyncedCollection, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv(VARIABLE, key)
    run = await synced.sync()

    assert run.error == (
        "Google Drive ada@x.org cannot be read: the key is none of a service account."
    )


@pytest.mark.parametrize(
    "options",
    [
        {"key": "sesame"},
        {"drive": "a/../b"},
        {"api": "drive"},
        {"organization": "staff"},
    ],
)
def test_options_that_cannot_be_right_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(InputError) as raised:
        check_options("drive", SOURCES.get("drive"), {"key": "env:RAGSTONE_SOURCE_X", **options})

    assert "sesame" not in str(raised.value)

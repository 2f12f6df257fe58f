"""Files of SharePoint are for those for whom Graph says that they are, and for nobody else.

Graph is imitated after its public documentation (`cloud_services`); no real one was met.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.errors import InputError
from ragstone.plugins.sources.kinds import SOURCES
from ragstone.plugins.sources.options import check_options
from tests.ingest.sources.cloud_services import DRIVE, Answer, Graph, serve
from tests.ingest.sources.file_servers import PASSWORD, VARIABLE
from tests.ingest.sources.scripted_source import SyncedCollection, opened_collection
from tests.ingest.sources.test_cloud import counts, find_readers


@pytest.fixture
def graph(monkeypatch: pytest.MonkeyPatch) -> Iterator[Graph]:
    """A library with two texts, for Ada."""
    made = Graph()
    monkeypatch.setenv(VARIABLE, PASSWORD)
    made.put({1: "Room 1 is green.", 2: "Room 2 is blue."})
    with serve(made):
        yield made


@pytest.fixture
async def synced(tmp_path: Path, graph: Graph) -> AsyncIterator[SyncedCollection]:
    options = {**graph.options, "organization": "group:staff"}
    async with opened_collection(tmp_path, kind="sharepoint", options=options) as opened:
        yield opened


def grant(identity: dict[str, Any], *roles: str, **further: object) -> dict[str, Any]:
    return {"id": "p", "roles": roles or ("read",), "grantedToV2": identity, **further}


def site_user(login: str, mail: str = "") -> dict[str, Any]:
    return {"siteUser": {"id": "9", "displayName": "X", "loginName": login, "email": mail}}


ADA = site_user("i:0#.f|membership|Ada@x.org")
LINK = {"webUrl": "https://x.sharepoint.com/:t:/g/1", "type": "view"}


@pytest.mark.parametrize(
    ("permission", "readers"),
    [
        (grant(ADA), {"user:ada@x.org"}),
        (grant(ADA, "write"), {"user:ada@x.org"}),
        (
            grant({"user": {"id": "1", "displayName": "Ada", "email": "Ada@x.org"}}),
            {"user:ada@x.org"},
        ),
        (grant({"group": {"id": "A1-B2", "displayName": "HR"}}), {"group:a1-b2"}),
        (grant(site_user("c:0t.c|tenant|A1-B2")), {"group:a1-b2"}),
        (grant(site_user("c:0o.c|federateddirectoryclaimprovider|A1")), {"group:a1"}),
        (
            grant({"siteGroup": {"id": "3", "displayName": "House Members"}}),
            {"group:house/House Members"},
        ),
        (grant(site_user("c:0-.f|rolemanager|spo-grid-all-users/t")), {"group:staff"}),
        (grant(site_user("c:0(.s|true")), {"group:staff"}),
        (grant(site_user("i:0#.f|membership|bo_y.org#ext#@x.org", "bo@y.org")), {"user:bo@y.org"}),
        (
            {"roles": ["read"], "link": {**LINK, "scope": "users"}, "grantedToIdentitiesV2": [ADA]},
            {"user:ada@x.org"},
        ),
        (grant(ADA, expirationDateTime="0001-01-01T00:00:00Z"), {"user:ada@x.org"}),
        (grant(ADA, expirationDateTime="2026-12-01T00:00:00Z"), set()),
        (grant(ADA, "sp.limited access"), set()),
        ({"id": "p", "grantedToV2": ADA}, set()),
        ({"roles": ["read"], "link": {**LINK, "scope": "anonymous"}}, set()),
        ({"roles": ["read"], "link": {**LINK, "scope": "organization"}}, set()),
        ({"roles": ["read"], "invitation": {"email": "ada@x.org"}}, set()),
        (grant(site_user("c:0o.c|federateddirectoryclaimprovider|A1_o")), set()),
        (grant({"user": {"id": "1", "displayName": "Ada"}}), set()),
        (grant({"application": {"id": "1", "displayName": "Ragstone"}}), set()),
        ({"roles": "read", "grantedToV2": [ADA]}, set()),
        (grant({"siteGroup": {"id": "3", "displayName": "A\nB"}}), set()),
        (grant({"siteGroup": {"id": "3", "displayName": "x" * 2_000}}), set()),
    ],
    ids=[
        *("account", "who may write", "account without login", "group", "security group"),
        *("team", "group of the site", "all staff", "everybody", "guest", "link for some"),
        *("no end", "ends", "other role", "no roles", "link for all", "link for the organization"),
        *(
            "invited",
            "owners of a team",
            "no address",
            "app",
            "not of the API",
            "two lines",
            "endless",
        ),
    ],
)
async def test_a_file_is_for_those_whom_its_permissions_name(
    synced: SyncedCollection, graph: Graph, permission: dict[str, Any], readers: set[str]
) -> None:
    graph.share(1)
    graph.remove(2)
    graph.grants = [permission]
    await synced.sync()

    assert await find_readers(synced, graph) == ({1: readers} if readers else {})


async def test_without_a_name_for_the_organization_what_is_for_all_of_it_is_for_nobody(
    tmp_path: Path, graph: Graph
) -> None:
    graph.share(1)
    graph.grants = [grant(site_user("c:0-.f|rolemanager|spo-grid-all-users/t"))]
    async with opened_collection(tmp_path, kind="sharepoint", options=graph.options) as synced:
        await synced.sync()

        assert set(await find_readers(synced, graph)) == {2}


async def test_rights_that_may_not_be_read_close_a_file(
    synced: SyncedCollection, graph: Graph
) -> None:
    await synced.sync()
    graph.share(1, "ada")
    refused = {"error": {"code": "accessDenied", "message": "No."}}
    path = f"/v1.0/drives/{DRIVE}/items/file-1/permissions"
    graph.troubles.append((path, Answer(refused, 403)))
    run = await synced.sync()

    assert counts(run) == (0, 0, 0, 1, 0)
    assert set(await find_readers(synced, graph)) == {2}


def count_rights(graph: Graph) -> int:
    """Of how many files the rights were asked for since the last time."""
    asked = sum("/items/file-" in path and path.endswith("permissions") for path in graph.asked)
    graph.asked.clear()
    return asked


async def test_rights_are_asked_for_again_only_where_they_may_have_changed(
    synced: SyncedCollection, graph: Graph
) -> None:
    changes: list[Callable[[], object]] = [
        lambda: None,
        lambda: None,
        lambda: graph.share(1, "bob"),
        lambda: graph.move("Halls"),
        lambda: graph.root_grants.append(grant(ADA)),
        lambda: setattr(graph, "forgets", True),
    ]
    counted = []
    for change in changes:
        change()
        run = await synced.sync()
        assert run.state == "done", run.error
        counted.append(count_rights(graph))

    assert counted == [2, 0, 1, 2, 2, 2]
    assert set(await synced.documents()) == {"/house/Halls/1.txt", "/house/Halls/2.txt"}


async def test_an_app_that_is_not_told_of_all_changes_asks_for_all_rights(
    synced: SyncedCollection, graph: Graph
) -> None:
    graph.roles = ["Files.Read.All"]
    await synced.sync()
    # As if nothing had been said of it.
    graph.texts[1].readers = ("bob",)
    run = await synced.sync()

    assert counts(run) == (0, 0, 1, 0, 0)
    assert (await find_readers(synced, graph))[1] == {"user:bob@x.org"}


async def test_a_run_that_was_cut_off_is_told_again_what_has_changed(
    synced: SyncedCollection, graph: Graph
) -> None:
    await synced.sync()
    graph.share(1, "bob")
    graph.troubles.append((f"/v1.0/drives/{DRIVE}/root/children", Answer({}, 500)))
    broken = await synced.sync()
    again = await synced.sync()

    assert broken.state == "failed"
    assert counts(again) == (0, 0, 1, 0, 0)


async def test_a_token_that_has_ended_is_renewed(synced: SyncedCollection, graph: Graph) -> None:
    graph.troubles.append((f"/v1.0/drives/{DRIVE}/root/children", Answer({}, 401)))
    run = await synced.sync()

    assert counts(run) == (2, 0, 0, 0, 0)
    assert graph.asked.count("/x.org/oauth2/v2.0/token") == 2


async def test_a_request_of_a_batch_that_is_put_off_is_made_again(
    synced: SyncedCollection, graph: Graph
) -> None:
    put_off = Answer({"error": {"code": "TooManyRequests"}}, 429, {"Retry-After": "0"})
    graph.troubles.append((f"/v1.0/drives/{DRIVE}/items/file-2/permissions", put_off))
    run = await synced.sync()

    assert counts(run) == (2, 0, 0, 0, 0)
    assert count_rights(graph) == 3


@pytest.mark.parametrize("told", [{"responses": []}, {"responses": [{"id": "9", "status": 200}]}])
async def test_a_batch_that_is_not_answered_ends_the_run(
    synced: SyncedCollection, graph: Graph, told: dict[str, Any]
) -> None:
    graph.troubles.append((r"/v1\.0/\$batch", Answer(told)))
    run = await synced.sync()

    assert run.error.endswith("cannot be read: its listing is not whole.")


async def test_shortcuts_are_passed_over_and_folders_that_lead_back_end_the_run(
    synced: SyncedCollection, graph: Graph
) -> None:
    graph.entries = [
        {"id": "link", "name": "Elsewhere", "remoteItem": {"id": "9"}, "folder": {}},
        {"id": "book", "name": "Notes", "package": {"type": "oneNote"}},
        {"id": "file-3", "name": ".hidden", "file": {}},
    ]
    first = await synced.sync()
    graph.entries = [{"id": "folder-1", "name": "Again", "folder": {}}]
    second = await synced.sync()

    assert counts(first) == (2, 0, 0, 0, 0)
    assert second.error.endswith("cannot be read: its folders lead back to where they were.")


async def test_a_onedrive_is_read_by_its_owner_and_a_library_by_its_name(
    tmp_path: Path, graph: Graph
) -> None:
    usual = {name: value for name, value in graph.options.items() if name != "site"}
    given: list[dict[str, str]] = [
        {**usual, "user": "ada@x.org"},
        {**graph.options, "library": "Documents"},
        {**graph.options, "library": "Pictures"},
    ]
    runs = []
    for number, options in enumerate(given):
        folder = tmp_path / str(number)
        folder.mkdir()
        async with opened_collection(folder, kind="sharepoint", options=options) as synced:
            runs.append(await synced.sync())

    assert [run.added for run in runs] == [2, 2, 0]
    assert runs[2].error.endswith("it has no library 'Pictures'.")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"site": "https://x.sharepoint.com/sites/house", "user": "ada@x.org"},
        {"site": "x.sharepoint.com"},
        {"user": "ada@x.org", "secret": "sesame"},
        {"user": "ada@x.org", "tenant": "x.org/../y"},
        {"user": "ada@x.org", "graph": "graph"},
        {"user": "ada@x.org", "organization": "staff"},
    ],
)
def test_options_that_cannot_be_right_are_refused(options: dict[str, str]) -> None:
    usual = {"tenant": "x.org", "client": "app", "secret": "env:RAGSTONE_SOURCE_X"}
    with pytest.raises(InputError) as raised:
        check_options("sharepoint", SOURCES.get("sharepoint"), {**usual, **options})

    assert "sesame" not in str(raised.value)

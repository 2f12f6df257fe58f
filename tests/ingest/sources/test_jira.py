"""Issues of Jira are for those who may browse the project and are let in by its level alone.

Jira is imitated after its public documentation (`cloud_services`); no real one was met.
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.chunk import EVERYONE
from ragstone.core.errors import InputError
from ragstone.plugins.sources.kinds import SOURCES
from ragstone.plugins.sources.options import check_options
from tests.ingest.sources.cloud_services import Answer, Jira, describe_account, hold, serve
from tests.ingest.sources.file_servers import PASSWORD, VARIABLE
from tests.ingest.sources.scripted_source import SyncedCollection, opened_collection
from tests.ingest.sources.test_cloud import counts, find_readers

ADA, BOB = "user:ada@x.org", "user:bob@x.org"


@pytest.fixture
def jira(monkeypatch: pytest.MonkeyPatch) -> Iterator[Jira]:
    """A project with an issue without a level."""
    made = Jira()
    monkeypatch.setenv(VARIABLE, PASSWORD)
    made.put({1: "The window of room 1 is broken."})
    made.share(1)
    with serve(made):
        yield made


@pytest.fixture
async def synced(tmp_path: Path, jira: Jira) -> AsyncIterator[SyncedCollection]:
    options = {**jira.options, "organization": "group:all"}
    async with opened_collection(tmp_path, kind="jira", options=options) as opened:
        yield opened


@pytest.mark.parametrize(
    ("holders", "readers"),
    [
        ([hold("projectRole", "10002")], {"group:staff"}),
        ([hold("group", "hr", "hr-id")], {"group:hr"}),
        ([hold("user", "bob")], {BOB}),
        ([hold("reporter"), hold("assignee")], {ADA}),
        ([hold("anyone"), hold("user", "bob")], {EVERYONE}),
        ([hold("applicationRole")], {"group:all"}),
        ([hold("applicationRole", "jira-software")], set()),
        ([hold("projectRole", "99")], set()),
        ([hold("projectLead")], set()),
        ([hold("userCustomField", "customfield_1")], set()),
        ([], set()),
    ],
)
async def test_an_issue_is_for_those_who_may_browse_the_project(
    synced: SyncedCollection, jira: Jira, holders: list[dict[str, Any]], readers: set[str]
) -> None:
    jira.browsing = holders
    await synced.sync()

    assert await find_readers(synced, jira) == ({1: readers} if readers else {})


@pytest.mark.parametrize(
    ("browsing", "level", "readers"),
    [
        ([hold("projectRole", "10002")], [hold("group", "hr", "hr-id")], {BOB}),
        ([hold("projectRole", "10002")], [hold("reporter")], {ADA}),
        ([hold("projectRole", "10002")], [hold("projectRole", "10002")], {"group:staff"}),
        ([hold("anyone")], [hold("group", "hr", "hr-id")], {"group:hr"}),
        ([hold("applicationRole")], [hold("user", "dan")], {"user:dan@x.org"}),
        ([hold("group", "hr", "hr-id")], [hold("anyone")], {"group:hr"}),
        ([hold("projectRole", "10002")], [hold("user", "dan")], set()),
        ([hold("projectRole", "10002")], [], set()),
    ],
)
async def test_a_security_level_keeps_out_whom_it_does_not_name(
    synced: SyncedCollection,
    jira: Jira,
    browsing: list[dict[str, Any]],
    level: list[dict[str, Any]],
    readers: set[str],
) -> None:
    jira.browsing = browsing
    jira.share(1, "zoe")
    jira.levels = {1: level}
    await synced.sync()

    found = await find_readers(synced, jira)
    # Zoe is a member of the level, too, and may browse only where anybody may.
    assert {1: found.get(1, set()) - {"user:zoe@x.org"}} == {1: readers}
    assert ("user:zoe@x.org" in found.get(1, set())) == (
        browsing[0]["type"] in ("anyone", "applicationRole")
    )


async def test_an_issue_whose_level_is_not_shown_is_for_nobody(
    synced: SyncedCollection, jira: Jira
) -> None:
    jira.shows_level = False
    closed = await synced.sync()
    jira.has_scheme = False
    opened = await synced.sync()

    assert counts(closed) == (0, 0, 0, 0, 0)
    assert counts(opened) == (1, 0, 0, 0, 0)


@pytest.mark.parametrize("what", ["permissionscheme", "role/10002"])
async def test_rights_that_may_not_be_read_close_a_project(
    synced: SyncedCollection, jira: Jira, what: str
) -> None:
    await synced.sync()
    jira.troubles = [(f"/rest/api/3/project/HOUSE/{what}", Answer({}, 403))]
    run = await synced.sync()

    assert counts(run) == (0, 0, 0, 1, 0)


async def test_a_level_whose_members_may_not_be_read_ends_the_run(
    synced: SyncedCollection, jira: Jira
) -> None:
    await synced.sync()
    path = "/rest/api/3/issuesecurityschemes/10001/members"
    jira.troubles = [(path, Answer({"errorMessages": ["Only for administrators."]}, 403))]
    run = await synced.sync()

    assert run.error.endswith("does not let this user read that (403): 'Only for administrators.'.")
    assert len(await synced.documents()) == 1


async def test_an_issue_is_read_with_its_fields_and_the_comments_that_all_may_see(
    synced: SyncedCollection, jira: Jira
) -> None:
    said = {"author": describe_account("bob"), "created": "2026-03-02T09:00:00.000+0000"}
    kept: list[dict[str, Any]] = [
        {},
        {"visibility": {"type": "role", "value": "Admins"}},
        {"jsdPublic": False},
        {},
    ]
    jira.comments = [
        {**said, "id": str(n), "renderedBody": f"<p>It is remark {n}.</p>", **further}
        for n, further in enumerate(kept)
    ]
    await synced.sync()
    text = "\n".join(await synced.texts("group:staff"))
    [document] = (await synced.documents()).values()

    assert document.title == "HOUSE-1: Room 1"
    assert document.source == f"{jira.address}/browse/HOUSE-1"
    for told in (
        "window of room 1",
        "Status: In progress",
        "Labels: green, large",
        "Assignee: Bob",
    ):
        assert told in text
    assert [n for n in range(4) if f"remark {n}" in text] == [0, 3]


async def test_an_attachment_is_for_whoever_may_read_its_issue(
    synced: SyncedCollection, jira: Jira
) -> None:
    jira.put({2: "There is a plan.", 3: "There is another."})
    jira.attachments = {2: 1, 3: 1}
    first = await synced.sync()
    readers = await find_readers(synced, jira)
    jira.browsing = [hold("user", "bob")]
    second = await synced.sync()

    assert counts(first) == (3, 0, 0, 0, 0)
    assert readers == {number: {"group:staff"} for number in (1, 2, 3)}
    assert counts(second) == (0, 0, 3, 0, 0)


async def test_without_keys_all_projects_are_read_and_one_that_is_missing_ends_the_run(
    tmp_path: Path, jira: Jira
) -> None:
    runs = []
    for projects in ("", "HOUSE,SHED"):
        folder = tmp_path / (projects or "all")
        folder.mkdir()
        options = {**jira.options, "projects": projects}
        async with opened_collection(folder, kind="jira", options=options) as synced:
            runs.append(await synced.sync())

    assert runs[0].added == 1
    assert runs[1].error.endswith("it is not there (404): 'It does not exist.'.")


@pytest.mark.parametrize(
    "options",
    [
        {"url": "x.atlassian.net"},
        {"token": "sesame"},
        {"projects": 'HR" OR project = "PAY'},
        {"user": ""},
    ],
)
def test_options_that_cannot_be_right_are_refused(options: dict[str, str]) -> None:
    usual = {"url": "https://x.atlassian.net", "user": "a@x.org", "token": "env:RAGSTONE_SOURCE_X"}
    with pytest.raises(InputError) as raised:
        check_options("jira", SOURCES.get("jira"), {**usual, **options})

    assert "sesame" not in str(raised.value)

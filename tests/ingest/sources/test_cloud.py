"""Services of the cloud are kept in sync, with the rights that they tell.

The services are imitated after their public documentation (`cloud_services`); no real one was met.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ragstone.core.errors import SourceUnavailable
from ragstone.core.sync import SourceRun
from ragstone.plugins.sources import cloud
from ragstone.plugins.sources.kinds import SOURCES
from ragstone.plugins.sources.options import open_options
from ragstone.ports.sources import ItemSource, SourceParts
from tests.ingest.sources.cloud_services import CLOUD_SERVICES, Answer, CloudService, serve
from tests.ingest.sources.file_servers import VARIABLE
from tests.ingest.sources.scripted_source import SyncedCollection, opened_collection

LISTINGS = {
    "sharepoint": "/v1.0/drives",
    "confluence": "/wiki/rest/api/content/search",
    "jira": "/rest/api/3/search/jql",
    "drive": "/drive/v3/files$",
}
"""Of listings, as expressions for their paths."""

DOWNLOADS = {
    "sharepoint": "/download/",
    "confluence": "/wiki/api/v2/pages",
    "jira": "/rest/api/3/issue/",
    "drive": "/drive/v3/files/file-3$",
}
"""Of texts."""

EXPIRED = {
    "drive": "it refuses the credentials ('Invalid JWT Signature.')",
    "sharepoint": "it refuses the credentials ('AADSTS7000222: The client secret is expired.')",
    **dict.fromkeys(
        ("confluence", "jira"),
        "it refuses the user or the password (401): 'Basic authentication failed.'",
    ),
}


@pytest.fixture(params=CLOUD_SERVICES)
def service(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[CloudService]:
    """A service with five texts, for Ada."""
    made = CLOUD_SERVICES[request.param]()
    made.put({number: f"Room {number} is green." for number in range(1, 6)})
    with serve(made):
        monkeypatch.setenv(VARIABLE, made.secret)
        yield made


@pytest.fixture
async def synced(tmp_path: Path, service: CloudService) -> AsyncIterator[SyncedCollection]:
    async with opened_collection(tmp_path, kind=service.kind, options=service.options) as opened:
        yield opened


@asynccontextmanager
async def opened_source(service: CloudService, folder: Path) -> AsyncIterator[ItemSource]:
    """A source that reads the service."""
    declared = SOURCES.get(service.kind)
    options = open_options(service.kind, declared, service.options)
    source = declared.open(SourceParts("house", options, folder))
    assert isinstance(source, ItemSource)
    yield source
    await source.aclose()


def counts(run: SourceRun) -> tuple[int, ...]:
    """Added, changed, given other readers, removed, failed."""
    assert (run.state, run.error) == ("done", "")
    return run.added, run.changed, run.rights, run.removed, run.failed


async def find_readers(synced: SyncedCollection, service: CloudService) -> dict[int, set[str]]:
    """Who may read each text that is indexed."""
    documents = await synced.documents()
    paths = {f"/house/{service.path(number)}": number for number in service.texts}
    return {paths[path]: set(item.own_readers or ()) for path, item in documents.items()}


async def test_what_changes_in_a_service_changes_here(
    synced: SyncedCollection, service: CloudService
) -> None:
    first = await synced.sync()
    readers = await find_readers(synced, service)
    second = await synced.sync()
    service.put({2: "Room 2 is blue.", 6: "Room 6 is red."})
    service.remove(5)
    third = await synced.sync()
    texts = "\n".join(await synced.texts("user:ada@x.org"))

    assert counts(first) == (5, 0, 0, 0, 0)
    assert readers == {number: {"user:ada@x.org"} for number in range(1, 6)}
    assert counts(second) == (0, 0, 0, 0, 0)
    assert counts(third) == (1, 1, 0, 1, 0)
    assert sorted(service.fetched) == [1, 2, 2, 3, 4, 5, 6]
    assert "Room 2 is blue." in texts
    assert "Room 5" not in texts


async def test_other_rights_are_taken_over_without_reading_again(
    synced: SyncedCollection, service: CloudService
) -> None:
    await synced.sync()
    service.share(2, "bob")
    service.share(3, "ada", "bob")
    changed = await synced.sync()
    readers = await find_readers(synced, service)
    service.close(3)
    closed = await synced.sync()

    assert counts(changed) == (0, 0, 2, 0, 0)
    assert len(service.fetched) == 5
    assert readers[2] == {"user:bob@x.org"}
    assert readers[3] == {"user:ada@x.org", "user:bob@x.org"}
    assert counts(closed) == (0, 0, 0, 1, 0)
    assert closed.notes == ("Left out, as they are for nobody: 1.",)
    assert not any("Room 3" in text for text in await synced.texts("user:ada@x.org"))


async def test_what_is_not_yet_known_to_have_changed_is_not_asked_for(
    synced: SyncedCollection, service: CloudService
) -> None:
    await synced.sync()
    service.put({3: "Room 3 is blue."})
    service.troubles.append((DOWNLOADS[service.kind], Answer({}, 500)))
    failed = await synced.sync()
    again = await synced.sync()

    assert counts(failed) == (0, 0, 0, 0, 1)
    assert failed.failures[0].reason == "It cannot be fetched: it answers that it cannot (500)."
    assert counts(again) == (0, 1, 0, 0, 0)


async def test_credentials_that_have_expired_remove_nothing_and_are_not_shown(
    synced: SyncedCollection, service: CloudService
) -> None:
    await synced.sync()
    service.is_expired = True
    run = await synced.sync()

    assert run.state == "failed"
    assert run.error.endswith(f" cannot be read: {EXPIRED[service.kind]}.")
    assert service.secret not in run.error
    assert len(await synced.documents()) == 5


async def test_a_service_that_asks_for_a_short_pause_is_waited_for(
    synced: SyncedCollection, service: CloudService, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(cloud, "sleep", pause)
    for path in (LISTINGS[service.kind], DOWNLOADS[service.kind]):
        service.troubles.append((path, Answer({}, 429, {"Retry-After": "7"})))
    run = await synced.sync()

    assert counts(run) == (5, 0, 0, 0, 0)
    assert pauses == [7.0, 7.0]


async def test_a_service_that_asks_for_a_long_pause_is_left_alone(
    tmp_path: Path, service: CloudService
) -> None:
    service.troubles.append((LISTINGS[service.kind], Answer({}, 429, {"Retry-After": "900"})))

    async with opened_source(service, tmp_path) as source:
        with pytest.raises(SourceUnavailable) as raised:
            await source.check()
            [item async for item in source.list_items("")]

    assert raised.value.retry_after == 900
    assert "it takes no more requests for now (429)" in raised.value.message


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        (['{"value": ['], "it answers what is not of its API"),
        (["[" * 100_000], "it answers what is not of its API"),
        (["[]"], "it answers what is not of its API"),
        ([{"error": None}], "its listing is not whole"),
        (["back"] * 3, "its listing leads back to where it was"),
    ],
    ids=["cut off", "deep", "list", "no rows", "back"],
)
async def test_a_listing_that_does_not_come_to_its_end_removes_nothing(
    synced: SyncedCollection, service: CloudService, answers: list[object], sentence: str
) -> None:
    await synced.sync()
    listing = LISTINGS[service.kind]
    back = service.list_rows([], f"{service.address}{listing.rstrip('$')}/children?again")
    for answer in answers:
        service.troubles.append((listing, Answer(back if answer == "back" else answer)))
    run = await synced.sync()

    assert run.state == "failed"
    assert run.error.endswith(f"cannot be read: {sentence}.")
    assert len(await synced.documents()) == 5


@pytest.mark.parametrize("service", ["sharepoint", "confluence"], indirect=True)
@pytest.mark.parametrize(
    ("link", "sentence"),
    [
        ("https://elsewhere.org/", "its listing leads to another server: 'elsewhere.org'"),
        ("http://x.org:port/", "its listing leads to what is no address"),
    ],
)
async def test_no_listing_leads_a_token_elsewhere(
    synced: SyncedCollection, service: CloudService, link: str, sentence: str
) -> None:
    service.troubles.append((LISTINGS[service.kind], Answer(service.list_rows([], link))))
    run = await synced.sync()

    assert run.error.endswith(f"cannot be read: {sentence}.")


async def test_a_service_that_is_empty_at_once_or_gone_removes_nothing(
    synced: SyncedCollection, service: CloudService
) -> None:
    await synced.sync()
    for number in range(1, 6):
        service.remove(number)
    empty = await synced.sync()

    assert (empty.state, empty.removed, empty.held) == ("done", 0, 5)


async def test_without_rights_an_item_is_for_the_readers_of_the_source(
    tmp_path: Path, service: CloudService
) -> None:
    options = {**service.options, "rights": "false"}
    async with opened_collection(
        tmp_path, kind=service.kind, options=options, readers=("group:staff",)
    ) as synced:
        service.close(1)
        run = await synced.sync()
        readers = await find_readers(synced, service)

    assert counts(run) == (5, 0, 0, 0, 0)
    assert readers == {number: {"group:staff"} for number in range(1, 6)}

"""Pages of Confluence are for those who may view the space and every page above, and nobody else.

Confluence is imitated after its public documentation (`cloud_services`); no real one was met.
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from ragstone.core.errors import InputError
from ragstone.plugins.sources.confluence import read_storage
from ragstone.plugins.sources.kinds import SOURCES
from ragstone.plugins.sources.options import check_options
from tests.ingest.sources.cloud_services import Answer, Confluence, serve
from tests.ingest.sources.file_servers import PASSWORD, VARIABLE
from tests.ingest.sources.scripted_source import SyncedCollection, opened_collection
from tests.ingest.sources.test_cloud import counts, find_readers

ALL = ("group:staff",)


@pytest.fixture
def wiki(monkeypatch: pytest.MonkeyPatch) -> Iterator[Confluence]:
    """A space with a page that nothing restricts."""
    made = Confluence()
    monkeypatch.setenv(VARIABLE, PASSWORD)
    made.put({1: "Room 1 is green."})
    made.share(1)
    with serve(made):
        yield made


@pytest.fixture
async def synced(tmp_path: Path, wiki: Confluence) -> AsyncIterator[SyncedCollection]:
    async with opened_collection(tmp_path, kind="confluence", options=wiki.options) as opened:
        yield opened


@pytest.mark.parametrize(
    ("restriction", "readers"),
    [
        ((), {"group:staff"}),
        (("group:staff",), {"group:staff"}),
        (("ada",), {"user:ada@x.org"}),
        (("ada", "zoe"), {"user:ada@x.org"}),
        (("group:hr",), {"user:bob@x.org"}),
        (("group:hr", "ada"), {"user:bob@x.org", "user:ada@x.org"}),
        (("group:hr", "group:staff"), {"group:staff"}),
        (("zoe",), set()),
        (("group:unknown",), set()),
    ],
)
async def test_a_page_is_for_those_who_may_view_the_space_and_are_let_in(
    synced: SyncedCollection, wiki: Confluence, restriction: tuple[str, ...], readers: set[str]
) -> None:
    wiki.share(1, *restriction)
    await synced.sync()

    assert await find_readers(synced, wiki) == ({1: readers} if readers else {})


@pytest.mark.parametrize(
    ("viewers", "readers"),
    [
        ([("user", "ada")], {"user:ada@x.org"}),
        ([("user", "ada"), ("group", "staff-id")], {"user:ada@x.org", "group:staff"}),
        ([("role", "anonymous")], set()),
        ([], set()),
    ],
)
async def test_a_page_without_restrictions_is_for_the_viewers_of_its_space(
    synced: SyncedCollection, wiki: Confluence, viewers: list[tuple[str, str]], readers: set[str]
) -> None:
    wiki.viewers = viewers
    await synced.sync()

    assert await find_readers(synced, wiki) == ({1: readers} if readers else {})


async def test_other_viewers_of_a_space_are_those_of_its_pages(
    synced: SyncedCollection, wiki: Confluence
) -> None:
    await synced.sync()
    wiki.viewers = [("group", "hr-id")]
    run = await synced.sync()

    assert counts(run) == (0, 0, 1, 0, 0)
    assert await find_readers(synced, wiki) == {1: {"group:hr"}}


async def test_what_is_above_a_page_restricts_it_too(
    synced: SyncedCollection, wiki: Confluence
) -> None:
    wiki.put({number: f"Room {number}." for number in range(2, 8)})
    for number in range(2, 8):
        wiki.share(number)
    wiki.share(7, "ada", "bob")
    wiki.ancestors = {2: ["7"], 3: ["7", "2"], 4: ["90"], 5: ["90", "4"], 6: ["91"]}
    wiki.share(3, "bob", "cleo")
    wiki.others = {"90": ["cleo"]}
    await synced.sync()

    ada, bob, cleo = (f"user:{name}@x.org" for name in ("ada", "bob", "cleo"))
    assert await find_readers(synced, wiki) == {
        1: {"group:staff"},
        2: {ada, bob},
        3: {bob},
        4: {cleo},
        5: {cleo},
        7: {ada, bob},
    }
    assert sum(path.endswith("/90/restriction/byOperation/read") for path in wiki.asked) == 1


async def test_pages_that_are_above_each_other_are_for_nobody(
    synced: SyncedCollection, wiki: Confluence
) -> None:
    wiki.put({2: "Room 2."})
    wiki.share(2)
    wiki.ancestors = {1: ["2"], 2: ["1"]}
    run = await synced.sync()

    assert counts(run) == (0, 0, 0, 0, 0)
    assert await find_readers(synced, wiki) == {}


async def test_an_attachment_is_for_whoever_may_read_its_page(
    synced: SyncedCollection, wiki: Confluence
) -> None:
    wiki.put({2: "There is a plan."})
    wiki.attachments = {2: 1}
    wiki.share(1, "ada")
    first = await synced.sync()
    readers = await find_readers(synced, wiki)
    wiki.share(1, "bob")
    second = await synced.sync()
    texts = await synced.texts("user:bob@x.org")

    assert counts(first) == (2, 0, 0, 0, 0)
    assert readers == {1: {"user:ada@x.org"}, 2: {"user:ada@x.org"}}
    assert counts(second) == (0, 0, 2, 0, 0)
    assert any("There is a plan." in text for text in texts)


async def test_an_account_that_hides_its_address_is_known_by_its_id(
    synced: SyncedCollection, wiki: Confluence
) -> None:
    wiki.hidden_mails = {"ada"}
    wiki.share(1, "ada")
    await synced.sync()

    assert await find_readers(synced, wiki) == {1: {"user:ada"}}


@pytest.mark.parametrize(
    "path", ["/wiki/rest/api/group/hr-id/membersByGroupId", "/wiki/rest/api/group/staff-id"]
)
async def test_a_group_whose_members_may_not_be_known_counts_for_nobody(
    synced: SyncedCollection, wiki: Confluence, path: str
) -> None:
    wiki.share(1, "group:hr")
    wiki.troubles = [(path, Answer({"message": "Only for administrators."}, 403))]
    run = await synced.sync()

    assert run.state == "done"
    assert await find_readers(synced, wiki) == {}


async def test_a_space_that_is_not_there_ends_the_run(tmp_path: Path, wiki: Confluence) -> None:
    options = {**wiki.options, "spaces": "HOUSE, SHED"}
    async with opened_collection(tmp_path, kind="confluence", options=options) as synced:
        run = await synced.sync()

    assert run.error.endswith("cannot be read: it has no space 'SHED' for this user.")


async def test_a_page_that_is_sent_without_its_text_fails_alone(
    synced: SyncedCollection, wiki: Confluence
) -> None:
    wiki.troubles = [("/wiki/api/v2/pages/1", Answer({"id": "1", "body": {}}))]
    run = await synced.sync()

    assert [failure.reason for failure in run.failures] == [
        "It cannot be fetched: it is sent without its text."
    ]


@pytest.mark.parametrize(
    ("storage", "html"),
    [
        ("<p>A&nbsp;B</p>", "<p>A&nbsp;B</p>"),
        (
            '<ac:structured-macro ac:name="code"><ac:parameter ac:name="language">py</ac:parameter>'
            "<ac:plain-text-body><![CDATA[if a < b: <b>]]></ac:plain-text-body>"
            "</ac:structured-macro>",
            "<pre>if a &lt; b: &lt;b&gt;</pre>",
        ),
        (
            '<ac:structured-macro ac:name="info"><ac:rich-text-body><p>Mind.</p>'
            "</ac:rich-text-body></ac:structured-macro>",
            "<p>Mind.</p>",
        ),
        (
            '<ac:structured-macro ac:name="include"><ac:parameter ac:name="">'
            '<ac:link><ri:page ri:content-title="Pay" /></ac:link></ac:parameter>'
            "</ac:structured-macro>",
            "",
        ),
        (
            '<ac:link><ri:page ri:content-title="Pay"/><ac:plain-text-link-body>'
            "<![CDATA[the pay]]></ac:plain-text-link-body></ac:link>",
            "the pay",
        ),
        (
            "<ac:task-list><ac:task><ac:task-id>1</ac:task-id><ac:task-status>incomplete"
            "</ac:task-status><ac:task-body>Cook.</ac:task-body></ac:task></ac:task-list>",
            "Cook.",
        ),
        ("<p>a</p><![CDATA[open", "<p>a</p>open"),
        ("<ac:parameter>" * 3, ""),
    ],
    ids=["plain", "code", "panel", "included page", "link", "task", "unclosed", "unclosed macro"],
)
def test_the_storage_format_is_read_without_what_only_concerns_its_look(
    storage: str, html: str
) -> None:
    assert read_storage(storage) == html


@pytest.mark.parametrize(
    "options",
    [
        {"url": "ftp://x.atlassian.net/wiki"},
        {"url": "https://ada:sesame@x.atlassian.net/wiki"},
        {"token": "sesame"},
        {"spaces": 'HR" or space = "PAY'},
        {"organization": "staff"},
    ],
)
def test_options_that_cannot_be_right_are_refused(options: dict[str, str]) -> None:
    usual = {
        "url": "https://x.atlassian.net/wiki",
        "user": "a@x.org",
        "token": "env:RAGSTONE_SOURCE_X",
    }
    with pytest.raises(InputError) as raised:
        check_options("confluence", SOURCES.get("confluence"), {**usual, **options})

    assert "sesame" not in str(raised.value)

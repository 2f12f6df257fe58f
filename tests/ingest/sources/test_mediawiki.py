"""Pages of a real MediaWiki are documents."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from ragstone.core.errors import DocumentError, InputError, SourceUnavailable
from ragstone.core.sync import SourceItem, SourceRun
from ragstone.plugins.sources.kinds import SOURCES
from ragstone.plugins.sources.mediawiki import MediaWiki, MediaWikiOptions
from ragstone.plugins.sources.options import check_options
from ragstone.ports.sources import SourceParts
from tests.ingest.sources.scripted_site import ScriptedSite, serve_site
from tests.ingest.sources.scripted_source import SyncedCollection, opened_collection
from tests.mediawiki import PASSWORD, USER, MediaWikiServer, run_mediawiki

VARIABLE = "RAGSTONE_SOURCE_WIKI"


@pytest.fixture(scope="module")
def running() -> Iterator[MediaWikiServer]:
    with run_mediawiki() as server:
        yield server


@pytest.fixture
def wiki(running: MediaWikiServer, monkeypatch: pytest.MonkeyPatch) -> MediaWikiServer:
    """A wiki that runs, with two pages of articles."""
    monkeypatch.setenv(VARIABLE, PASSWORD)
    if running.process is None:
        running.start()
    for page in running.ask(action="query", list="allpages", aplimit="max")["query"]["allpages"]:
        running.remove(page["title"])
    running.put("Soup", "There is '''soup'''.\n\n== Days ==\nMondays.")
    running.put("Template:Note", "It is ''fresh''.")
    running.put("Kitchen/Brot & Käse?", "There is bread. {{Note}}")
    return running


@pytest.fixture
async def synced(tmp_path: Path, wiki: MediaWikiServer) -> AsyncIterator[SyncedCollection]:
    async with opened_collection(tmp_path, kind="mediawiki", options={"url": wiki.url}) as opened:
        yield opened


def counts(run: SourceRun) -> tuple[int, ...]:
    """Added, changed, removed, unchanged, failed."""
    return run.added, run.changed, run.removed, run.unchanged, run.failed


async def list_items(url: str, folder: Path, **options: Any) -> list[SourceItem]:
    given = MediaWikiOptions(url=url, **options)
    source = MediaWiki(SourceParts("house", given, folder))
    try:
        await source.check()
        return [item async for item in source.list_items("")]
    finally:
        await source.aclose()


@pytest.mark.real
async def test_pages_are_added_changed_moved_and_removed(
    synced: SyncedCollection, wiki: MediaWikiServer
) -> None:
    first = await synced.sync()
    second = await synced.sync()
    wiki.put("Soup", "There is fish.")
    wiki.change("move", **{"from": "Kitchen/Brot & Käse?", "to": "Bread"})
    third = await synced.sync()
    paths = set(await synced.documents())
    wiki.remove("Bread")
    fourth = await synced.sync()
    texts = await synced.texts()

    assert (first.state, first.error, counts(first)) == ("done", "", (2, 0, 0, 0, 0))
    assert counts(second) == (0, 0, 0, 2, 0)
    assert (counts(third), paths) == ((0, 2, 0, 0, 0), {"/house/Soup.html", "/house/Bread.html"})
    assert counts(fourth) == (0, 0, 1, 1, 0)
    assert ["There is fish." in text for text in texts] == [True]


@pytest.mark.real
async def test_a_page_is_read_as_people_see_it(
    synced: SyncedCollection, wiki: MediaWikiServer
) -> None:
    await synced.sync()

    documents = await synced.documents()
    texts = "\n".join(await synced.texts())

    bread = documents["/house/Kitchen/Brot & Käse?.html"]
    assert bread.title == "Kitchen/Brot & Käse?"
    assert bread.source.startswith("http://127.0.0.1:")
    assert bread.source.endswith("/index.php/Kitchen/Brot_%26_K%C3%A4se%3F")
    assert "There is bread. It is fresh." in texts
    assert "[edit" not in texts
    assert "'''" not in texts


@pytest.mark.real
async def test_more_pages_than_an_answer_has_are_listed_and_redirects_are_not(
    tmp_path: Path, wiki: MediaWikiServer
) -> None:
    wiki.set("$wgAPIMaxResultSize = 8192;")
    for number in range(25):
        wiki.put(f"Page {number:02}", f"This is page {number}. " * 20)
    wiki.put("Broth", "#REDIRECT [[Soup]]")
    wiki.put("Help:Use", "How to.")

    items = await list_items(wiki.url, tmp_path, namespaces="0, 12")

    assert len(items) == len({item.key for item in items}) == 28
    assert "Help:Use.html" in {item.path for item in items}


@pytest.mark.real
async def test_a_wiki_for_its_users_is_read_with_a_password_that_nobody_sees(
    tmp_path: Path, wiki: MediaWikiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = wiki.settings.read_text()
    wiki.set("$wgGroupPermissions['*']['read'] = false;")
    login = {"user": USER, "password": f"env:{VARIABLE}"}
    try:
        with pytest.raises(SourceUnavailable, match="it lets only its users read"):
            await list_items(wiki.url, tmp_path)
        options = {"url": wiki.url, **login}
        async with opened_collection(tmp_path, kind="mediawiki", options=options) as synced:
            run = await synced.sync()
            monkeypatch.setenv(VARIABLE, "wrong-4711")
            refused = await synced.sync()
            kept = await synced.documents()
    finally:
        wiki.settings.write_text(settings)

    assert counts(run) == (2, 0, 0, 0, 0)
    assert refused.error == f"{wiki.url} cannot be read: it refuses the user or the password."
    assert len(kept) == 2


@pytest.mark.real
async def test_a_wiki_that_is_gone_or_empty_at_once_removes_nothing(
    synced: SyncedCollection, wiki: MediaWikiServer
) -> None:
    await synced.sync()
    for title in ("Soup", "Kitchen/Brot & Käse?"):
        wiki.remove(title)
    empty = await synced.sync()
    wiki.stop()
    gone = await synced.sync()

    assert (empty.state, empty.removed, empty.held) == ("done", 0, 2)
    # A connection that was open when the server stopped may break first.
    assert gone.error.endswith(("nothing answers there.", "the connection broke."))


@pytest.fixture
def site() -> Iterator[ScriptedSite]:
    with serve_site() as served:
        yield served


def fault(code: str) -> str:
    return json.dumps({"error": {"code": code, "info": f"This is {code}."}})


PAGES = json.dumps({"query": {"pages": [{"pageid": 1, "title": "A", "revisions": [{"revid": 7}]}]}})


@pytest.mark.parametrize(
    ("body", "status", "sentence", "pause"),
    [
        (fault("readapidenied"), 200, "it lets only its users read: give user and password", None),
        (fault("assertuserfailed"), 200, "it has ended the session", None),
        (fault("maxlag"), 200, "it takes no requests for now", 7.0),
        (fault("ratelimited"), 200, "it takes no more requests for now", 7.0),
        (fault("badvalue"), 200, "it answers 'This is badvalue.'", None),
        ("", 429, "it takes no more requests for now (429)", 7.0),
        ("", 503, "it takes no requests for now (503)", 7.0),
        ("", 404, "it is not there (404)", None),
        ("<html>", 200, "it answers what is none of a MediaWiki", None),
        ("[]", 200, "it answers what is none of a MediaWiki", None),
        (PAGES[:-9], 200, "it answers what is none of a MediaWiki", None),
        ("[" * 100_000, 200, "it answers what is none of a MediaWiki", None),
    ],
)
async def test_what_a_wiki_gets_wrong_ends_the_run_and_is_told(
    tmp_path: Path, site: ScriptedSite, body: str, status: int, sentence: str, pause: float | None
) -> None:
    headers = {"Retry_After": "7"} if pause else {}
    site.put("/api.php", body, status, **headers)

    with pytest.raises(SourceUnavailable) as raised:
        await list_items(f"{site.address}/api.php", tmp_path)

    assert raised.value.message.endswith(f"/api.php cannot be read: {sentence}.")
    assert raised.value.retry_after == pause


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        (fault("nosuchpageid"), 200, DocumentError),
        ("", 500, DocumentError),
        (fault("readapidenied"), 200, SourceUnavailable),
        ("", 429, SourceUnavailable),
    ],
)
async def test_a_page_that_cannot_be_had_fails_alone(
    tmp_path: Path, site: ScriptedSite, body: str, status: int, error: type[Exception]
) -> None:
    site.put("/api.php", body, status)
    options = MediaWikiOptions(url=f"{site.address}/api.php")
    source = MediaWiki(SourceParts("house", options, tmp_path))

    with pytest.raises(error):
        await source.fetch(SourceItem("1", "1", "A.html"), None)  # type: ignore[arg-type]
    await source.aclose()


@pytest.mark.parametrize(
    "options",
    [
        {"url": "https://wiki.x.org/w/"},
        {"url": "ftp://wiki.x.org/api.php"},
        {"url": "https://wiki.x.org/api.php?x"},
        {"url": "https://ada:sesame@wiki.x.org/api.php"},
        {"url": "https://wiki.x.org/api.php", "password": "sesame"},
        {"url": "https://wiki.x.org/api.php", "namespaces": "Help"},
    ],
)
def test_options_that_cannot_be_right_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(InputError) as raised:
        check_options("mediawiki", SOURCES.get("mediawiki"), options)

    assert "sesame" not in str(raised.value)

"""The connector against a real server that speaks Plone's REST API."""

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from ragstone import build
from ragstone.core.errors import ConfigError, RagstoneError
from ragstone.core.events import Done
from ragstone.core.filters import path_filter
from ragstone.core.turn import Ask, Principal, Turn
from ragstone.local import Ragstone
from ragstone.plugins.plone import client
from ragstone.plugins.plone.client import PloneClient, PloneUnavailable
from ragstone.plugins.plone.settings import PloneSettings
from ragstone.plugins.plone.sync import PloneSync, Synced
from ragstone.settings import Settings
from tests.plone_server import TOKEN, PloneServer, plone_server

pytestmark = pytest.mark.slow

MANAGER = Principal("default", "ann", ("Manager",))


@pytest.fixture
def site() -> Iterator[PloneServer]:
    with plone_server() as server:
        server.add("contact", "/contact", text={"data": "<p>We open at nine on Mondays.</p>"})
        server.add("secret", "/internal/salary", review_state="private",
                   text={"data": "<p>The director earns 900 gold coins.</p>"})  # fmt: skip
        server.add("other", "/folder", **{"@type": "Folder"})
        server.add_file("paper", "/files/paper", "ost.txt", b"Ost has a lighthouse.", "text/plain")
        yield server


@pytest.fixture
async def ragstone(tmp_path: Path) -> AsyncIterator[Ragstone]:
    async with build.open(Settings(ragstone_data=tmp_path / "data")) as opened:
        yield opened


def a_setting(site: PloneServer, **changes: Any) -> PloneSettings:
    given = {"url": site.site, "token": SecretStr(TOKEN)}
    return PloneSettings(**{**given, **changes})


async def synced(
    ragstone: Ragstone, site: PloneServer, data: Path, full: bool = False, **changes: Any
) -> Synced:
    settings = a_setting(site, **changes)
    async with aclosing(PloneClient(settings)) as client:
        run = PloneSync(ragstone, client, settings, data / "data").run(full)
        done = [step async for step in run][-1]
    assert done.finished
    return done


async def asked(ragstone: Ragstone, question: str, **changes: Any) -> Turn:
    ask = Ask(question, collection="plone", **changes)
    async with aclosing(ragstone.ask(ask)) as events:
        async for event in events:
            if isinstance(event, Done):
                return event.turn
    raise AssertionError("no answer")


async def paths(ragstone: Ragstone, principal: Principal = MANAGER) -> list[str]:
    return [d.path for d in await ragstone.documents(principal, "plone") if d.version]


@pytest.mark.conforms("Plone", "Indexing", "Content is fetched over the REST API, cut and embedded")
async def test_given_a_site_then_pages_and_files_answer_with_titles_and_types(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    done = await synced(ragstone, site, tmp_path)
    assert (done.indexed, done.failed) == (3, ())
    turn = await asked(ragstone, "When do you open on Mondays?")
    chunk = turn.passages[0].hit.chunk
    assert (chunk.path, chunk.title) == ("/contact", "Contact")
    assert chunk.metadata["portal_type"] == "ContentPage"
    assert await paths(ragstone) == ["/contact", "/files/paper", "/internal/salary"]
    assert not [file for file in (tmp_path / "data" / "spool").rglob("*") if file.is_file()]


@pytest.mark.conforms("Plone", "Question-answering", "Results depend on the user's permissions")
async def test_given_private_content_then_only_who_may_finds_it(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    await synced(ragstone, site, tmp_path)

    async def find_text(**options: Any) -> str:
        found = await asked(ragstone, "What does the director earn?", **options)
        return " ".join(passage.text for passage in found.passages)

    assert "900" not in await find_text()
    assert "900" in await find_text(principal=MANAGER)
    assert "900" not in await find_text(principal=MANAGER, where=path_filter("/files"))


@pytest.mark.conforms("Plone", "Elasticsearch index", "allowedRolesAndUsers narrow every search")
async def test_given_permissions_change_then_they_count(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    await synced(ragstone, site, tmp_path)
    site.objects["contact"] |= {"allowedRolesAndUsers": ["user:eva"]}
    await synced(ragstone, site, tmp_path, full=True)
    assert await paths(ragstone, Principal()) == ["/files/paper"]
    assert "/contact" in await paths(ragstone, Principal("default", "eva"))


async def test_given_a_state_then_the_roles_of_the_settings_read_it(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    site.objects["secret"]["review_state"] = "draft"
    reviewer = Principal("default", "rita", ("Reviewer",))
    await synced(ragstone, site, tmp_path)
    assert "/internal/salary" not in await paths(ragstone, reviewer)
    await synced(ragstone, site, tmp_path, state_roles={"draft": ["Reviewer"]})
    assert "/internal/salary" in await paths(ragstone, reviewer)


async def test_given_a_second_run_then_only_what_changed_and_what_is_gone(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    await synced(ragstone, site, tmp_path)
    del site.objects["secret"]
    site.add("news", "/news", "2999-01-01T00:00:00+00:00", title="Ten whales came")
    site.add("contact", "/about/contact", "2999-01-01T00:00:00+00:00", title="Moved")
    site.asked.clear()
    done = await synced(ragstone, site, tmp_path)
    assert (done.indexed, done.deleted, done.unchanged) == (2, 2, 1)
    whole = [item["UID"] for item in site.asked if "fullobjects" in item]
    assert whole[1:] == [["contact", "news"]]
    assert await paths(ragstone) == ["/about/contact", "/files/paper", "/news"]
    again = await synced(ragstone, site, tmp_path, full=True)
    assert (again.indexed, again.unchanged) == (0, 3)


async def test_given_a_broken_file_then_it_fails_alone_and_is_tried_again(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    content = site.files.pop("/files/paper/@@download/file")
    site.add_file("bad", "/files/bad", "bad.pdf", b"no pdf at all", "application/pdf")
    done = await synced(ragstone, site, tmp_path)
    assert (done.indexed, len(done.failed)) == (2, 2)
    site.files["/files/paper/@@download/file"] = content
    assert (await synced(ragstone, site, tmp_path)).failed == ()
    assert "/files/paper" in await paths(ragstone)


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("html", "HTML page instead of JSON"),
        ("500", "status 500"),
        ("redirect", "status 307"),
        ("list", "without items"),
        ("no items", "without items"),
        ("slow", "silent for 0.2 s"),
        ("huge", "more than 1 MB"),
    ],
)
@pytest.mark.conforms("Plone", "Indexing", "A site in trouble costs nothing that is indexed")
async def test_given_a_site_in_trouble_then_a_clear_error_and_nothing_lost(
    ragstone: Ragstone,
    site: PloneServer,
    tmp_path: Path,
    way: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await synced(ragstone, site, tmp_path)
    site.way = way
    client = "ragstone.plugins.plone.client"
    monkeypatch.setattr(f"{client}.SILENT_SECONDS", 0.2 if way == "slow" else 30)
    monkeypatch.setattr(f"{client}.MAX_FILE_MB", 1)
    with pytest.raises(RagstoneError, match=said):
        await synced(ragstone, site, tmp_path, full=True)
    assert len(await paths(ragstone)) == 3


async def test_given_a_hiccup_then_it_is_tried_again(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragstone.plugins.plone.client.RETRIES", 1)
    site.ways = ["500"]
    assert (await synced(ragstone, site, tmp_path)).indexed == 3


async def test_given_a_wrong_token_then_the_setting_is_named(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="PLONE__TOKEN"):
        await synced(ragstone, site, tmp_path, token=SecretStr("wrong"))


async def test_given_nobody_listens_then_a_clear_error(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    with pytest.raises(PloneUnavailable, match="cannot be reached"):
        await synced(ragstone, site, tmp_path, url="http://127.0.0.1:9/Plone")


async def test_given_a_listing_with_less_than_it_counts_then_nothing_is_deleted(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    await synced(ragstone, site, tmp_path)
    site.objects = {"contact": site.objects["contact"]}
    site.way = "short"
    with pytest.raises(PloneUnavailable, match="nothing was deleted"):
        await synced(ragstone, site, tmp_path)
    assert len(await paths(ragstone)) == 3


async def test_given_a_catalog_that_is_made_anew_then_what_is_there_is_kept(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    await synced(ragstone, site, tmp_path)
    del site.objects["paper"]
    site.unlisted = True
    done = await synced(ragstone, site, tmp_path)
    assert (done.deleted, done.indexed) == (1, 0)
    assert "2 objects that the site does not list" in done.notes[-1]
    assert await paths(ragstone) == ["/contact", "/internal/salary"]
    site.objects["contact"]["review_state"] = "private"
    await synced(ragstone, site, tmp_path)
    assert await paths(ragstone, Principal()) == []


async def test_given_a_run_that_is_cut_off_then_the_next_does_the_rest(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    for number in range(10):
        site.add(f"n{number}", f"/n{number}")

    def breaks() -> None:
        if sum("fullobjects" in item for item in site.asked) > 3:
            site.way = "500"

    site.between = breaks
    with pytest.raises(PloneUnavailable):
        await synced(ragstone, site, tmp_path)
    some = len(await paths(ragstone))
    assert 0 < some < 13
    site.way, site.between = "good", None
    done = await synced(ragstone, site, tmp_path)
    assert (done.indexed, done.unchanged) == (13 - some, some)


async def test_given_objects_that_change_while_they_are_listed_then_none_is_passed_over(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "LISTED_AT_ONCE", 3)
    for number in range(9):
        site.add(f"n{number}", f"/n{number}")

    def edited() -> None:
        """Someone adds and removes objects before and behind the page that was just given."""
        number = len(site.asked)
        site.objects.pop(f"a{number - 1}", None)
        site.add(f"a{number}", f"/a{number}")
        site.objects[f"n{number % 9}"]["modified"] = f"2026-03-{number % 28 + 1:02}T00:00:00+00:00"

    site.between = edited
    await synced(ragstone, site, tmp_path)
    assert {f"/n{number}" for number in range(9)} < set(await paths(ragstone))


async def test_given_an_object_that_the_site_fails_at_then_the_others_are_indexed(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    site.broken = "secret"
    done = await synced(ragstone, site, tmp_path)
    assert (done.indexed, len(done.failed)) == (2, 1)
    assert "/internal/salary" in done.failed[0].path
    site.broken = ""
    assert (await synced(ragstone, site, tmp_path)).indexed == 1


async def test_given_one_object_then_it_is_indexed_or_forgotten(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    settings = a_setting(site)
    async with aclosing(PloneClient(settings)) as client:
        sync = PloneSync(ragstone, client, settings, tmp_path / "data")
        assert (await sync.one("contact")).indexed == 1
        del site.objects["contact"]
        assert (await sync.one("contact")).deleted == 1
        assert (await sync.one("folder")).deleted == 0
    assert await paths(ragstone) == []


@pytest.mark.conforms("Plone", "Indexing", "A page that moves is found at once")
async def test_given_an_object_that_moves_then_it_is_found_before_anything_else_is_done(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    async with aclosing(PloneClient(a_setting(site))) as client:
        sync = PloneSync(ragstone, client, a_setting(site), tmp_path / "data")
        await sync.one("contact")
        site.add("contact", "/about/contact", text={"data": "<p>We open at nine.</p>"})
        moved = await sync.one("contact", wait=False)
        assert (moved.deleted, await paths(ragstone)) == (1, ["/about/contact"])
        site.add("contact", "/internal/contact", review_state="private")
        await sync.one("contact", wait=False)
        assert await paths(ragstone, Principal()) == []


async def test_given_objects_that_change_places_then_both_are_found(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    site.add("about", "/about", text={"data": "<p>Ost is a harbour.</p>"})
    await synced(ragstone, site, tmp_path)
    site.add("about", "/contact", text={"data": "<p>Ost is a harbour.</p>"})
    site.add("contact", "/about", text={"data": "<p>We open at nine on Mondays.</p>"})
    await synced(ragstone, site, tmp_path)
    assert await paths(ragstone, Principal()) == ["/about", "/contact", "/files/paper"]
    turn = await asked(ragstone, "When do you open on Mondays?")
    assert turn.passages[0].hit.chunk.path == "/about"


async def test_given_a_file_elsewhere_then_it_is_not_fetched(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    about = {"filename": "x.txt", "download": "http://169.254.169.254/secret"}
    site.objects = {"f": {**site.objects["paper"], "UID": "f", "file": about}}
    done = await synced(ragstone, site, tmp_path)
    assert "not on the site" in done.failed[0].reason
    assert done.indexed == 0

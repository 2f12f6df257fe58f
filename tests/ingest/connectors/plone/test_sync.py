"""The connector against a real server that speaks Plone's REST API."""

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from ragstone import build
from ragstone.core.errors import ConfigError, RagstoneError
from ragstone.core.events import Done
from ragstone.core.filters import under
from ragstone.core.turn import Ask, Principal, Turn
from ragstone.ingest.connectors.plone.client import PloneClient, PloneUnavailable
from ragstone.ingest.connectors.plone.sync import PloneSync, Synced
from ragstone.service.local import Ragstone
from ragstone.settings import PloneSettings, Settings
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
    given = {"url": site.site, "token": SecretStr(TOKEN), "page_size": 2, "retries": 0}
    return PloneSettings(**{**given, **changes})


async def synced(
    ragstone: Ragstone, site: PloneServer, data: Path, full: bool = False, **changes: Any
) -> Synced:
    settings = a_setting(site, **changes)
    async with aclosing(PloneClient(settings)) as client:
        run = PloneSync(ragstone, client, settings, data).run(full)
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
    types = site.asked[0]["portal_type"]
    assert types == ["ContentPage", "News", "File", "Contact", "Book", "Chapter"]
    assert not [file for file in (tmp_path / "spool").rglob("*") if file.is_file()]


async def test_given_private_content_then_only_who_may_finds_it(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    await synced(ragstone, site, tmp_path)
    question = "What does the director earn?"
    assert "900" not in str((await asked(ragstone, question)).passages)
    assert "900" in str((await asked(ragstone, question, principal=MANAGER)).passages)
    elsewhere = await asked(ragstone, question, principal=MANAGER, where=under("/files"))
    assert "900" not in str(elsewhere.passages)


async def test_given_permissions_change_then_they_count(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    await synced(ragstone, site, tmp_path)
    site.objects["contact"] |= {"allowedRolesAndUsers": ["user:eva"]}
    await synced(ragstone, site, tmp_path, full=True)
    assert await paths(ragstone, Principal()) == ["/files/paper"]
    assert "/contact" in await paths(ragstone, Principal("default", "eva"))


async def test_given_a_second_run_then_only_what_changed_and_what_is_gone(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    await synced(ragstone, site, tmp_path)
    del site.objects["secret"]
    site.add("news", "/news", "2999-01-01T00:00:00+00:00", title="Ten whales came")
    site.add("contact", "/about/contact", "2999-01-01T00:00:00+00:00", title="Moved")
    site.asked.clear()
    done = await synced(ragstone, site, tmp_path)
    assert (done.indexed, done.deleted) == (2, 1)
    assert "modified.query" in site.asked[0]
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
    assert (await synced(ragstone, site, tmp_path)).again == ()
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
async def test_given_a_site_in_trouble_then_a_clear_error_and_nothing_lost(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path, way: str, said: str
) -> None:
    await synced(ragstone, site, tmp_path)
    site.way = way
    with pytest.raises(RagstoneError, match=said):
        await synced(
            ragstone, site, tmp_path, full=True, timeout=0.2 if way == "slow" else 30, max_file_mb=1
        )
    assert len(await paths(ragstone)) == 3


async def test_given_a_hiccup_then_it_is_tried_again(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    site.ways = ["500"]
    assert (await synced(ragstone, site, tmp_path, retries=1)).indexed == 3


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


async def test_given_an_empty_or_short_listing_then_nothing_is_deleted(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    await synced(ragstone, site, tmp_path)
    before, site.objects = site.objects, {}
    done = await synced(ragstone, site, tmp_path)
    assert (done.deleted, len(done.notes)) == (0, 1)
    site.objects = {"contact": before["contact"]}
    site.way = "short"
    with pytest.raises(PloneUnavailable, match="unknown which were deleted"):
        await synced(ragstone, site, tmp_path)
    assert len(await paths(ragstone)) == 3


async def test_given_a_run_that_is_cut_off_then_the_next_goes_on(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    for number in range(10):
        site.add(
            f"n{number}",
            f"/n{number}",
            f"2026-02-0{number + 1 if number < 9 else 9}T00:00:00+00:00",
        )
    site.ways = ["good", "good", "good", "500"]
    with pytest.raises(PloneUnavailable):
        await synced(ragstone, site, tmp_path)
    assert 0 < len(await paths(ragstone)) < 13
    site.asked.clear()
    done = await synced(ragstone, site, tmp_path)
    assert int(site.asked[0]["b_start"]) > 0
    assert "goes on" in done.notes[0]
    assert len(await paths(ragstone)) == 13


async def test_given_objects_that_move_while_they_are_listed_then_none_is_passed_over(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    for number in range(9):
        site.add(f"n{number}", f"/n{number}", f"2026-02-0{number + 1}T00:00:00+00:00")

    def edited() -> None:
        """Someone changes the oldest object, so that all others move up by one."""
        if len(site.asked) < 4:
            oldest = min(site.objects.values(), key=lambda one: one["modified"])
            oldest["modified"] = f"2026-03-0{len(site.asked)}T00:00:00+00:00"

    site.between = edited
    await synced(ragstone, site, tmp_path)
    assert len(await paths(ragstone)) == 12


async def test_given_one_object_then_it_is_indexed_or_forgotten(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    settings = a_setting(site)
    async with aclosing(PloneClient(settings)) as client:
        sync = PloneSync(ragstone, client, settings, tmp_path)
        assert (await sync.one("contact")).indexed == 1
        del site.objects["contact"]
        assert (await sync.one("contact")).deleted == 1
        assert (await sync.one("folder")).deleted == 0
    assert await paths(ragstone) == []


async def test_given_a_file_elsewhere_then_it_is_not_fetched(
    ragstone: Ragstone, site: PloneServer, tmp_path: Path
) -> None:
    about = {"filename": "x.txt", "download": "http://169.254.169.254/secret"}
    site.objects = {"f": {**site.objects["paper"], "UID": "f", "file": about}}
    done = await synced(ragstone, site, tmp_path)
    assert "not on the site" in done.failed[0].reason
    assert replace(done, failed=(), again=()).indexed == 0

"""The connector on a real Plone site without add-ons: what it tells nobody is never found."""

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from ragstone import build
from ragstone.core.errors import ConfigError
from ragstone.local import Ragstone
from ragstone.settings import Settings
from tests.plone.compared import TYPES, VISITOR, assert_as_plone, paths, principal, synced
from tests.plone.editors import Editors, in_days
from tests.plone.site import PASSWORD, PloneSite

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.fixture
async def ragstone(tmp_path: Path) -> AsyncIterator[Ragstone]:
    async with build.open(Settings(ragstone_data=tmp_path / "data")) as opened:
        yield opened


async def test_given_a_stock_site_then_everyone_reads_what_plone_finds_for_them(
    ragstone: Ragstone, plone: PloneSite, tmp_path: Path
) -> None:
    done = await synced(ragstone, plone, tmp_path)
    assert (done.failed, done.notes) == ((), ())
    assert done.indexed >= 60
    cells = await assert_as_plone(ragstone, plone)
    print(f"{done.indexed} objects, {cells} cells of objects and users, all equal")
    again = await synced(ragstone, plone, tmp_path)
    assert (again.indexed, again.deleted, again.unchanged) == (0, 0, done.indexed)


async def test_given_many_objects_of_one_minute_then_the_listing_ends(
    ragstone: Ragstone, plone: PloneSite, room: str, tmp_path: Path
) -> None:
    for number in range(30):
        plone.add(room, "Document", f"same-{number}", "Brought in at once.")
    done = await asyncio.wait_for(synced(ragstone, plone, tmp_path), 300)
    assert done.failed == ()
    assert len(await paths(ragstone, principal(plone, "sync"), f"{room}/")) == 30


async def test_given_a_wrong_or_expired_token_then_nothing_is_deleted_and_the_setting_is_named(
    ragstone: Ragstone, plone: PloneSite, tmp_path: Path
) -> None:
    await synced(ragstone, plone, tmp_path)
    before = await paths(ragstone, principal(plone, "sync"))
    header, body, _ = plone.token().split(".")
    for token in ("nonsense", f"{header}.{body}.wrong"):
        with pytest.raises(ConfigError, match="PLONE__TOKEN"):
            await synced(ragstone, plone, tmp_path, token=SecretStr(token))
    for basic in (True, False):
        with pytest.raises(ConfigError, match="PLONE__TOKEN"):
            await synced(
                ragstone, plone, tmp_path, token=SecretStr(f"{'basic:' if basic else ''}sync:wrong")
            )
    assert await paths(ragstone, principal(plone, "sync")) == before


async def test_given_a_token_login_or_basic_auth_then_the_same_is_seen(
    ragstone: Ragstone, plone: PloneSite, tmp_path: Path
) -> None:
    done = await synced(ragstone, plone, tmp_path)
    token = SecretStr(plone.token())
    by_token = await synced(ragstone, plone, tmp_path, token=token)
    by_basic = await synced(ragstone, plone, tmp_path, token=SecretStr(f"basic:sync:{PASSWORD}"))
    same = (0, done.indexed, 0)
    assert (by_token.indexed, by_token.unchanged, by_token.deleted) == same
    assert (by_basic.indexed, by_basic.unchanged, by_basic.deleted) == same


async def test_given_no_credential_then_what_visitors_view_and_a_note(
    ragstone: Ragstone, plone: PloneSite, tmp_path: Path
) -> None:
    done = await synced(ragstone, plone, tmp_path, token=SecretStr(""))
    assert "PLONE__TOKEN" in done.notes[0]
    public = set(plone.found_by("", portal_type=list(TYPES)).values())
    assert await paths(ragstone, VISITOR) == public
    assert await paths(ragstone, principal(plone, "sam")) == public


async def test_given_types_that_the_site_has_not_then_the_note_names_those_it_has(
    ragstone: Ragstone, plone: PloneSite, tmp_path: Path
) -> None:
    done = await synced(ragstone, plone, tmp_path, content_types=("ContentPage", "Book"))
    assert done.total == 0
    [note] = done.notes
    assert "Document (" in note
    assert "PLONE__CONTENT_TYPES" in note


async def test_given_one_run_after_each_change_then_permissions_are_plones(
    ragstone: Ragstone, plone: PloneSite, room: str, tmp_path: Path
) -> None:
    plone.add(room, "Document", "page", "Once public.")
    plone.add(room, "Folder", "inner")
    plone.add(f"{room}/inner", "File", "paper", "A paper in the folder.")
    plone.add(f"{room}/inner", "Document", "child", "A child.")
    for path in (f"{room}/page", f"{room}/inner", f"{room}/inner/child"):
        plone.transition(path, "publish")
    later, past = in_days(9), in_days(-9)

    async def follows(what: str) -> None:
        await synced(ragstone, plone, tmp_path)
        await assert_as_plone(ragstone, plone, room)

    await follows("published")
    assert f"{room}/inner/paper" in await paths(ragstone, VISITOR)
    plone.transition(f"{room}/page", "retract")
    await follows("retracted")
    assert f"{room}/page" not in await paths(ragstone, VISITOR)
    plone.share(f"{room}/page", {"ann": ["Reader"], "board": ["Editor"]})
    await follows("shared")
    assert f"{room}/page" in await paths(ragstone, principal(plone, "ann"))
    plone.share(f"{room}/page", {"ann": [], "board": []})
    await follows("shared no more")
    assert f"{room}/page" not in await paths(ragstone, principal(plone, "ann"))
    plone.share(f"{room}/inner", {"AuthenticatedUsers": ["Reader"]})
    plone.transition(f"{room}/inner", "retract")
    await follows("the folder is for members, and its file with it")
    assert f"{room}/inner/paper" not in await paths(ragstone, VISITOR)
    assert f"{room}/inner/paper" in await paths(ragstone, principal(plone, "dora"))
    plone.share(f"{room}/inner", {"AuthenticatedUsers": []})
    await follows("the folder is private, and its file with it")
    assert f"{room}/inner/paper" not in await paths(ragstone, principal(plone, "dora"))
    plone.transition(f"{room}/page", "publish")
    await follows("public again")
    plone.change(f"{room}/page", effective=later)
    await follows("under an embargo")
    assert f"{room}/page" not in await paths(ragstone, VISITOR)
    plone.change(f"{room}/page", effective=past)
    await follows("the embargo is over")
    assert f"{room}/page" in await paths(ragstone, VISITOR)
    plone.change(f"{room}/page", expires=past)
    await follows("expired")
    assert f"{room}/page" not in await paths(ragstone, VISITOR)
    plone.change(f"{room}/page", expires=None)
    await follows("not expired")
    moved = plone.rename(f"{room}/page", "renamed")
    plone.transition(moved, "retract")
    await follows("renamed and retracted at once")
    everything = await paths(ragstone, principal(plone, "sync"), room)
    assert moved in everything
    assert f"{room}/page" not in everything
    plone.delete(f"{room}/inner")
    await follows("a folder removed with its children")
    assert await paths(ragstone, principal(plone, "sync"), f"{room}/inner") == set()


async def test_given_a_byline_then_it_grants_nothing_but_the_owner_reads(
    ragstone: Ragstone, plone: PloneSite, tmp_path: Path
) -> None:
    await synced(ragstone, plone, tmp_path)
    assert plone.ask("GET", "/en/by-ben")["creators"] == ["ben"]
    assert "/en/by-ben" not in await paths(ragstone, principal(plone, "ben"))
    assert "/en/dora-0" in await paths(ragstone, principal(plone, "dora"))


async def test_given_inheritance_is_blocked_then_roles_of_the_folder_above_end_there(
    ragstone: Ragstone, plone: PloneSite, tmp_path: Path
) -> None:
    await synced(ragstone, plone, tmp_path)
    team = await paths(ragstone, principal(plone, "ann"))
    board = await paths(ragstone, principal(plone, "ben"))
    assert "/en/team-room/plan-0" in team
    assert "/en/team-room/board-room/wages" not in team
    assert "/en/team-room/board-room/wages" in board


SIZE = int(os.environ.get("RAGSTONE_PLONE_SIZE", "40"))
ROUNDS = int(os.environ.get("RAGSTONE_PLONE_ROUNDS", "3"))


async def test_given_any_changes_then_each_run_ends_with_what_plone_shows_everyone(
    ragstone: Ragstone, plone: PloneSite, room: str, tmp_path: Path
) -> None:
    """RAGSTONE_PLONE_SIZE=1000 RAGSTONE_PLONE_ROUNDS=10 is the whole."""
    editors = Editors(plone, room, 7)
    editors.fill(SIZE)
    for number in range(ROUNDS + 1):
        what = editors.round() if number else Counter[str]()
        began = time.monotonic()
        done = await synced(ragstone, plone, tmp_path)
        seconds = time.monotonic() - began
        assert done.failed == ()
        cells = await assert_as_plone(ragstone, plone)
        print(
            f"run {number}: {done.total} objects, {done.indexed} indexed, {done.deleted} deleted, "
            f"{seconds:.1f} s; {cells} cells equal; {dict(what)}"
        )

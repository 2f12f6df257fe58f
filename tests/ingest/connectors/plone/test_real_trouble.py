"""The connector before a real Plone site in trouble: damaged answers, changes meanwhile, tokens
that end. Nothing that is there is lost, nobody reads more, and the next run makes it right."""

import asyncio
import os
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, suppress
from pathlib import Path
from threading import Lock

import pytest
from pydantic import SecretStr

from ragstone import build
from ragstone.core.errors import ConfigError
from ragstone.local import Ragstone
from ragstone.plugins.plone import client as client_module
from ragstone.plugins.plone.client import RENEWED_BEFORE, PloneClient, PloneUnavailable
from ragstone.settings import Settings
from tests.plone.compared import (
    TYPES,
    a_setting,
    assert_as_plone,
    paths,
    principal,
    synced,
    texts,
)
from tests.plone.editors import Editors
from tests.plone.proxy import Proxy, before
from tests.plone.site import PloneSite

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(3600)]

ROUNDS = int(os.environ.get("RAGSTONE_PLONE_ROUNDS", "3"))
"""Requests of a run at which each damage begins."""
USERS = ("", "dora", "ann", "sync")


@pytest.fixture
async def ragstone(tmp_path: Path) -> AsyncIterator[Ragstone]:
    async with build.open(Settings(ragstone_data=tmp_path / "data")) as opened:
        yield opened


@pytest.fixture
def proxy(plone: PloneSite) -> Iterator[Proxy]:
    with before(plone.url) as made:
        yield made


async def read_by(ragstone: Ragstone, plone: PloneSite) -> dict[str, set[str]]:
    return {user: await paths(ragstone, principal(plone, user)) for user in USERS}


def shown_to(plone: PloneSite) -> dict[str, set[str]]:
    return {user: set(plone.found_by(user, portal_type=list(TYPES)).values()) for user in USERS}


@pytest.mark.parametrize("way", ["html", "short", "cut", "down", "bad gateway", "visitor"])
async def test_given_damage_from_any_request_on_then_nothing_is_lost_and_the_next_run_is_right(
    ragstone: Ragstone, plone: PloneSite, proxy: Proxy, room: str, tmp_path: Path, way: str
) -> None:
    editors = Editors(plone, room, 11)
    editors.fill(12)
    await synced(ragstone, plone, tmp_path, url=proxy.site)
    proxy.damage("")
    editors.round()
    await synced(ragstone, plone, tmp_path, url=proxy.site)
    requests = len(proxy.asked)
    points = random.Random(way).sample(range(requests), ROUNDS - 1)
    for number, point in enumerate([requests - 3, *points]):
        earlier, was_shown = await read_by(ragstone, plone), shown_to(plone)
        plone.add(room, "File", f"late-{way.replace(' ', '-')}-{number}", f"Crate {number}.")
        editors.round()
        proxy.damage(way, point)
        with suppress(PloneUnavailable, ConfigError):
            await synced(ragstone, plone, tmp_path, url=proxy.site)
        found, shown = await read_by(ragstone, plone), shown_to(plone)
        for user in USERS:
            stays = earlier[user] & was_shown[user] & shown[user]
            touched = {path for path in stays if path.startswith(f"{room}/")}
            assert stays - touched <= found[user], (way, point, user or "a visitor")
            assert found[user] <= was_shown[user] | shown[user], (way, point, user or "a visitor")
        proxy.damage("")
        assert (await synced(ragstone, plone, tmp_path, url=proxy.site)).failed == ()
        await assert_as_plone(ragstone, plone)
    kept = await texts(ragstone, room)
    assert any("Crate" in text for text in kept.values())
    assert not [path for path, text in kept.items() if "Back soon" in text]


@pytest.mark.parametrize("way", ["cut", "down", "bad gateway"])
async def test_given_a_site_that_is_down_for_a_moment_then_the_run_goes_on(
    ragstone: Ragstone,
    plone: PloneSite,
    proxy: Proxy,
    tmp_path: Path,
    way: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ragstone.plugins.plone.client.RETRIES", 3)
    proxy.damage(way, 5, 7)
    done = await synced(ragstone, plone, tmp_path, url=proxy.site)
    assert done.failed == ()
    await assert_as_plone(ragstone, plone)


async def test_given_a_file_that_comes_as_a_page_then_it_fails_alone_and_comes_with_the_next_run(
    ragstone: Ragstone, plone: PloneSite, proxy: Proxy, room: str, tmp_path: Path
) -> None:
    await synced(ragstone, plone, tmp_path, url=proxy.site)
    plone.add(room, "File", "list", "The list names nine anchors.")
    downloads = "GET /Plone" + room + "/list/@@download"

    def damaged(_: int) -> None:
        last = proxy.asked[-1]
        proxy.way = "html" if last.startswith(downloads) else ""

    proxy.between = damaged
    done = await synced(ragstone, plone, tmp_path, url=proxy.site)
    [failure] = done.failed
    assert "text/html" in failure.reason
    proxy.between, proxy.way = None, ""
    assert (await synced(ragstone, plone, tmp_path, url=proxy.site)).failed == ()
    assert "nine anchors" in (await texts(ragstone, room))[f"{room}/list"]


async def test_given_editors_between_the_pages_of_a_listing_then_only_what_they_touched_may_lag(
    ragstone: Ragstone,
    plone: PloneSite,
    proxy: Proxy,
    room: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_module, "LISTED_AT_ONCE", 8)
    editors = Editors(plone, room, 13)
    editors.fill(30)
    await synced(ragstone, plone, tmp_path, url=proxy.site)

    one_after_another = Lock()  # Requests come at the same time.

    def edits(number: int) -> None:
        if number % 4 == 0 and number < 100:
            with one_after_another:
                editors.round()

    proxy.damage("")
    proxy.between = edits
    done = await synced(ragstone, plone, tmp_path, url=proxy.site)
    assert len(proxy.asked) > 20
    assert done.total
    found, shown = await read_by(ragstone, plone), shown_to(plone)
    for user in USERS:
        elsewhere = {path for path in shown[user] if not path.startswith(f"{room}/")}
        assert elsewhere == {path for path in found[user] if not path.startswith(f"{room}/")}
    proxy.between = None
    assert (await synced(ragstone, plone, tmp_path, url=proxy.site)).failed == ()
    await assert_as_plone(ragstone, plone)


async def test_given_tokens_that_end_meanwhile_then_they_are_renewed_by_the_site(
    ragstone: Ragstone, plone: PloneSite, proxy: Proxy, tmp_path: Path
) -> None:
    """The site's tokens live for two seconds more than those that are renewed."""
    plone.tokens_last(int(RENEWED_BEFORE) + 2)
    try:
        token = SecretStr(plone.token())
        settings = a_setting(plone, url=proxy.site, token=token)
        async with aclosing(PloneClient(settings)) as client:
            first = [item.uid async for item in client.list_objects()]
            await asyncio.sleep(3)
            assert await client.check()
            assert [item.uid async for item in client.list_objects()] == first
        assert "POST /Plone/@login-renew" in proxy.asked
        proxy.damage("")
        async with aclosing(PloneClient(a_setting(plone, url=proxy.site))) as client:
            await client.check()
            await asyncio.sleep(3)
            assert [item.uid async for item in client.list_objects()] == first
        assert proxy.asked.count("POST /Plone/@login") == 2
    finally:
        plone.tokens_last(12 * 3600)


async def test_given_a_token_that_has_ended_then_nothing_is_deleted_and_the_setting_is_named(
    ragstone: Ragstone, plone: PloneSite, tmp_path: Path
) -> None:
    await synced(ragstone, plone, tmp_path)
    kept = await paths(ragstone, principal(plone, "sync"))
    plone.tokens_last(1)
    try:
        token = SecretStr(plone.token())
        await asyncio.sleep(2)
        with pytest.raises(ConfigError, match="PLONE__TOKEN"):
            await synced(ragstone, plone, tmp_path, token=token)
        assert await paths(ragstone, principal(plone, "sync")) == kept
        # With name and password each token is asked for anew, however short it lives.
        done = await synced(ragstone, plone, tmp_path)
        assert (done.failed, done.deleted) == ((), 0)
    finally:
        plone.tokens_last(12 * 3600)

"""Prompts in versions: per tenant, in every replica, with and without Redis."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ragstone.core.errors import InvalidPrompt, UnknownPrompt
from ragstone.language.templates import load_shipped
from ragstone.local.watching import Watch
from ragstone.plugins.prompts.service import LocalPrompts
from ragstone.plugins.redis.server import PREFIX, RedisTexts
from ragstone.store.sql.database import Database, open_database
from ragstone.store.sql.settings import SqlSettings, SqlTemplates
from tests.patience import PATIENCE
from tests.redis_server import redis_server


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with open_database(tmp_path / "state.sqlite") as database:
        yield database


async def test_given_versions_then_they_are_shown_compared_and_rolled_back(
    database: Database,
) -> None:
    store = SqlTemplates(database)
    prompts = LocalPrompts(store, {})
    first = await prompts.put("mode.simple", "- One.\n", "", "ann")
    second = await prompts.put("mode.simple", "- Two.\n", "", "bob")
    assert (first.version, second.version, second.source) == (1, 2, "store")
    assert (await prompts.get("mode.simple", version=1)).text == "- One.\n"
    assert "-- One." in await prompts.diff("mode.simple", "", 1, 2)
    assert "+- Two." in await prompts.diff("mode.simple", "", 1, 2)
    assert (load_shipped("mode.simple") or "").strip() in await prompts.diff(
        "mode.simple", "", 0, 1
    )
    back = await prompts.rollback("mode.simple", "", 1, "ann")
    assert (back.version, back.text) == (3, "- One.\n")
    assert (await store.texts())["mode.simple"] == "- One.\n"
    reset = await prompts.reset("mode.simple", "", "ann")
    assert (reset.source, reset.text) == ("shipped", load_shipped("mode.simple"))
    assert "mode.simple" not in await store.texts()
    kept = await prompts.versions("mode.simple")
    assert [(v.version, v.who, bool(v.text)) for v in kept] == [
        (4, "ann", False),
        (3, "ann", True),
        (2, "bob", True),
        (1, "ann", True),
    ]
    with pytest.raises(UnknownPrompt, match="no version 9"):
        await prompts.rollback("mode.simple", "", 9, "ann")


async def test_given_a_prompt_without_its_place_then_it_is_refused_and_nothing_changes(
    database: Database,
) -> None:
    prompts = LocalPrompts(SqlTemplates(database), {})
    with pytest.raises(InvalidPrompt, match=r"must hold \{count\}"):
        await prompts.put("rewrite.multi", "Write some.", "", "ann")
    with pytest.raises(UnknownPrompt, match="There is no prompt 'nonsense'"):
        await prompts.put("nonsense", "x", "", "ann")
    with pytest.raises(InvalidPrompt, match="no text"):
        await prompts.put("rewrite.hyde", "half \ud800", "", "ann")
    assert await prompts.versions("rewrite.multi") == []


async def test_given_levels_then_tenant_over_all_over_file_over_shipped(
    database: Database,
) -> None:
    store = SqlTemplates(database, below={"mode.simple": "file", "mode.precise": "file"})
    prompts = LocalPrompts(store, {"mode.simple": "file", "mode.precise": "file"})
    assert (await prompts.get("mode.simple")).source == "file"
    await prompts.put("mode.simple", "for all", "", "ann")
    await prompts.put("mode.simple", "for acme", "acme", "ann")
    assert (await store.texts("acme"))["mode.simple"] == "for acme"
    assert (await store.texts("other"))["mode.simple"] == "for all"
    assert (await store.texts("acme"))["mode.precise"] == "file"
    assert (await prompts.get("mode.simple", "acme")).source == "tenant"
    assert (await prompts.reset("mode.simple", "acme", "ann")).text == "for all"
    assert (await prompts.reset("mode.simple", "", "ann")).text == "file"


async def test_given_a_language_then_it_is_a_prompt_of_its_own(database: Database) -> None:
    prompts = LocalPrompts(SqlTemplates(database), {})
    await prompts.put("rewrite_query.de", "Schreibe um.", "", "ann")
    assert [p.name for p in await prompts.list_all() if p.source == "store"] == ["rewrite_query.de"]


async def test_given_another_replica_then_it_sees_a_change_soon(
    tmp_path: Path,
) -> None:
    path = tmp_path / "state.sqlite"
    async with open_database(path) as here, open_database(path) as there:
        one, two = SqlTemplates(here), SqlTemplates(there)
        watch = Watch(SqlSettings(there), {"prompts": two.refresh})
        await watch.start()
        try:
            assert await two.texts() == {}
            await one.put("mode.simple", "- New.", "", "ann")
            changed = time.monotonic()
            while not await two.texts():
                assert time.monotonic() - changed < PATIENCE
                await asyncio.sleep(0.02)
        finally:
            await watch.aclose()


@pytest.mark.conforms("chat-core", "13.1", "Prompts: Redis, then database, then file")
async def test_given_redis_then_it_stands_before_the_database_until_it_is_gone(
    tmp_path: Path,
) -> None:
    with redis_server(tmp_path) as server:
        async with open_database(tmp_path / "state.sqlite") as database:
            shared = RedisTexts(server.url, rest=0.1)
            one, two = SqlTemplates(database, shared), SqlTemplates(database, shared)
            await one.put("mode.simple", "- One.", "", "ann")
            [key] = [key async for key in shared._redis.scan_iter(f"{PREFIX}*")]
            await shared._redis.set(key, '{"": {"mode.simple": "- From Redis."}}')
            assert (await two.texts())["mode.simple"] == "- From Redis."
            await shared._redis.set(key, "nonsense")
            assert (await SqlTemplates(database, shared).texts())["mode.simple"] == "- One."
            server.kill()
            await one.put("mode.simple", "- Two.", "", "ann")
            assert (await one.texts())["mode.simple"] == "- Two."
            await two.refresh()
            assert (await two.texts())["mode.simple"] == "- Two."
            await shared.aclose()

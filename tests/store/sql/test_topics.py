"""Topics, their vectors and blocked questions in the state store."""

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from ragstone.core.records import BlockedQuestion
from ragstone.guard.topic_file import topic
from ragstone.store.sql.database import Database, open_database
from ragstone.store.sql.topics import SqlTopics
from tests.patience import PATIENCE

SALARY = topic("acme", "salary", ("wage",), ("How much?",))
BOSS = topic("acme", "executive")


@pytest.fixture
def store(state: Database) -> SqlTopics:
    return SqlTopics(state)


def a_block(question: str, at: float | None = None, tenant: str = "acme") -> BlockedQuestion:
    when = time.time() if at is None else at
    return BlockedQuestion(when, tenant, "eva", question, "t", "salary", "exact", 1.0, "rules")


async def test_topics_come_back_by_tenant_and_term(store: SqlTopics) -> None:
    other = topic("other", "salary")
    await store.put([SALARY, BOSS, other])
    assert await store.tenants() == {"acme": [BOSS, SALARY], "other": [other]}


async def test_given_every_connection_is_in_use_then_it_is_known_whether_a_list_changed(
    tmp_path: Path,
) -> None:
    async with open_database(tmp_path / "state.sqlite") as database, AsyncExitStack() as held:
        for _ in range(4):
            await held.enter_async_context(database.read_view())
        async with asyncio.timeout(PATIENCE):
            assert await SqlTopics(database).number() == 0


async def test_a_changed_topic_replaces_and_loses_its_vectors(store: SqlTopics) -> None:
    await store.put([SALARY, BOSS])
    await store.keep_vectors("f", {SALARY.id: b"1", BOSS.id: b"2", "gone": b"3"})
    changed = topic("acme", "Salary", ("pay",))
    await store.put([changed])
    assert (await store.tenants())["acme"] == [changed, BOSS]
    assert await store.vectors("acme", "f") == {BOSS.id: b"2"}
    assert await store.vectors("other", "f") == {}


async def test_removed_topics_are_gone(store: SqlTopics) -> None:
    await store.put([SALARY, BOSS])
    await store.remove([SALARY.id, "unknown"])
    assert await store.tenants() == {"acme": [BOSS]}


async def test_blocked_questions_newest_first_of_one_tenant(store: SqlTopics) -> None:
    for question, tenant in (("a?", "acme"), ("b?", "other"), ("c?", "acme")):
        await store.record(a_block(question, tenant=tenant), 90)
    assert [item.question for item in await store.list_blocked("acme", 10)] == ["c?", "a?"]
    assert [item.question for item in await store.list_blocked("acme", 1)] == ["c?"]


async def test_old_blocked_questions_are_forgotten(store: SqlTopics) -> None:
    await store.record(a_block("old?", at=time.time() - 91 * 86_400), 1000)
    await store.record(a_block("new?"), 90)
    assert [item.question for item in await store.list_blocked("acme", 10)] == ["new?"]

"""Traces are kept for some days, by tenant, newest first."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from ragstone.core.records import QuestionTrace
from ragstone.core.turn import Principal, StageTrace
from ragstone.store.sql.database import Database
from ragstone.store.sql.erasure import SqlErasure
from ragstone.store.sql.history import DAY, SqlTraces

NOW = time.time()
STAGES = (
    StageTrace("retrieve", 0.1, "done", "12 passages"),
    StageTrace("rerank", 0.3, "timeout"),
)
ONE = QuestionTrace("one", NOW, "acme", "ann", finish="stop", cost=0.5, stages=STAGES)


@pytest.fixture
def traces(state: Database) -> SqlTraces:
    return SqlTraces(state)


async def test_given_a_trace_then_it_comes_back_as_it_was(traces: SqlTraces) -> None:
    await traces.keep(ONE, 7)
    assert await traces.get("acme", "one") == ONE


async def test_given_another_tenant_then_there_is_nothing(traces: SqlTraces) -> None:
    await traces.keep(ONE, 7)
    assert await traces.get("other", "one") is None
    assert await traces.latest("other", 10) == []
    assert await traces.stages("other", 0) == []


async def test_given_several_then_the_newest_come_first_page_by_page(traces: SqlTraces) -> None:
    for number in range(5):
        user = "ann" if number % 2 else "bob"
        await traces.keep(replace(ONE, id=str(number), at=NOW + number, user=user), 7)
    first = await traces.latest("acme", 2)
    assert [item.id for item in first] == ["4", "3"]
    assert [item.id for item in await traces.latest("acme", 2, before=first[-1].at)] == ["2", "1"]
    assert [item.id for item in await traces.latest("acme", 9, user="ann")] == ["3", "1"]


async def test_given_a_user_to_forget_then_the_others_stay(traces: SqlTraces) -> None:
    for number, (user, account) in enumerate([("ann", "a"), ("ann", "b"), ("bob", "a")]):
        await traces.keep(replace(ONE, id=str(number), user=user, user_id=account), 7)
    erasure = SqlErasure(traces._database, Path())
    await erasure.delete(Principal("acme", "ann"), "b", [])
    assert {item.id for item in await traces.latest("acme", 9)} == {"0", "2"}
    await erasure.delete(Principal("acme", "ann"), None, [])
    assert {item.id for item in await traces.latest("acme", 9)} == {"2"}


async def test_given_old_ones_then_they_are_forgotten(traces: SqlTraces) -> None:
    old = replace(ONE, id="old", at=NOW - 8 * DAY)
    await traces.keep(old, 30)
    fresh = SqlTraces(traces._database)  # a process that has not looked yet
    await fresh.keep(ONE, 7)
    assert [item.id for item in await fresh.latest("acme", 10)] == ["one"]


async def test_given_traces_then_the_times_of_stages_are_summed_up(traces: SqlTraces) -> None:
    for number in range(20):
        stages = (StageTrace("retrieve", 0.01 * (number + 1), "done"), STAGES[1])
        await traces.keep(replace(ONE, id=str(number), stages=stages), 7)
    retrieve, rerank = await traces.stages("acme", 0)
    assert (retrieve.stage, retrieve.runs, retrieve.failed) == ("retrieve", 20, 0)
    assert retrieve.mean == pytest.approx(0.105)
    assert retrieve.p95 == pytest.approx(0.2)
    assert (rerank.runs, rerank.failed) == (20, 20)

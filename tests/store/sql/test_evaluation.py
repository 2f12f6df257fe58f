"""Sets of questions and runs on the state store."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from ragstone.core.turn import Principal, SearchOptions
from ragstone.plugins.evaluation.contract import (
    AskSetting,
    EvaluationRun,
    Outcome,
    QuestionSet,
    SetQuestion,
    SettingFigures,
)
from ragstone.plugins.evaluation.store import SqlEvaluations, StoredRun
from ragstone.store.sql.database import open_database
from ragstone.store.sql.erasure import SqlErasure

EVA, BOB = Principal("acme", "eva"), Principal("acme", "bob")
QUESTIONS = (SetQuestion("Größe?", ("41",)), SetQuestion("B?", answerable=False))
SET = QuestionSet("s1", "Tower", "c1", 2, 1.0, QUESTIONS)
SETTINGS = (AskSetting("a"), AskSetting("b", top_k=3, wanted=SearchOptions(rerank=False)))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlEvaluations]:
    async with open_database(tmp_path / "state.sqlite") as database:
        yield SqlEvaluations(database)


def stored(id: str, at: float = 1.0) -> StoredRun:
    run = EvaluationRun(id, "s1", "Tower", "c1", SETTINGS, at, total=4)
    return StoredRun(run, SET)


def outcome(number: int, setting: int, right: bool | None) -> Outcome:
    return Outcome(number, setting, QUESTIONS[number], "text", "stop", right)


async def test_a_set_takes_the_place_of_the_one_of_its_id_and_is_its_users(
    store: SqlEvaluations,
) -> None:
    await store.put_set(EVA, SET)
    await store.put_set(EVA, replace(SET, name="Towers"))
    assert await store.question_set(EVA, "s1") == replace(SET, name="Towers")
    assert await store.sets(EVA) == [replace(SET, name="Towers", questions=())]
    assert await store.sets(BOB) == []
    assert await store.question_set(BOB, "s1") is None
    assert not await store.remove_set(BOB, "s1")
    assert await store.remove_set(EVA, "s1")
    assert await store.sets(EVA) == []


async def test_a_run_keeps_its_questions_and_counts_its_outcomes(store: SqlEvaluations) -> None:
    await store.begin(EVA, stored("r1"))
    await store.begin(EVA, stored("r2", 2.0))
    for place in (0, 1):
        await store.keep("r1", outcome(0, place, place == 0), "[]")
    await store.keep("r1", outcome(0, 0, True), "[[],[]]")
    known = await store.run(EVA, "r1")
    assert known is not None
    assert known.questions.questions == QUESTIONS
    assert known.run.settings == SETTINGS
    assert (known.run.asked, known.run.total, known.run.state) == (2, 4, "running")
    assert await store.run(BOB, "r1") is None
    figures = (SettingFigures("a", {"right": 1.0, "mrr": None}),)
    await store.end(BOB, "r1", 9.0, figures)
    assert [run.state for run in await store.runs(EVA, "", 10)] == ["running", "running"]
    await store.end(EVA, "r1", 9.0, figures)
    [_, first] = await store.runs(EVA, "s1", 10)
    assert (first.id, first.state, first.ended_at, first.figures) == ("r1", "done", 9.0, figures)
    assert await store.runs(EVA, "other", 10) == []


async def test_outcomes_stand_in_the_order_of_the_set(store: SqlEvaluations) -> None:
    await store.begin(EVA, stored("r1"))
    for number, setting, right in ((1, 0, False), (0, 1, None), (0, 0, True)):
        await store.keep("r1", outcome(number, setting, right), "origin")
    found = [(item.number, item.setting) for item, _ in await store.outcomes("r1")]
    assert found == [(0, 0), (0, 1), (1, 0)]
    assert [item.number for item, _ in await store.outcomes("r1", wrong=True)] == [1]
    assert [item.number for item, _ in await store.outcomes("r1", setting=1)] == [0]
    assert [item.number for item, _ in await store.outcomes("r1", limit=1, offset=2)] == [1]


async def test_what_is_removed_or_forgotten_leaves_nothing(store: SqlEvaluations) -> None:
    for whose, id in ((EVA, "r1"), (EVA, "r2"), (BOB, "r3")):
        await store.begin(whose, stored(id))
        await store.keep(id, outcome(0, 0, True), "")
    assert not await store.remove_run(BOB, "r1")
    assert await store.remove_run(EVA, "r1")
    await store.keep("r1", outcome(0, 0, True), "")
    assert await store.outcomes("r1") == [], "an outcome that comes late is not kept"
    await store.put_set(EVA, SET)
    await SqlErasure(store._database, Path()).delete(EVA, None, [])
    assert await store.sets(EVA) == []
    assert await store.runs(EVA, "", 10) == []
    assert await store.outcomes("r2") == []
    assert len(await store.outcomes("r3")) == 1

"""Conversations belong to one principal; statistics add up."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select

from ragstone.answer import Answer, Citation, Finish, Usage, Verdict
from ragstone.ports import History
from ragstone.records import Report, StrategyUse
from ragstone.state.database import Database
from ragstone.state.history import SqlHistory
from ragstone.state.tables import blocks, conversations, statistics
from ragstone.turn import Ask, Message, Plan, Principal, RankedList, Traced, Turn

EVA = Principal("acme", "eva")
CITED = Citation(1, "d1", "c1", "Title", "/a", 2, ("Intro",), 5, 9, "text", 0.5)


@pytest.fixture
def database(state: Database) -> Database:
    return state


def turn(
    question: str = "Why?",
    room: str | None = "r1",
    who: Principal = EVA,
    finish: Finish = "stop",
    cost: float | None = 0.25,
) -> Turn:
    return Turn(
        Ask(question, who, room=room, id="a1"),
        answer=Answer(f"{question} So [1].", (CITED,), finish, "small", 0.75),
        verdicts=(Verdict("So [1].", "supported", 0.9, CITED),),
        usage=Usage(100, 20, 1, cost),
        trace=(Traced("retrieve", 0.1, "done", "3 dense"),),
    )


async def rows(database: Database, table: Any) -> list[dict[str, Any]]:
    async with database.reading() as connection:
        return [dict(row) for row in (await connection.execute(select(table))).mappings()]


async def test_a_turn_in_a_room_is_kept_whole(database: Database) -> None:
    history: History = SqlHistory(database)
    await history.save(turn())
    (block,) = await rows(database, blocks)
    assert (block["tenant"], block["user"], block["room"]) == ("acme", "eva", "r1")
    assert (block["question"], block["answer"]) == ("Why?", "Why? So [1].")
    assert (block["ask_id"], block["model"], block["level"]) == ("a1", "small", "standard")
    assert (block["finish"], block["confidence"]) == ("stop", 0.75)
    assert block["citations"][0]["section"] == ["Intro"]
    assert block["verdicts"][0]["citation"]["snippet"] == "text"
    assert block["usage"] == {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "calls": 1,
        "cost": 0.25,
    }
    assert block["trace"][0]["decision"] == "3 dense"
    assert len(await rows(database, conversations)) == 1


async def test_without_a_room_only_the_statistics_are_kept(database: Database) -> None:
    history = SqlHistory(database)
    await history.save(turn(room=None))
    await history.save(Turn(Ask("Lost?", EVA, room="r1")))
    assert await rows(database, blocks) == []
    assert await rows(database, conversations) == []
    assert [row["questions"] for row in await rows(database, statistics)] == [1, 1]


async def test_statistics_add_up(database: Database) -> None:
    history = SqlHistory(database)
    await asyncio.gather(
        history.save(turn()),
        history.save(turn(finish="refused", cost=None)),
        history.save(turn(cost=0.5)),
        history.save(turn(room="r2", finish="blocked")),
    )
    first, second = sorted(await rows(database, statistics), key=lambda row: str(row["room"]))
    assert first == {
        "day": datetime.now(UTC).date(),
        "tenant": "acme",
        "user": "eva",
        "room": "r1",
        "model": "small",
        "questions": 3,
        "refused": 1,
        "blocked": 0,
        "prompt_tokens": 300,
        "completion_tokens": 60,
        "cost": 0.75,
    }
    assert (second["room"], second["questions"], second["blocked"]) == ("r2", 1, 1)


async def test_report_sums_days_and_strategies_of_one_tenant(database: Database) -> None:
    history: History = SqlHistory(database)
    found = (RankedList("bm25", "Why?", ()),)
    searched = replace(turn(), plan=Plan(strategy="bm25"), lists=found)
    unrated = replace(searched, answer=None, trace=(Traced("retrieve", 0.3, "done"),))
    for one in (searched, unrated, turn(finish="refused", cost=None)):
        await history.save(one)
    await history.save(turn(who=Principal("bolt", "eva")))
    report = await history.report("acme", 1)
    (day,) = report.days
    assert (day.day, day.questions, day.refused) == (str(datetime.now(UTC).date()), 3, 1)
    assert (day.prompt_tokens, day.completion_tokens, day.cost) == (300, 60, 0.5)
    assert report.strategies == (StrategyUse("bm25", 2, pytest.approx(0.2), 0.75),)
    assert await history.report("nobody", 30) == Report((), ())


async def test_load_gives_the_last_messages_in_order(database: Database) -> None:
    history = SqlHistory(database)
    for question in ("A?", "B?", "C?"):
        await history.save(turn(question))
    messages = await history.load(EVA, "r1")
    assert messages[:2] == [Message("user", "A?"), Message("assistant", "A? So [1].")]
    assert [message.text[0] for message in messages] == ["A", "A", "B", "B", "C", "C"]
    assert await history.load(EVA, "r1", 4) == messages[2:]
    assert await history.load(EVA, "r1", 3) == messages[3:]
    assert await history.load(EVA, "r1", 0) == []


@pytest.mark.parametrize("other", [Principal("acme", "bob"), Principal("bolt", "eva")])
async def test_nobody_else_sees_a_room(database: Database, other: Principal) -> None:
    history = SqlHistory(database)
    await history.save(turn())
    assert await history.load(other, "r1") == []
    await history.save(turn("Mine?", who=other))
    theirs = await history.load(other, "r1")
    assert theirs[0] == Message("user", "Mine?")
    assert len(await history.load(EVA, "r1")) == 2

"""A question that a job repeats: what was kept of it is kept once."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ragstone.conversation.persist import Persist
from ragstone.core.answer import GeneratedAnswer
from ragstone.core.conversation import conversation_key
from ragstone.core.turn import Ask, Principal, Turn
from ragstone.engine.engine import Engine
from ragstone.engine.recipe import Recipe
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.jobs.questions import answer, format_request
from ragstone.ports import Adapters
from ragstone.ports.jobs import RUNNING, Job
from ragstone.store.sql.conversations import SqlConversations
from ragstone.store.sql.database import open_database
from ragstone.store.sql.history import SqlHistory

EVA = Principal("acme", "eva")
ASK = Ask("When are you open?", EVA, room="r1")
JOB = Job("ragask_1", "ask", format_request(ASK), {}, RUNNING, "", 1_000.5, 1_000.5, attempts=1)


class Know(Stage):
    """Knows the answer."""

    name = "know"

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        return Step(replace(turn, question=turn.ask.question, answer=GeneratedAnswer("From nine.")))


class Answers:
    """Answers as jobs are answered, with stores that a test looks into."""

    def __init__(self, adapters: Any) -> None:
        self.adapters = adapters
        self._engine = Engine(adapters, lambda ask: Recipe((Know(),), (Persist(days=0),)))

    async def answer(self, ask: Ask) -> Turn:
        return await self._engine.answer(ask)

    async def kept(self) -> tuple[int, int]:
        """Turns in the room, and how many questions were counted."""
        turns = await self.adapters.conversations.entries(conversation_key(EVA, "r1"), 10)
        used = await self.adapters.history.use("acme", 2, "room")
        return len(turns), sum(item.questions for item in used)


@pytest.fixture
async def answers(tmp_path: Path) -> AsyncIterator[Answers]:
    async with open_database(tmp_path / "state.sqlite") as database:

        class Stores:
            conversations = SqlConversations(database)
            history = SqlHistory(database)

        yield Answers(Stores())


async def test_given_an_answered_job_then_all_is_kept_when_it_ends(answers: Answers) -> None:
    await answer(answers, JOB)
    assert await answers.kept() == (1, 1)


async def test_given_a_process_that_died_after_keeping_then_it_is_kept_once(
    answers: Answers,
) -> None:
    for deaths in range(3):
        await answer(answers, replace(JOB, attempts=1 + deaths, deaths=deaths))
    assert await answers.kept() == (1, 1)


async def test_given_a_process_that_died_between_turn_and_count_then_both_are_there_once(
    answers: Answers,
) -> None:
    count = answers.adapters.history.save
    answers.adapters.history.save = lose
    await answer(answers, JOB)
    assert await answers.kept() == (1, 0)
    answers.adapters.history.save = count
    await answer(answers, replace(JOB, attempts=2, deaths=1))
    assert await answers.kept() == (1, 1)


async def test_given_attempts_that_ended_in_an_error_then_the_next_is_a_turn_of_its_own(
    answers: Answers,
) -> None:
    await answer(answers, JOB)
    await answer(answers, replace(JOB, attempts=2, failures=1))
    # Retried by hand, which forgets failures and deaths, after a death.
    await answer(answers, replace(JOB, attempts=3, deaths=1, failures=1))
    assert await answers.kept() == (2, 2)
    await answer(answers, replace(JOB, attempts=4))
    assert await answers.kept() == (3, 3)


async def test_given_the_same_job_forgotten_and_asked_again_then_it_is_another_turn(
    answers: Answers,
) -> None:
    await answer(answers, JOB)
    await answer(answers, replace(JOB, created_at=2_000.5))
    assert await answers.kept() == (2, 2)


async def lose(turn: Turn) -> None:
    """What becomes of a count that was under way when the process died."""

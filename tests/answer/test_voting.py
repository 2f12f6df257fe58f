"""Several answers, and which of them is believed."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from ragstone.answer.generate import Generate, Voting
from ragstone.core.answer import Instructions, Usage
from ragstone.core.errors import ModelUnavailable
from ragstone.core.events import Event, Note, Thinking, Token
from ragstone.core.turn import Ask, Level, Passage, Turn
from ragstone.engine.stage import Step
from ragstone.ports import Said
from tests.engine.adapters import ran
from tests.engine.completer import Replies
from tests.engine.samples import a_passage
from tests.local_checker import local_checker
from tests.scripted import Scripted

PASSAGES = (
    a_passage(1, "The lighthouse of Ost was built in 1871. It is 34 metres high."),
    a_passage(2, "The lighthouse of Kap was built in 1902."),
)
RIGHT = "The lighthouse of Ost was built in 1871. [1]"
ALSO_RIGHT = "It was in 1871 that the lighthouse of Ost was built. [1]"
WRONG = "The lighthouse of Ost was built in 1955 by Danish monks. [1]"


def member(name: str, *script: Said | str, error: Exception | None = None, **more: Any) -> Scripted:
    used = Said(usage=Usage(10, 5, 1, 0.5))
    return Scripted((*script, used), name=name, error=error, **more)


async def vote(
    *members: Any, asks: bool | None = True, level: Level = "standard", **options: Any
) -> tuple[Step, list[Event]]:
    ask = Ask("When was Ost built?", votes=asks, level=level)
    turn = Turn(ask, question="When?", passages=PASSAGES)
    stage = Generate(**options)
    parts = {"answerer": members[0], "ensemble": members, "checker": local_checker()}
    return await ran(stage, turn, completer=Replies("x"), **parts)


def text(step: Step) -> str:
    assert step.turn.answer
    return step.turn.answer.text


@pytest.mark.conforms("Query pipeline", "Levels", "Ensemble voting chooses the answer")
async def test_given_models_that_differ_then_a_grounded_answer_that_others_agree_with() -> None:
    step, events = await vote(member("a", WRONG), member("b", RIGHT), member("c", ALSO_RIGHT))
    assert text(step) in (RIGHT, ALSO_RIGHT)
    assert [event.text for event in events if isinstance(event, Token)] == [text(step)]
    assert step.turn.usage == Usage(30, 15, 3, 1.5)
    assert "chosen" in step.decision
    assert all(name in step.reason for name in ("a: grounded", "b: grounded", "c: grounded"))


async def test_given_a_member_that_fails_breaks_or_hangs_then_the_others_vote() -> None:
    down = member("down", error=ModelUnavailable("It is down."))
    broken = member("broken", error=ValueError("oops"))
    slow = member("slow", RIGHT, pause=5)
    step, _ = await vote(down, broken, slow, member("b", RIGHT), voting=Voting(seconds=0.2))
    assert text(step) == RIGHT
    assert "down failed: It is down." in step.reason
    assert "broken failed" in step.reason
    assert "slow failed" in step.reason
    assert step.turn.usage.calls == 3


async def test_given_all_fail_then_the_failure_of_the_first() -> None:
    errors = [ModelUnavailable(f"{n} is down.") for n in "ab"]
    with pytest.raises(ModelUnavailable, match="a is down"):
        await vote(*(member("x", error=error) for error in errors))


async def test_given_most_refuse_and_the_rest_invents_then_it_is_refused() -> None:
    step, _ = await vote(Silent(), member("b", WRONG), Silent())
    assert step.turn.answer
    assert step.turn.answer.refused


class KnowsGaps:
    """A judge that knows one phrase of what sources lack."""

    async def kinds(
        self, question: str, sentences: Sequence[str], *given: object
    ) -> list[str | None]:
        return ["gap" if "do not say" in sentence else None for sentence in sentences]


async def test_members_that_refuse_in_own_words_count_as_refusals() -> None:
    silent = "The sources do not say when it was built. [1]"
    members = (member("a", silent), member("b", WRONG), member("c", silent))
    turn = Turn(Ask("When?", votes=True), question="When?", passages=PASSAGES)
    parts = {"answerer": members[0], "ensemble": members, "checker": local_checker()}

    step, _ = await ran(
        Generate(), turn, completer=Replies("x"), judge=KnowsGaps(), chat=object(), **parts
    )

    assert text(step) == silent
    assert step.turn.answer
    assert step.turn.answer.refused


async def test_given_one_refuses_and_the_rest_is_grounded_then_it_is_answered() -> None:
    step, _ = await vote(Silent(), member("b", RIGHT), member("c", RIGHT))
    assert text(step) == RIGHT


async def test_given_members_that_show_thoughts_then_none_leaves_and_citations_are_reported() -> (
    None
):
    thinker = member("a", Said(thinking="hm"), f"{RIGHT} Also [9].")
    _, events = await vote(thinker, member("b", WRONG))
    assert not [event for event in events if isinstance(event, Thinking)]
    assert any(isinstance(event, Note) and "9" in event.text for event in events)


async def test_given_held_answers_then_the_winner_waits_for_its_check() -> None:
    step, events = await vote(member("a", RIGHT), member("b", RIGHT), holds=True)
    assert events == []
    assert step.turn.answer
    assert step.turn.answer.held


class Silent:
    """Refuses."""

    name = "silent"

    async def answer(
        self, ask: Ask, passages: Sequence[Passage], instructions: Instructions
    ) -> AsyncGenerator[Said, None]:
        yield Said("There is none.", finish="refused")


class Counting:
    """Counts how many answers are made at a time, and keeps what was asked."""

    name = "counting"

    def __init__(self) -> None:
        self.now = self.most = 0
        self.asked: list[Ask] = []

    async def answer(
        self, ask: Ask, passages: Sequence[Passage], instructions: Instructions
    ) -> AsyncGenerator[Said, None]:
        self.asked.append(ask)
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.01)
        self.now -= 1
        yield Said(RIGHT, finish="stop")


async def test_given_one_model_then_samples_of_it_vote_and_no_more_at_a_time_than_allowed() -> None:
    model = Counting()
    turn = Turn(Ask("When?", level="maximum"), question="When?", passages=PASSAGES)
    stage = Generate(votes=True, voting=Voting(samples=5, concurrency=2, temperature=0.9))
    parts = {"answerer": model, "checker": local_checker()}
    step, _ = await ran(stage, turn, completer=Replies("x"), **parts)
    assert text(step) == RIGHT
    assert model.most == 2
    assert sorted(ask.temperature or 0 for ask in model.asked) == [0, 0.9, 0.9, 0.9, 0.9]


@pytest.mark.parametrize(
    ("wanted", "option", "level", "asked"),
    [
        (None, None, "maximum", 1),
        (None, True, "maximum", 1),
        (None, None, "enhanced", 0),
        (None, False, "maximum", 0),
        (False, True, "maximum", 0),
    ],
)
async def test_several_models_vote_at_maximum_unless_something_else_is_wanted(
    wanted: bool | None, option: bool | None, level: Level, asked: int
) -> None:
    one, two = member("a", RIGHT), member("b", RIGHT)
    await vote(one, two, asks=wanted, level=level, votes=option)
    assert (len(one.asked), len(two.asked)) == (1, asked)


async def test_given_no_chat_model_then_there_is_nothing_to_vote_on() -> None:
    one = member("a", RIGHT)
    turn = Turn(Ask("When?", votes=True), question="When?", passages=PASSAGES)
    await ran(Generate(), turn, answerer=one, checker=local_checker())
    assert len(one.asked) == 1

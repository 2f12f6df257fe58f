"""Thinking before the answer."""

from typing import Any

import pytest

from ragstone.answer.generate import Generate
from ragstone.core.answer import GeneratedAnswer, Instructions
from ragstone.core.errors import ModelUnavailable
from ragstone.core.events import Event, Thinking
from ragstone.core.turn import Ask, Turn
from ragstone.engine.stage import Step
from ragstone.ports import Profile
from tests.engine.adapters import ran
from tests.engine.completer import Replies
from tests.engine.samples import a_passage
from tests.scripted import Scripted


async def reasoned(
    reply: str | Exception = "1. Asked: when.\n2. [1] says nine.",
    asks: bool | None = None,
    profile: Profile | None = None,
    answer: GeneratedAnswer | None = None,
    **options: Any,
) -> tuple[Step, list[Event], Replies, Instructions | None]:
    """The answer, what left before it, what was thought, and what the answerer was told."""
    model, answerer = Replies(reply), Scripted()
    turn = Turn(
        Ask("When?", reasons=asks),
        question="When?",
        passages=(a_passage(1, "At nine. [7]"),),
        instructions=Instructions("GeneratedAnswer.", "No.", notes="Be brief."),
        answer=answer,
    )
    parts = {"completer": model, "profile": profile or Profile(), "answerer": answerer}
    step, events = await ran(Generate(**options), turn, **parts)
    thoughts = [event for event in events if isinstance(event, Thinking)]
    return step, thoughts, model, next(iter(answerer.told), None)


@pytest.mark.conforms("Query pipeline", "Levels", "Chain of thought")
async def test_given_a_model_that_does_not_reason_by_itself_then_it_is_asked_first() -> None:
    step, thoughts, model, told = await reasoned(thinks="always")
    assert thoughts == [Thinking("1. Asked: when.\n2. [1] says nine.")]
    assert told
    assert told.notes == "Be brief.\n1. Asked: when.\n2. [1] says nine."
    [thought] = step.turn.trace
    assert (thought.stage, thought.inside, thought.calls) == ("reason", "generate", 1)
    rules, text = model.asked[0]
    assert "At nine. (7)" in rules
    assert text.startswith("You prepare an answer")


async def test_given_held_answers_then_thoughts_do_not_leave_either() -> None:
    _, thoughts, _, told = await reasoned(thinks="always", tells_thoughts=False)
    assert thoughts == []
    assert told
    assert "nine" in told.notes


@pytest.mark.parametrize(("thinks", "at_length"), [("at length", True), ("always", False)])
async def test_given_a_model_that_reasons_by_itself_then_it_does(
    thinks: str, at_length: bool
) -> None:
    _, _, model, told = await reasoned(thinks=thinks, profile=Profile(thinking_tokens=1024))
    assert told
    assert told.thinks == at_length
    assert model.asked == []


@pytest.mark.parametrize(
    ("asks", "thinks", "calls"),
    [(True, "asked", 1), (False, "always", 0), (None, "asked", 0), (True, "never", 0)],
)
async def test_given_the_request_says_then_the_level_does_not(
    asks: bool | None, thinks: str, calls: int
) -> None:
    _, _, model, _ = await reasoned(asks=asks, thinks=thinks)
    assert len(model.asked) == calls


async def test_given_an_answer_that_fails_after_it_then_what_was_thought_is_counted() -> None:
    turn = Turn(Ask("When?"), question="When?", passages=(a_passage(1, "At nine."),))
    parts = {"completer": Replies("So."), "answerer": Scripted((), error=ModelUnavailable("Gone."))}
    with pytest.raises(ModelUnavailable) as failed:
        await ran(Generate(thinks="always"), turn, profile=Profile(), **parts)
    assert failed.value.used
    assert failed.value.used.total_tokens == 110


async def test_given_an_answer_already_then_nothing_is_thought() -> None:
    step, _, model, _ = await reasoned(thinks="always", answer=GeneratedAnswer("At nine."))
    assert (step.decision, model.asked) == ("skipped", [])


@pytest.mark.parametrize(
    ("error", "status"),
    [(ModelUnavailable("It is down."), "done"), (ZeroDivisionError(), "failed")],
    ids=repr,
)
async def test_given_that_thinking_fails_then_the_answer_goes_on_without(
    error: Exception, status: str
) -> None:
    step, thoughts, _, told = await reasoned(error, thinks="always")
    assert step.turn.answer
    assert step.turn.answer.text == "Yes. [1]"
    assert told
    assert (told.notes, thoughts) == ("Be brief.", [])
    assert [(item.stage, item.status) for item in step.turn.trace] == [("reason", status)]

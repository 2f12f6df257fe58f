"""Thinking before the answer."""

from typing import Any

import pytest

from ragstone.answer.reason import Reason
from ragstone.core.answer import GeneratedAnswer, Instructions
from ragstone.core.errors import ModelUnavailable
from ragstone.core.events import Event, Thinking
from ragstone.core.turn import Ask, Turn
from ragstone.engine.stage import Step
from ragstone.ports import Profile
from tests.engine.adapters import ran
from tests.engine.completer import Replies
from tests.engine.samples import a_passage


async def reasoned(
    reply: str | Exception = "1. Asked: when.\n2. [1] says nine.",
    asks: bool | None = None,
    profile: Profile | None = None,
    answer: GeneratedAnswer | None = None,
    **options: Any,
) -> tuple[Step, list[Event], Replies]:
    model = Replies(reply)
    turn = Turn(
        Ask("When?", reasons=asks),
        question="When?",
        passages=(a_passage(1, "At nine. [7]"),),
        instructions=Instructions("GeneratedAnswer.", "No.", notes="Be brief."),
        answer=answer,
    )
    step, events = await ran(Reason(**options), turn, completer=model, profile=profile or Profile())
    return step, events, model


@pytest.mark.conforms("Query pipeline", "Levels", "Chain of thought")
async def test_given_a_model_that_does_not_reason_by_itself_then_it_is_asked_first() -> None:
    step, events, model = await reasoned(reasons=True)
    assert events == [Thinking("1. Asked: when.\n2. [1] says nine.")]
    assert step.turn.instructions.notes == "Be brief.\n1. Asked: when.\n2. [1] says nine."
    assert step.turn.usage.calls == 1
    assert "[1] At nine. (7)" in model.asked[0][1]


async def test_given_held_answers_then_thoughts_do_not_leave_either() -> None:
    step, events, _ = await reasoned(reasons=True, holds=True)
    assert events == []
    assert "nine" in step.turn.instructions.notes


@pytest.mark.parametrize("extended", [True, False])
async def test_given_a_model_that_reasons_by_itself_then_it_does(extended: bool) -> None:
    thinks = Profile(thinking_tokens=1024)
    step, _, model = await reasoned(reasons=True, profile=thinks, extended=extended)
    assert step.turn.instructions.thinks == extended
    assert model.asked == []


@pytest.mark.parametrize(("asks", "level", "calls"), [(True, False, 1), (False, True, 0)])
async def test_given_the_request_says_then_the_level_does_not(
    asks: bool, level: bool, calls: int
) -> None:
    _, _, model = await reasoned(asks=asks, reasons=level)
    assert len(model.asked) == calls


async def test_given_an_answer_already_or_a_model_that_fails_then_it_goes_on_without() -> None:
    step, _, model = await reasoned(reasons=True, answer=GeneratedAnswer("At nine."))
    assert (step.decision, model.asked) == ("skipped", [])
    step, events, _ = await reasoned(ModelUnavailable("It is down."), reasons=True)
    assert (step.decision, events) == ("skipped", [])
    assert step.turn.instructions.notes == "Be brief."

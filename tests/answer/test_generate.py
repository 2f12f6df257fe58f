"""Streaming an answer from a model."""

from dataclasses import replace

import pytest

from ragstone.answer.generate import Generate
from ragstone.core.answer import Instructions
from ragstone.core.errors import ModelUnavailable
from ragstone.core.events import Event, Note, Token
from ragstone.core.turn import Ask, Turn
from tests.engine.adapters import a_kit, ran
from tests.engine.samples import a_passage
from tests.scripted import Scripted

TURN = Turn(Ask("When?"), question="When?", passages=(a_passage(1, "At nine."),))


def seen(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Token))


async def test_given_marks_for_the_program_then_the_answer_and_the_client_have_the_same_text() -> (
    None
):
    script = ("At ni", "ne [Sour", "ce 1], or [4].\nSOURCES_", "USED: 1\nSUGGESTED_QUESTIONS: Why?")
    step, events = await ran(Generate(), TURN, answerer=Scripted(script))
    answer = step.turn.answer
    assert answer
    assert answer.text == seen(events) == "At nine [1], or."
    assert (answer.used, answer.suggested) == ((1,), ("Why?",))
    assert [event.text for event in events if isinstance(event, Note)] == [
        "Left out citations of sources that there are not: 4."
    ]


async def test_given_a_model_that_breaks_off_then_what_was_held_back_is_said_first() -> None:
    events: list[Event] = []

    async def emit(event: Event) -> None:
        events.append(event)

    answerer = Scripted(("At nine [1",), error=ModelUnavailable("It broke."))
    with pytest.raises(ModelUnavailable):
        await Generate().run(TURN, a_kit(answerer=answerer), emit)
    assert seen(events) == "At nine [1"


async def test_given_a_refusal_in_words_of_a_source_then_it_cites_nothing() -> None:
    refusal = "The documents do not hold an answer to this question."
    passage = a_passage(1, f"It says: {refusal}")
    turn = replace(TURN, passages=(passage,), instructions=Instructions("", refusal))
    step, _ = await ran(Generate(), turn, answerer=Scripted((refusal,)))
    assert step.turn.answer
    assert step.turn.answer.text == refusal

"""What an answer says that a limit cut short."""

import pytest

from ragstone.core.answer import GeneratedAnswer, cut_short_sentence
from ragstone.core.events import Token
from ragstone.core.turn import Ask, Turn
from ragstone.plugins.agent.cut_short import CutShort
from tests.engine.adapters import ran

WHY = "4 rounds of calls are the most"


def a_turn(why: str, text: str, held: bool = False) -> Turn:
    return Turn(Ask("q"), answer=GeneratedAnswer(text, held=held), cut_short=why)


@pytest.mark.parametrize(("text", "before"), [("In 1871 [1].", "In 1871 [1].\n\n"), ("", "")])
async def test_given_a_limit_then_the_answer_says_so_and_the_reader_gets_it(
    text: str, before: str
) -> None:
    step, events = await ran(CutShort(), a_turn(WHY, text))
    assert step.turn.answer is not None
    assert step.turn.answer.text == before + cut_short_sentence(WHY)
    assert text + "".join(e.text for e in events if isinstance(e, Token)) == step.turn.answer.text


async def test_given_an_answer_that_is_held_then_nothing_leaves_yet() -> None:
    step, events = await ran(CutShort(), a_turn(WHY, "In 1871 [1].", held=True))
    assert events == []
    assert step.turn.answer is not None
    assert step.turn.answer.text.endswith(cut_short_sentence(WHY))


async def test_given_no_limit_then_nothing_is_said() -> None:
    step, events = await ran(CutShort(), a_turn("", "In 1871 [1]."))
    assert events == []
    assert step.turn == a_turn("", "In 1871 [1].")

"""Answers without documents."""

import pytest

from ragstone.conversation.converse import Converse
from ragstone.core.answer import Usage
from ragstone.core.errors import NoChatModel, NoVision
from ragstone.core.events import Note, Thinking, Token
from ragstone.core.tool import Picture, ToolCall
from ragstone.core.turn import Ask, Turn
from ragstone.ports import Profile, Said
from tests.engine.adapters import ran
from tests.scripted import ScriptedChat

QUESTION = "Wie funktioniert dieses Gerät, und wozu ist es gut?"
PICTURE = Picture("image/png", "iVBORw0KGgo=")


def a_turn(**changes: object) -> Turn:
    return Turn(Ask(QUESTION, **changes), question=QUESTION)  # type: ignore[arg-type]


async def test_given_a_model_then_what_it_says_goes_to_the_client_as_it_is() -> None:
    pieces = [Said(thinking="hm"), "x = ", "a[1]", Said(note="N."), Said(usage=Usage(9, 2, 1))]
    chat = ScriptedChat([pieces])
    step, events = await ran(Converse(), a_turn(), chat=chat)
    assert events == [Thinking("hm"), Token("x = "), Token("a[1]"), Note("converse", "N.")]
    answer = step.turn.answer
    assert answer is not None
    assert (answer.text, answer.finish, answer.model) == ("x = a[1]", "stop", "scripted")
    assert step.turn.usage == Usage(9, 2, 1)
    assert "German" in chat.asked[0][1]


async def test_given_a_call_of_the_clients_tool_then_it_is_the_answers() -> None:
    call = ToolCall("c", "add", "{}")
    step, _ = await ran(Converse(), a_turn(), chat=ScriptedChat([[Said(calls=(call,))]]))
    assert step.turn.answer is not None
    assert step.turn.answer.calls == (call,)


async def test_given_no_chat_model_then_the_error_says_what_to_set() -> None:
    with pytest.raises(NoChatModel, match="LLM__MODEL"):
        await ran(Converse(), a_turn())


async def test_given_pictures_then_only_a_model_that_sees_is_asked() -> None:
    with pytest.raises(NoVision, match="LLM__VISION"):
        await ran(Converse(), a_turn(pictures=(PICTURE,)), chat=ScriptedChat([["A cat."]]))
    snapshot = ScriptedChat([["A cat."]], profile=Profile(vision=True))
    step, _ = await ran(Converse(), a_turn(pictures=(PICTURE,)), chat=snapshot)
    assert step.turn.answer is not None
    assert snapshot.asked[0][0].pictures == (PICTURE,)

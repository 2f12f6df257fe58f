"""Answers from the conversation alone, without documents."""

from contextlib import aclosing
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from ragstone.answer.guidance import with_guidance
from ragstone.answer.thoughts import ThoughtStream
from ragstone.core.answer import GeneratedAnswer
from ragstone.core.errors import NoChatModel, NoVision, RagstoneError
from ragstone.core.events import Note, Token
from ragstone.core.turn import Turn
from ragstone.engine.stage import Emit, Stage, Step, prompt
from ragstone.language.language import detect, language_name
from ragstone.language.templates import ROOM
from ragstone.ports import Adapters, Conversing, Said


class Converse(Stage):
    """Streams what the chat model says to the conversation; it may look at pictures, and call the
    client's tools. Nobody else can say it, so without a chat model this is an error."""

    name: ClassVar[str] = "converse"
    timeout_setting: ClassVar[str] = "LLM__TIMEOUT"
    needs: ClassVar[frozenset[str]] = frozenset({"question"})
    gives: ClassVar[frozenset[str]] = frozenset({"answer"})

    timeout: float = Field(300.0, gt=0, description="Seconds that the answer may take.")

    def require(self, turn: Turn, adapters: Adapters) -> None:
        require_chat(turn, adapters)

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        chat = require_chat(turn, adapters)
        language = language_name(detect(turn.question))
        room = await prompt(turn, adapters, ROOM)
        rules = await prompt(turn, adapters, "conversation", language=language)
        rules = with_guidance(f"{room}\n{rules}".strip(), turn, adapters)
        text, answer = list[str](), GeneratedAnswer(model=chat.name)
        thoughts = ThoughtStream((), emit)
        try:
            # Not `turn.question`: the model reads the conversation itself.
            async with aclosing(chat.converse(turn.ask, rules)) as stream:
                async for said in stream:
                    if said.restarts:
                        text.clear()
                    text.append(said.text)
                    await _send(said, thoughts, emit)
                    turn = replace(turn, usage=turn.usage + said.usage)
                    answer = replace(
                        answer,
                        model=said.model or answer.model,
                        finish=said.finish or answer.finish,
                        calls=said.calls or answer.calls,
                    )
        except RagstoneError as error:
            error.used = turn.usage
            raise
        await thoughts.end()
        answer = replace(answer, text="".join(text))
        return Step(replace(turn, answer=answer), answer.finish, answer.model)


def require_chat(turn: Turn, adapters: Adapters) -> Conversing:
    """The chat model; raises NoChatModel, and NoVision for pictures that it cannot look at."""
    pictures = turn.ask.pictures
    if adapters.chat is None:
        raise NoChatModel("Looking at pictures" if pictures else "A conversation without documents")
    if pictures and not adapters.chat.profile.vision:
        raise NoVision(adapters.chat.name)
    return adapters.chat


async def _send(said: Said, thoughts: ThoughtStream, emit: Emit) -> None:
    """Send the thinking, text and note to the client."""
    await thoughts.add(said.thinking)
    if said.text:
        await thoughts.end()
        await emit(Token(said.text))
    if said.note:
        await emit(Note(Converse.name, said.note))

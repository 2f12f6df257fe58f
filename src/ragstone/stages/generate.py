"""Says the answer, piece by piece."""

from contextlib import aclosing
from dataclasses import replace
from typing import ClassVar

from ragstone.events import Note, Thinking, Token
from ragstone.ports import Kit, Said
from ragstone.stage import Emit, Stage, Step
from ragstone.turn import Answer, Turn, Usage


class Generate(Stage):
    """Streams the answer from the passages; what was said before a failure is kept."""

    name: ClassVar[str] = "generate"
    needs: ClassVar[frozenset[str]] = frozenset({"question", "passages"})
    gives: ClassVar[frozenset[str]] = frozenset({"answer"})

    async def run(self, turn: Turn, kit: Kit, emit: Emit) -> Step:
        pieces: list[str] = []
        usage, last = Usage(), Said(finish="stop")
        model, why = kit.answerer.name, ""
        asked = replace(turn.ask, question=turn.question)
        async with aclosing(kit.answerer.answer(asked, turn.passages)) as stream:
            async for said in stream:
                if said.thinking:
                    await emit(Thinking(said.thinking))
                if said.text:
                    pieces.append(said.text)
                    await emit(Token(said.text))
                if said.note:
                    await emit(Note(self.name, said.note))
                model, why = said.model or model, said.reason or why
                usage += said.usage
                if said.finish:
                    last = said
        finish = last.finish or "stop"
        answer = Answer("".join(pieces), (), finish, model, last.confidence)
        turn = replace(turn, answer=answer, usage=turn.usage + usage)
        reason = f"{model}, {usage.completion_tokens} tokens"
        return Step(turn, finish, f"{reason}; {why}" if why else reason)

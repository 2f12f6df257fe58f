"""Says the answer, piece by piece."""

from contextlib import aclosing
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from ragstone.events import Thinking, Token
from ragstone.ports import Kit, Said
from ragstone.stage import Emit, Stage, Step
from ragstone.turn import Answer, Turn, Usage


class Generate(Stage):
    """Streams the answer from the passages; what was said before a failure is kept.

    With `holds`, neither text nor thoughts leave: the stage that checks the answer sends it.
    """

    name: ClassVar[str] = "generate"
    needs: ClassVar[frozenset[str]] = frozenset({"question", "passages"})
    gives: ClassVar[frozenset[str]] = frozenset({"answer"})

    holds: bool = Field(False, description="Whether the text waits until it is checked.")

    async def run(self, turn: Turn, kit: Kit, emit: Emit) -> Step:
        pieces: list[str] = []
        usage, last = Usage(), Said(finish="stop")
        asked = replace(turn.ask, question=turn.question)
        async with aclosing(kit.answerer.answer(asked, turn.passages)) as stream:
            async for said in stream:
                if said.thinking and not self.holds:
                    await emit(Thinking(said.thinking))
                if said.text:
                    pieces.append(said.text)
                if said.text and not self.holds:
                    await emit(Token(said.text))
                usage += said.usage
                if said.finish:
                    last = said
        finish = last.finish or "stop"
        answer = Answer(
            "".join(pieces), (), finish, kit.answerer.name, last.confidence, held=self.holds
        )
        turn = replace(turn, answer=answer, usage=turn.usage + usage)
        return Step(turn, finish, f"{kit.answerer.name}, {usage.completion_tokens} tokens")

"""Says the answer, piece by piece."""

from contextlib import aclosing
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from ragstone.answer import Answer, Usage
from ragstone.errors import RagstoneError
from ragstone.events import Note, Thinking, Token
from ragstone.ports import Kit, Said
from ragstone.stage import Emit, Stage, Step
from ragstone.text.answer_stream import AnswerStream
from ragstone.text.inline_markers import InlineMarkers
from ragstone.turn import Turn


class Generate(Stage):
    """Streams the answer from the passages; what was said before a failure is kept.

    What the model means for the program, citations of no source and links to anywhere else are
    taken out; sentences without a marker get one where a passage supports them. With `holds`,
    neither text nor thoughts leave: the stage that checks the answer sends it.
    """

    name: ClassVar[str] = "generate"
    needs: ClassVar[frozenset[str]] = frozenset({"question", "passages", "instructions"})
    gives: ClassVar[frozenset[str]] = frozenset({"answer"})

    holds: bool = Field(False, description="Whether the text waits until it is checked.")

    async def run(self, turn: Turn, kit: Kit, emit: Emit) -> Step:
        reply = _Reply(turn, kit.answerer.name, self.holds, emit)
        asked = replace(turn.ask, question=turn.question)
        try:
            answers = kit.answerer.answer(asked, turn.passages, turn.instructions)
            async with aclosing(answers) as stream:
                async for said in stream:
                    await reply.add(said)
        except RagstoneError:
            await reply.end()
            raise
        await reply.end()
        if wrong := ", ".join(map(str, reply.stream.dropped)):
            note = f"Left out citations of sources that there are not: {wrong}."
            await emit(Note(self.name, note))
        answer = reply.answer()
        turn = replace(turn, answer=answer, usage=turn.usage + reply.usage)
        said_by = f"{answer.model}, {reply.usage.completion_tokens} tokens"
        return Step(turn, answer.finish, f"{said_by}; {reply.why}" if reply.why else said_by)


class _Reply:
    """What the model says, on its way to the client."""

    def __init__(self, turn: Turn, model: str, holds: bool, emit: Emit) -> None:
        self.stream = AnswerStream(turn.passages)
        self.usage = Usage()
        self.why = ""
        self._markers = InlineMarkers(turn.passages, turn.instructions.no_answer)
        self._pieces: list[str] = []
        self._model = model
        self._holds = holds
        self._last = Said(finish="stop")
        self._emit = emit

    async def add(self, said: Said) -> None:
        """Send on what can be sent now that `said` has come."""
        if said.thinking and not self._holds:
            await self._emit(Thinking(said.thinking))
        if said.text:
            await self._send(self._markers.feed(self.stream.feed(said.text)))
        if said.note:
            await self._emit(Note(Generate.name, said.note))
        self._model, self.why = said.model or self._model, said.reason or self.why
        self.usage += said.usage
        if said.finish:
            self._last = said

    async def end(self) -> None:
        """Send what was held back."""
        await self._send(self._markers.feed(self.stream.end()) + self._markers.end())

    def answer(self) -> Answer:
        return Answer(
            text="".join(self._pieces),
            finish=self._last.finish or "stop",
            model=self._model,
            confidence=self._last.confidence,
            used=self.stream.used,
            suggested=self.stream.suggested,
            held=self._holds,
            calls=self._last.calls,
        )

    async def _send(self, text: str) -> None:
        if text:
            self._pieces.append(text)
        if text and not self._holds:
            await self._emit(Token(text))

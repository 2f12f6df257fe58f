"""Says the answer, piece by piece."""

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import ClassVar

from ragstone.errors import RagstoneError
from ragstone.events import Note, Thinking, Token
from ragstone.ports import Kit, Said
from ragstone.stage import Emit, Stage, Step
from ragstone.text.answer_stream import AnswerStream
from ragstone.text.inline_markers import InlineMarkers
from ragstone.turn import Answer, Passage, Turn, Usage


class Generate(Stage):
    """Streams the answer from the passages; what was said before a failure is kept.

    What the model means for the program, citations of no source and links to anywhere else are
    taken out; sentences without a marker get one where a passage supports them.
    """

    name: ClassVar[str] = "generate"
    needs: ClassVar[frozenset[str]] = frozenset({"question", "passages"})
    gives: ClassVar[frozenset[str]] = frozenset({"answer"})

    async def run(self, turn: Turn, kit: Kit, emit: Emit) -> Step:
        shown = _Shown(turn.passages, emit)
        usage, last = Usage(), Said(finish="stop")
        asked = replace(turn.ask, question=turn.question)
        try:
            async with aclosing(kit.answerer.answer(asked, turn.passages)) as stream:
                async for said in stream:
                    if said.thinking:
                        await emit(Thinking(said.thinking))
                    await shown.add(said.text)
                    usage += said.usage
                    if said.finish:
                        last = said
        except RagstoneError:
            await shown.end()
            raise
        await shown.end()
        if wrong := ", ".join(map(str, shown.stream.dropped)):
            await emit(
                Note(self.name, f"Left out citations of sources that there are not: {wrong}.")
            )
        finish = last.finish or "stop"
        answer = Answer(
            text="".join(shown.pieces),
            finish=finish,
            model=kit.answerer.name,
            confidence=last.confidence,
            used=shown.stream.used,
            suggested=shown.stream.suggested,
        )
        turn = replace(turn, answer=answer, usage=turn.usage + usage)
        return Step(turn, finish, f"{kit.answerer.name}, {usage.completion_tokens} tokens")


class _Shown:
    """The answer on its way from the model to the client."""

    def __init__(self, passages: Sequence[Passage], emit: Emit) -> None:
        self.stream = AnswerStream(passages)
        self.pieces: list[str] = []
        self._markers = InlineMarkers(passages)
        self._emit = emit

    async def add(self, text: str) -> None:
        """Send what can be sent of the answer now that `text` has come."""
        await self._send(self._markers.feed(self.stream.feed(text)) if text else "")

    async def end(self) -> None:
        """Send what was held back."""
        await self._send(self._markers.feed(self.stream.end()) + self._markers.end())

    async def _send(self, text: str) -> None:
        if text:
            self.pieces.append(text)
            await self._emit(Token(text))

"""One reply of an answerer on its way to the client."""

from ragstone.answer.inline_markers import InlineMarkers
from ragstone.answer.stream import AnswerStream
from ragstone.answer.thoughts import ThoughtStream
from ragstone.core.answer import GeneratedAnswer, Usage
from ragstone.core.events import Note, Token
from ragstone.core.turn import Turn
from ragstone.engine.stage import Emit
from ragstone.ports import Said

STAGE = "generate"
"""The stage that a reply's notes are from."""


class Reply:
    """What the model says. With `holds`, neither text nor thoughts leave."""

    def __init__(self, turn: Turn, model: str, holds: bool, emit: Emit) -> None:
        self.usage = Usage()
        self.why = ""
        self._note = ""
        self._turn = turn
        self._thoughts = ThoughtStream(turn.passages, emit)
        self._model = model
        self._holds = holds
        self._last = Said(finish="stop")
        self._emit = emit
        self._begin()

    def _begin(self) -> None:
        self.stream = AnswerStream(self._turn.passages)
        self._markers = InlineMarkers(self._turn.passages, self._turn.instructions.no_answer)
        self._pieces: list[str] = []

    async def add(self, said: Said) -> None:
        """Send the text that is complete after `said` has arrived."""
        if said.restarts:
            self._begin()
        if said.thinking and not self._holds:
            await self._thoughts.add(said.thinking)
        if said.text:
            await self._thoughts.end()
            await self._send(self._markers.feed(self.stream.feed(said.text)))
        if said.note:
            await self._emit(Note(STAGE, said.note))
        self._model, self.why = said.model or self._model, said.reason or self.why
        self._note = said.note or self._note
        self.usage += said.usage
        if said.finish:
            self._last = said

    async def end(self) -> None:
        """Send the text that was held back."""
        await self._thoughts.end()
        await self._send(self._markers.feed(self.stream.end()) + self._markers.end())

    def answer(self) -> GeneratedAnswer:
        return GeneratedAnswer(
            text="".join(self._pieces),
            finish=self._last.finish or "stop",
            model=self._model,
            confidence=self._last.confidence,
            used=self.stream.used,
            suggested=self.stream.suggested,
            held=self._holds,
            calls=self._last.calls,
            note=self._note,
        )

    async def _send(self, text: str) -> None:
        if text:
            self._pieces.append(text)
        if text and not self._holds:
            await self._emit(Token(text))

"""What the model thinks, as the client may see it."""

from collections.abc import Sequence

from ragstone.answer.stream import AnswerStream
from ragstone.core.events import Thinking
from ragstone.core.turn import Passage
from ragstone.engine.stage import Emit


class ThoughtStream:
    """Sends thoughts, however they are cut, with the same taken out as of an answer."""

    def __init__(self, passages: Sequence[Passage], emit: Emit) -> None:
        self._passages = passages
        self._emit = emit
        self._stream: AnswerStream | None = None

    async def add(self, text: str) -> None:
        """Send what of the thoughts is complete."""
        if text:
            self._stream = self._stream or AnswerStream(self._passages, begun=True)
            await self._send(self._stream.feed(text))

    async def end(self) -> None:
        """Send the rest, before what is not a thought."""
        if self._stream:
            rest, self._stream = self._stream.end(), None
            await self._send(rest)

    async def _send(self, text: str) -> None:
        if text:
            await self._emit(Thinking(text))

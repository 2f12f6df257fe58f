"""One reply of a chat model: pydantic-ai's events become text, thoughts, and how it ended."""

import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

from pydantic_ai.messages import (
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.models import StreamedResponse
from pydantic_ai.usage import RequestUsage

from ragstone.core.answer import Finish, Usage
from ragstone.core.time_limits import TIME_LIMITS
from ragstone.core.tool import ToolCall
from ragstone.language.thoughts import ReplyPiece, Thoughts, without_thoughts
from ragstone.models.failures import FILTERED, FailingModel
from ragstone.models.prices import Prices
from ragstone.models.written_calls import WrittenCalls
from ragstone.ports import Said

UNIT = 40
"""Characters: a shorter piece that repeats is taken as often as makes so many."""

TIMES = 10
"""So often must the piece stand in a row. A table's rule or a drawn line ends before 400 signs."""

LONGEST = 1000
"""Characters of the longest piece that is recognized."""

EVERY = 50
"""New characters after which it is looked again, so that the cost of a token is small."""


class Repetition:
    """Reads a reply as it comes; `feed` says whether its end repeats."""

    def __init__(self) -> None:
        self._tail = ""
        self._new = 0

    def feed(self, piece: str) -> bool:
        """Whether the reply now ends with the same piece `TIMES` in a row."""
        self._tail += piece
        self._new += len(piece)
        if self._new < EVERY:
            return False
        self._new = 0
        self._tail = self._tail[-LONGEST * TIMES :]
        return repeats(self._tail)


def repeats(text: str) -> bool:
    """Whether `text` ends with a piece of `UNIT` to `LONGEST` characters `TIMES` in a row."""
    end = text[-UNIT:]
    found = text.rfind(end, -(LONGEST + UNIT), -1)
    if len(end) < UNIT or found < 0:
        return False
    period = len(text) - UNIT - found
    length = max(UNIT, period) * TIMES - period
    return len(text) >= length + period and text[-length:] == text[-length - period : -period]


CIRCLING = "The model began to repeat itself, so its answer was cut."
TOOL_CALL = "called a tool that nobody offered"
EMPTY = "sent an empty reply"
ONLY_THOUGHTS = "reasoned until its tokens were used up; raise {0}__MAX_TOKENS"


class ReplyReader:
    """Reads the replies of one model."""

    def __init__(self, place: FailingModel, prices: Prices) -> None:
        self._place = place
        self._prices = prices

    def usage(self, used: RequestUsage) -> Usage:
        """What a call took; its cost is unknown where the server does not count."""
        counted = bool(used.input_tokens or used.output_tokens)
        cost = self._prices.cost(used) if counted else None
        return Usage(used.input_tokens, used.output_tokens, 1, cost, counted)

    def whole(self, response: ModelResponse) -> Said:
        """A reply that came in one piece; raises Trouble."""
        usage = self.usage(response.usage)
        if any(isinstance(part, ToolCallPart) for part in response.parts):
            raise self._place.useless(TOOL_CALL, usage)
        text = without_thoughts(response.text or "")
        if not text.strip():
            raise self._empty_reply_error(response.finish_reason, usage)
        return Said(text, finish=_finish(response.finish_reason), usage=usage)

    async def read_stream(
        self,
        stream: StreamedResponse,
        events: AsyncGenerator[object, None],
        tools: frozenset[str] = frozenset(),
    ) -> AsyncGenerator[Said, None]:
        """The pieces of `events`, which are those of `stream`, and at the end the calls of `tools`,
        which are the names that were offered; raises Trouble."""
        # What has left for a reader cannot be taken back.
        thoughts = Thoughts(restarts=not TIME_LIMITS.get().streams)
        circles, spoke, circling = Repetition(), False, False
        written = WrittenCalls(tools)
        async with aclosing(events):
            async for event in events:
                if not tools and _calls_tool(event):
                    raise self._place.useless(TOOL_CALL, self.usage(_stream_usage(stream)))
                for piece in _pieces(event, thoughts):
                    spoke = (spoke or _speaks(piece)) and not piece.restarts
                    circling = circling or circles.feed(piece.text)
                    yield _to_said(piece, written)
                if circling:
                    break
        for piece in thoughts.end():
            spoke = spoke or _speaks(piece)
            yield _to_said(piece, written)
        rest, calls = written.end()
        if rest:
            yield Said(rest)
        usage = self.usage(_stream_usage(stream))
        calls += _calls(stream.get()) if tools else ()
        if any(call.name not in tools for call in calls):
            raise self._place.useless(TOOL_CALL, usage)
        if not spoke and not calls:
            raise self._empty_reply_error("length" if circling else stream.finish_reason, usage)
        note = CIRCLING if circling else ""
        finish = "length" if circling else stream.finish_reason
        yield Said(finish=_finish(finish), usage=usage, note=note, calls=calls)

    def _empty_reply_error(self, finish: str | None, usage: Usage) -> Exception:
        if finish == "length":
            what = ONLY_THOUGHTS.format(self._place.section)
            return self._place.useless(what, usage, retries=0)
        if finish == "content_filter":
            return self._place.useless(FILTERED, usage, retries=0)
        return self._place.useless(EMPTY, usage)


def _pieces(event: object, thoughts: Thoughts) -> Iterator[ReplyPiece]:
    part = event.part if isinstance(event, PartStartEvent) else None
    delta = event.delta if isinstance(event, PartDeltaEvent) else None
    if isinstance(delta, TextPartDelta):
        yield from thoughts.feed(delta.content_delta)
    elif isinstance(part, TextPart):
        yield from thoughts.feed(part.content)
    elif isinstance(part, ThinkingPart) and part.content:
        yield ReplyPiece(part.content, thought=True)
    elif isinstance(delta, ThinkingPartDelta) and delta.content_delta:
        yield ReplyPiece(delta.content_delta, thought=True)


def _calls_tool(event: object) -> bool:
    if isinstance(event, PartStartEvent):
        return isinstance(event.part, ToolCallPart)
    return isinstance(event, PartDeltaEvent) and isinstance(event.delta, ToolCallPartDelta)


def _calls(response: ModelResponse) -> tuple[ToolCall, ...]:
    parts = [part for part in response.parts if isinstance(part, ToolCallPart)]
    return tuple(ToolCall(part.tool_call_id, part.tool_name, _arguments(part)) for part in parts)


def _arguments(part: ToolCallPart) -> str:
    """As the model wrote them, which may be no JSON at all."""
    return part.args if isinstance(part.args, str) else json.dumps(part.args or {})


def _finish(reason: str | None) -> Finish:
    return "length" if reason == "length" else "stop"


def _speaks(piece: ReplyPiece) -> bool:
    return not piece.thought and not piece.text.isspace()


def _to_said(piece: ReplyPiece, written: WrittenCalls) -> Said:
    if piece.thought:
        return Said(thinking=piece.text)
    return Said(written.feed(piece.text), restarts=piece.restarts)


def _stream_usage(stream: StreamedResponse) -> RequestUsage:
    used = stream.usage
    return used() if callable(used) else used

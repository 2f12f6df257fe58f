"""One reply of a chat model: pydantic-ai's events become text, thoughts, and how it ended."""

import json
import uuid
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from decimal import Decimal
from typing import Any

from genai_prices.data_snapshot import get_snapshot
from pydantic_ai.messages import (
    ModelMessage,
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
from ragstone.core.clock import TIME_LIMITS
from ragstone.core.tool import ToolCall
from ragstone.language.thoughts import ReplyPiece, Thoughts, strip_thoughts
from ragstone.language.tokens import Count
from ragstone.models.failures import FILTERED, FailingModel
from ragstone.ports import Profile, Said

MAX_CALL_CHARS = 20_000
"""A longer reply is text, whatever it begins with."""

_STARTS = ("{", "[", "```", "<tool_call>")
_WRAPPING = ("```json", "```", "<tool_call>", "</tool_call>")


class WrittenCalls:
    """Holds back a reply that may be nothing but calls of `tools` in JSON."""

    def __init__(self, tools: frozenset[str]) -> None:
        self._tools = tools
        self._held = ""
        self._is_text = not tools

    def feed(self, text: str) -> str:
        """Return what is text for the reader, now that `text` has come."""
        if self._is_text:
            return text
        self._held += text
        begun = self._held.lstrip()
        if len(self._held) < MAX_CALL_CHARS and any(
            begun.startswith(start) or start.startswith(begun) for start in _STARTS
        ):
            return ""
        self._is_text = True
        return self._take()

    def end(self) -> tuple[str, tuple[ToolCall, ...]]:
        """Return the rest of the text, or the calls that the reply consists of."""
        calls = () if self._is_text else tuple(_parse_calls(self._held, self._tools))
        return ("" if calls else self._take()), calls

    def _take(self) -> str:
        text, self._held = self._held, ""
        return text


def _parse_calls(reply: str, tools: frozenset[str]) -> Iterator[ToolCall]:
    """Yield the calls that a reply consists of; none if anything else stands in it."""
    names = [*tools]  # What a model writes may have no hash, and so be in no set.
    for mark in _WRAPPING:
        reply = reply.replace(mark, " ")
    written, decoder, end = list[Any](), json.JSONDecoder(), 0
    try:
        while end < len(reply.rstrip()):
            start = len(reply) - len(reply[end:].lstrip())
            value, end = decoder.raw_decode(reply, start)
            # Models write one call, a list of calls, or several objects in a row.
            written += value if isinstance(value, list) else [value]
    except (ValueError, RecursionError):
        return
    if all(isinstance(item, dict) and item.get("name") in names for item in written):
        for item in written:
            arguments = item.get("arguments", item.get("parameters", {}))
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            yield ToolCall(f"call-{uuid.uuid4().hex}", item["name"], text)


MILLION = 1_000_000


class Prices:
    """The prices of one model: those of its profile, else the published ones.

    A provider is known by its address or its name. A server of one's own with a published model's
    name (a gateway) costs what the provider takes; a name with a tag (`mistral:latest`) is a local
    copy, whose price nobody knows.
    """

    def __init__(self, profile: Profile, model: str, provider: str = "", url: str = "") -> None:
        self._own = (profile.input_price, profile.output_price)
        self._lookup_keys = _lookup_keys(model, provider, url)
        get_snapshot()

    def cost(self, used: RequestUsage) -> float | None:
        """US dollars, None where the price is unknown."""
        into, out = self._own
        if into is not None and out is not None:
            return (used.input_tokens * into + used.output_tokens * out) / MILLION
        price = self._find_price(used)
        return None if price is None else float(price)

    def _find_price(self, used: RequestUsage) -> Decimal | None:
        snapshot = get_snapshot()
        for model, provider, url in self._lookup_keys:
            try:
                return snapshot.calc(used, model, provider, url, None).total_price
            except (LookupError, ValueError):
                continue
        return None


def _lookup_keys(model: str, provider: str, url: str) -> list[tuple[str, str | None, str | None]]:
    """Return the model with its provider or address, as its price is looked up, most specific
    first."""
    if not url:
        return [(model, provider, None)]
    short = model.rpartition("/")[2]
    by_name: list[tuple[str, str | None, str | None]] = (
        [] if ":" in short else [(short, None, None)]
    )
    return [(model, None, url), *by_name]


MIN_REPEATED = 40
"""Characters: a shorter piece that repeats is taken as often as makes so many."""

MIN_REPEATS = 10
"""So often must the piece stand in a row. A table's rule or a drawn line ends before 400 signs."""

MAX_REPEATED = 1000
"""Characters of the longest piece that is recognized."""

CHECKED_EVERY = 50
"""New characters after which it is looked again, so that the cost of a token is small."""


class Repetition:
    """Reads a reply as it comes; `feed` says whether its end repeats."""

    def __init__(self) -> None:
        self._tail = ""
        self._new = 0

    def feed(self, piece: str) -> bool:
        """Tell whether the reply now ends with the same piece `TIMES` in a row."""
        self._tail += piece
        self._new += len(piece)
        if self._new < CHECKED_EVERY:
            return False
        self._new = 0
        # No more is compared, so the memory of a long reply stays small.
        self._tail = self._tail[-MAX_REPEATED * MIN_REPEATS :]
        return repeats(self._tail)


def repeats(text: str) -> bool:
    """Tell whether `text` ends with a piece of `UNIT` to `LONGEST` characters `TIMES` in a row."""
    end = text[-MIN_REPEATED:]
    found = text.rfind(end, -(MAX_REPEATED + MIN_REPEATED), -1)
    if len(end) < MIN_REPEATED or found < 0:
        return False
    period = len(text) - MIN_REPEATED - found
    length = max(MIN_REPEATED, period) * MIN_REPEATS - period
    return len(text) >= length + period and text[-length:] == text[-length - period : -period]


CIRCLING = "The model began to repeat itself, so its answer was cut."
TOOL_CALL = "called a tool that nobody offered"
EMPTY = "sent an empty reply"
ONLY_THOUGHTS = "reasoned until its tokens were used up; raise {0}__MAX_TOKENS"


class ReplyReader:
    """Reads the replies of one model."""

    def __init__(self, place: FailingModel, prices: Prices, count: Count) -> None:
        self._place = place
        self._prices = prices
        self._count = count

    def usage(self, used: RequestUsage) -> Usage:
        """Return what a call took; its cost is unknown where the server does not count."""
        # Many servers leave usage out of streams; 0 tokens are no fact then.
        counted = bool(used.input_tokens or used.output_tokens)
        cost = self._prices.cost(used) if counted else None
        return Usage(used.input_tokens, used.output_tokens, 1, cost, counted)

    def broken_usage(self, messages: Sequence[ModelMessage], said: str) -> Usage:
        """About what a reply took that broke off after `said`: servers count at the end alone."""
        prompt = sum(map(self._count, _texts(messages)))
        return self.usage(RequestUsage(input_tokens=prompt, output_tokens=self._count(said)))

    def read_response(self, response: ModelResponse) -> Said:
        """Return a reply that came in one piece; raises Trouble."""
        usage = self.usage(response.usage)
        if any(isinstance(part, ToolCallPart) for part in response.parts):
            raise self._place.useless_reply_trouble(TOOL_CALL, usage)
        text = strip_thoughts(response.text or "")
        if not text.strip():
            raise self._empty_reply_error(response.finish_reason, usage)
        return Said(text, finish=_finish(response.finish_reason), usage=usage)

    async def read_stream(
        self,
        stream: StreamedResponse,
        events: AsyncGenerator[object, None],
        tools: frozenset[str] = frozenset(),
    ) -> AsyncGenerator[Said, None]:
        """Yield the pieces of `events`, which are those of `stream`, and at the end the calls of
        `tools`, which are the names that were offered; raises Trouble."""
        # What has left for a reader cannot be taken back.
        thoughts = Thoughts(restarts=not TIME_LIMITS.get().streams)
        circles, spoke, circling = Repetition(), False, False
        written = WrittenCalls(tools)
        async with aclosing(events):
            async for event in events:
                if not tools and _calls_tool(event):
                    raise self._place.useless_reply_trouble(
                        TOOL_CALL, self.usage(_stream_usage(stream))
                    )
                for piece in _pieces(event, thoughts):
                    spoke = (spoke or _speaks(piece)) and not piece.restarts
                    circling = circling or circles.feed(piece.text)
                    yield _convert_piece(piece, written)
                # Closing the stream stops the server, which would go on to its limit of tokens.
                if circling:
                    break
        for piece in thoughts.end():
            spoke = spoke or _speaks(piece)
            yield _convert_piece(piece, written)
        rest, calls = written.end()
        if rest:
            yield Said(rest)
        usage = self.usage(_stream_usage(stream))
        calls += _calls(stream.get()) if tools else ()
        if any(call.name not in tools for call in calls):
            raise self._place.useless_reply_trouble(TOOL_CALL, usage)
        if not spoke and not calls:
            raise self._empty_reply_error("length" if circling else stream.finish_reason, usage)
        note = CIRCLING if circling else ""
        finish = "length" if circling else stream.finish_reason
        yield Said(finish=_finish(finish), usage=usage, note=note, calls=calls)

    def _empty_reply_error(self, finish: str | None, usage: Usage) -> Exception:
        if finish == "length":
            what = ONLY_THOUGHTS.format(self._place.section)
            return self._place.useless_reply_trouble(what, usage, retries=0)
        if finish == "content_filter":
            return self._place.useless_reply_trouble(FILTERED, usage, retries=0)
        return self._place.useless_reply_trouble(EMPTY, usage)


def _texts(messages: Sequence[ModelMessage]) -> Iterator[str]:
    """Yield what the model is told; pictures are left out."""
    for part in (part for message in messages for part in message.parts):
        content = getattr(part, "content", "")
        several = [content] if isinstance(content, str) else content
        yield from (item for item in several if isinstance(item, str))


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
    # Arguments stay as the model wrote them, which may be no JSON at all.
    return tuple(
        ToolCall(
            part.tool_call_id,
            part.tool_name,
            part.args if isinstance(part.args, str) else json.dumps(part.args or {}),
        )
        for part in response.parts
        if isinstance(part, ToolCallPart)
    )


def _finish(reason: str | None) -> Finish:
    return "length" if reason == "length" else "stop"


def _speaks(piece: ReplyPiece) -> bool:
    return not piece.thought and not piece.text.isspace()


def _convert_piece(piece: ReplyPiece, written: WrittenCalls) -> Said:
    if piece.thought:
        return Said(thinking=piece.text)
    return Said(written.feed(piece.text), restarts=piece.restarts)


def _stream_usage(stream: StreamedResponse) -> RequestUsage:
    used = stream.usage
    return used() if callable(used) else used

"""Shared by the streaming dialects: events on their way to a client, and their end.

The beginning of a stream: what fails at once is answered by its status, not by an event.
"""

import asyncio
from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Protocol

from ragstone.core.answer import GeneratedAnswer, Usage
from ragstone.core.errors import RagstoneError, UnknownCollection
from ragstone.core.events import Done, Event, Failed, Sources, StageEnded, Thinking, Token
from ragstone.core.turn import Ask, Turn
from ragstone.http import sse
from ragstone.http.responses import last


class Transcript(Protocol):
    """Turns the events of one answer into the objects that a dialect sends."""

    def encode(self, event: Event) -> list[dict[str, Any]]:
        """Return what this event means to the client, in order; often nothing."""
        ...

    def encode_failure(self, error: RagstoneError, used: Usage) -> dict[str, Any]:
        """Tell how a stream that has begun says that it cannot go on, and what it has `used`."""
        return {"type": "error", "content": error.message, "code": error.code, "retry": error.retry}


async def stream_answer(
    events: AsyncGenerator[Event, None],
    transcript: Transcript,
    end: bytes = b"",
    end_of_failed: bytes = b"",
    named: bool = False,
) -> sse.Events:
    """Yield the answer as server-sent events, then `end`. With `named` each event has the name that
    is its object's `type`."""
    used = Usage()
    try:
        async with aclosing(events) as source:
            async for event in source:
                if isinstance(event, Failed):
                    used = event.turn.usage
                    raise event.error
                for item in transcript.encode(event):
                    yield sse.encode(item, item["type"] if named else None)
    except RagstoneError as error:
        item = transcript.encode_failure(error, used)
        yield sse.Failure(sse.encode(item, item["type"] if named else None), error)
        end = end_of_failed
    if end:
        yield end


def token(text: str) -> list[dict[str, Any]]:
    """Return the next piece of the answer, if it is not empty, as most dialects send it."""
    return [{"type": "token", "content": text}] if text else []


async def finish_turn(events: AsyncGenerator[Event, None]) -> Turn:
    """The turn at the end of a stream of events; raises the error of a failed one."""
    end = await last(events)
    if isinstance(end, Failed):
        raise end.error
    if not isinstance(end, Done):
        raise RagstoneError(
            "The answer ended before it was complete; the log may say why. Ask again."
        )
    return end.turn


async def or_refusal(
    ask: Ask, events: AsyncGenerator[Event, None], no_answer: str
) -> AsyncGenerator[Event, None]:
    """Yield the same, but documents that were never given are none that hold the answer: a
    collection that does not exist yet ends in a refusal."""
    turn = Turn(ask)
    try:
        async with aclosing(events) as source:
            async for event in source:
                if isinstance(event, Failed) and isinstance(event.error, UnknownCollection):
                    turn = event.turn
                    break
                yield event
            else:
                return
    except UnknownCollection:
        pass
    yield Sources(())
    yield Token(no_answer)
    answer = GeneratedAnswer(no_answer, finish="refused", confidence=0.0)
    yield Done(replace(turn, answer=answer))


SECONDS = 0.5
"""For how long the first events wait at most; a question that cannot be answered fails sooner."""

STAGE_SECONDS = 10.0

_BEGINS = (Sources, Token, Thinking, Done, Failed)


async def hold_opening(
    events: AsyncGenerator[Event, None],
    seconds: float = SECONDS,
    in_stream: Collection[str] = (),
    through: str = "",
) -> AsyncGenerator[Event, None]:
    """Yield the same events, the first ones held until an answer begins, `seconds` have passed or
    all is over. What the question fails with by then is raised instead of being an event, but for
    errors of the codes `in_stream`. `seconds` begin once the stage `through` has ended, which is
    awaited for STAGE_SECONDS: that a database is away is known only after a while."""
    async with aclosing(events) as source:
        held, pending = await _first_events(source, seconds, through)
        last = held[-1] if held else None
        if isinstance(last, Failed) and last.error.code not in in_stream:
            raise last.error
        try:
            for event in held:
                yield event
            if pending and (late := await asyncio.shield(pending)) is not None:
                yield late
        finally:
            if pending:
                await _cancel_pending(pending)
        async for event in source:
            yield event


_Pending = asyncio.Task[Event | None]


async def _first_events(
    source: AsyncGenerator[Event, None], seconds: float, through: str
) -> tuple[list[Event], _Pending | None]:
    """Return the first events, and the pending next one."""
    held, loop = list[Event](), asyncio.get_running_loop()
    end = loop.time() + (STAGE_SECONDS if through else seconds)
    pending: _Pending = asyncio.ensure_future(_next_event(source))
    try:
        while (await asyncio.wait({pending}, timeout=max(0.0, end - loop.time())))[0]:
            event = pending.result()
            if event is None:
                return held, None
            held.append(event)
            if isinstance(event, _BEGINS):
                return held, None
            if isinstance(event, StageEnded) and event.traced.stage == through:
                end = loop.time() + seconds
            pending = asyncio.ensure_future(_next_event(source))
    except BaseException:
        await _cancel_pending(pending)
        raise
    return held, pending


async def _next_event(source: AsyncGenerator[Event, None]) -> Event | None:
    return await anext(source, None)


async def _cancel_pending(pending: _Pending) -> None:
    """Cancel the pending event, so that the stream can be closed."""
    pending.cancel()
    await asyncio.wait({pending})

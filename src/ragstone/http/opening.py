"""The beginning of a stream: what fails at once is answered by its status, not by an event."""

import asyncio
from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing

from ragstone.core.events import Done, Event, Failed, Sources, StageEnded, Thinking, Token

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

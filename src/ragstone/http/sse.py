"""Server-sent events: their bytes, and a response that ends its source when the client leaves."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

DONE = b"data: [DONE]\n\n"
"""The end of a stream in OpenAI's dialect."""

_HEADERS = {"cache-control": "no-cache", "x-accel-buffering": "no"}


def encode(data: Any, name: str | None = None) -> bytes:
    """One event with JSON data.

    The JSON is pure ASCII: clients that split lines as Unicode does would break at U+2028.
    """
    event = f"event: {name}\n" if name else ""
    return f"{event}data: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


class EventStream(Response):
    """Sends what an async generator yields, as fast as the client reads.

    The status goes out with the first event: an error raised before that becomes an ordinary
    error response. When the client leaves, the generator is cancelled and closed.
    """

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes, None]) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Not Starlette's StreamingResponse: it cancels by an anyio scope, which would cancel
        # every await of the generator's clean-up too, and it leaves closing to the collector.
        pump = asyncio.create_task(self._pump(send))
        if await finished_before_leaving(pump, receive):
            pump.result()

    async def _pump(self, send: Send) -> None:
        async with aclosing(self._events) as events:
            first = await anext(events, b"")
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": first, "more_body": True})
            async for event in events:
                await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def finished_before_leaving(task: asyncio.Task[Any], receive: Receive) -> bool:
    """Wait for `task`; False if the client left first, which cancels it.

    Either way, and also when this is cancelled itself, the task has ended on return.
    """
    gone = asyncio.create_task(_disconnect(receive))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        return task.done()
    finally:
        task.cancel()
        gone.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

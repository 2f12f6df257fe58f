"""Server-sent events: their bytes, and a response that ends its source when the client leaves.

Proxies and clients end a connection on which nothing comes for some seconds, and a model may think
for a minute. So every stream says something all the while: comments, which all clients skip.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ragstone.core.clock import TIME_LIMITS
from ragstone.core.errors import RagstoneError

DONE = b"data: [DONE]\n\n"
"""The end of a stream in OpenAI's dialect."""

BEGIN_SECONDS = 0.5
"""How long the first event is waited for before the stream begins without it: a question that
cannot be answered fails sooner, and then has a status of its own."""

COMMENT_SECONDS = 3.0
"""Of silence, after which a comment comes. Few proxies are set to wait for less than 5 s."""

COMMENT = b":\n\n"

_HEADERS = {"cache-control": "no-cache", "x-accel-buffering": "no"}


def encode(data: Any, name: str | None = None) -> bytes:
    """Return one event with JSON data.

    The JSON is pure ASCII: clients that split lines as Unicode does would break at U+2028.
    """
    event = f"event: {name}\n" if name else ""
    return f"{event}data: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


@dataclass(frozen=True, slots=True)
class Failure:
    """What a stream ends with when `error` ends it: as the first of it, the error becomes an
    ordinary error response, if the stream has not begun without it."""

    event: bytes
    error: RagstoneError


Events = AsyncGenerator[bytes | Failure, None]


class EventStream(Response):
    """Sends what an async generator yields, as fast as the client reads, and comments meanwhile.

    The status goes out with the first event, or after `BEGIN_SECONDS` without one. When the client
    leaves, the generator is cancelled and closed.
    """

    media_type = "text/event-stream"

    def __init__(self, events: Events) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Not Starlette's StreamingResponse: it cancels by an anyio scope, which would cancel
        # every await of the generator's clean-up too, and it leaves closing to the collector.
        pump = asyncio.create_task(self._pump(_Writer(send, self.raw_headers)))
        if await wait_unless_left(pump, receive):
            pump.result()

    async def _pump(self, writer: "_Writer") -> None:
        TIME_LIMITS.set(TIME_LIMITS.get().for_stream())
        comments = asyncio.create_task(writer.write_comments())
        try:
            async with aclosing(self._events) as events:
                async for event in events:
                    if isinstance(event, Failure):
                        if not writer.begun:
                            raise event.error
                        event = event.event
                    await writer.write(event)
        finally:
            comments.cancel()
            await asyncio.gather(comments, return_exceptions=True)
        await writer.write(b"", more=False)


class _Writer:
    """Writes the response, its head first."""

    def __init__(self, send: Send, headers: list[tuple[bytes, bytes]]) -> None:
        self.begun = False
        self._send = send
        self._headers = headers
        self._last = time.monotonic()
        self._writing = asyncio.Lock()

    async def write(self, body: bytes, more: bool = True) -> None:
        async with self._writing:
            if not self.begun:
                self.begun = True
                head = {"type": "http.response.start", "status": 200, "headers": self._headers}
                await self._send(head)
            await self._send({"type": "http.response.body", "body": body, "more_body": more})
            self._last = time.monotonic()

    async def write_comments(self) -> None:
        """Write a comment whenever nothing else was written for a while."""
        while True:
            seconds = COMMENT_SECONDS if self.begun else BEGIN_SECONDS
            left = self._last + seconds - time.monotonic()
            await (asyncio.sleep(left) if left > 0 else self.write(COMMENT))


async def wait_unless_left(task: asyncio.Task[Any], receive: Receive) -> bool:
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

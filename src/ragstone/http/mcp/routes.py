"""`/mcp`: the tools over streamable HTTP. The library is imported when the first client comes."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from ragstone.core.errors import Unavailable
from ragstone.http.dialects import DialectParts
from ragstone.http.identity import Who, for_guests
from ragstone.service import Service

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

log = logging.getLogger(__name__)


def router(parts: DialectParts) -> APIRouter:
    """The route, if the extra `mcp` is installed. Every request stands by itself: nothing is kept
    between them."""
    if find_spec("mcp") is None:
        return APIRouter()
    sessions = _Sessions(parts.service)

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await sessions.aclose()

    routes = APIRouter(tags=["MCP"], lifespan=lifespan)

    @routes.post("/mcp", response_model=None, include_in_schema=False)
    @for_guests
    async def mcp(request: Request, caller: Who) -> Response:
        """The tools search, ask, list_collections and read_document, for MCP clients."""
        manager = await sessions.manager()
        request.state.caller = caller
        request.state.left = left = asyncio.Event()
        return _Handed(manager, await request.body(), left)

    return routes


class _Sessions:
    """The library's manager of requests: made for the first one, and kept running by a task."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._manager: StreamableHTTPSessionManager | None = None
        self._running: asyncio.Task[None] | None = None
        self._entered = asyncio.Event()
        self._closing = asyncio.Event()

    async def manager(self) -> "StreamableHTTPSessionManager":
        """Raises Unavailable when the server stops."""
        if self._running is None and not self._closing.is_set():
            self._running = asyncio.create_task(self._run())
        await self._entered.wait()
        if self._manager is None:
            raise Unavailable("The tools are not there. Try again.")
        return self._manager

    async def aclose(self) -> None:
        self._closing.set()
        self._entered.set()
        if self._running:
            await self._running

    async def _run(self) -> None:
        """Enter and leave in one task, as the library's groups of tasks ask for."""
        try:
            manager = await asyncio.to_thread(_session_manager, self._service)
            async with manager.run():
                self._manager = manager
                self._entered.set()
                await self._closing.wait()
        except Exception:
            log.exception("The tools of MCP cannot be served.")
        finally:
            self._manager = None
            self._entered.set()


def _session_manager(service: Service) -> "StreamableHTTPSessionManager":
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from ragstone.http.mcp.tools import mcp_server

    server = mcp_server(service)._lowlevel_server
    return StreamableHTTPSessionManager(server, json_response=True, stateless=True)


class _Handed(Response):
    """Lets the library answer. When the client leaves, `left` tells the tool, which the library
    would let work on."""

    def __init__(
        self, manager: "StreamableHTTPSessionManager", body: bytes, left: asyncio.Event
    ) -> None:
        super().__init__()
        self._left = left
        self._manager = manager
        self._body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given: list[Message] = [{"type": "http.request", "body": self._body, "more_body": False}]

        async def replay() -> Message:
            if given:
                return given.pop()
            await asyncio.Event().wait()
            raise AssertionError("nobody sets the event")

        watch = asyncio.create_task(self._watch(receive))
        try:
            # Not cancelled: the library waits for its tools when it ends, and they hear of it.
            await self._manager.handle_request(scope, replay, send)
        finally:
            self._left.set()
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._left.set()

"""`/mcp`: the tools over streamable HTTP. The library is imported when the server starts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from ragstone.dialects.identity import Who
from ragstone.errors import Unavailable
from ragstone.service import Service

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


def installed() -> bool:
    """Whether the extra `mcp` is."""
    return find_spec("mcp") is not None


def router(service: Service) -> APIRouter:
    """The route. Every request stands by itself: nothing is kept between them."""
    running: list[StreamableHTTPSessionManager] = []

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from ragstone.dialects.mcp_tools import mcp_server

        server = mcp_server(service)._lowlevel_server
        manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
        async with manager.run():
            running.append(manager)
            yield
            running.clear()

    routes = APIRouter(tags=["MCP"], lifespan=lifespan)

    @routes.post("/mcp", response_model=None, include_in_schema=False)
    async def mcp(request: Request, caller: Who) -> Response:
        """The tools search, ask, list_collections and read_document, for MCP clients."""
        if not running:
            raise Unavailable("The tools are not there yet. Try again.")
        request.state.caller = caller
        request.state.left = left = asyncio.Event()
        return _Handed(running[0], await request.body(), left)

    return routes


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

        async def replayed() -> Message:
            if given:
                return given.pop()
            await asyncio.Event().wait()
            raise AssertionError("nobody sets the event")

        watch = asyncio.create_task(self._watch(receive))
        try:
            # Not cancelled: the library waits for its tools when it ends, and they hear of it.
            await self._manager.handle_request(scope, replayed, send)
        finally:
            self._left.set()
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._left.set()

"""The tools of a server that speaks the Model Context Protocol, over HTTP or as a program of its
own (the extra `mcp`)."""

import asyncio
import logging
import shlex
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from ragstone import __version__
from ragstone.agent.tools.listing import Listed, listed
from ragstone.agent.tools.results import returned
from ragstone.core.errors import ConfigError, ToolsUnavailable
from ragstone.core.tool import Tool
from ragstone.ports import Returned, ToolSession
from ragstone.settings import McpSettings

log = logging.getLogger(__name__)

ORGANISATION_HEADER = "x-mcp-org"
PLACEHOLDER = "{org}"

REST_SECONDS = 15.0
"""For how long a gateway that could not be reached is not tried again."""

CLOSING_SECONDS = 2.0

PAGES = 20
"""Pages of a list of tools that are read at most."""

MOST_BYTES = 32_000_000
"""The longest response of a gateway that is read; behind that the connection is closed."""

ORGANISATION_VARIABLE = "MCP_ORG"
"""In which variable a program is told the organisation."""


class McpGateway:
    """`ports.Toolbox` on one gateway or program; raises ConfigError for an address or a command
    that is none.

    The list of an organisation's tools is kept for a while, and a gateway that could not be
    reached rests, so that not every question waits for it.
    """

    def __init__(self, settings: McpSettings) -> None:
        self._settings = settings
        self._command = _words(settings.command)
        self._address = "" if self._command else _address(settings.gateway)
        self._lists: dict[str, tuple[float, Listed]] = {}
        self._rests: dict[str, float] = {}

    @asynccontextmanager
    async def session(self, organisation: str) -> AsyncIterator[ToolSession]:
        """`ports.Toolbox`."""
        rests = self._rests.get(organisation, 0.0) - time.monotonic()
        if rests > 0:
            raise ToolsUnavailable(f"The tool gateway rests for {rests:.0f} s.", rests)
        stack = AsyncExitStack()
        try:
            client, found = await self._connect(stack, organisation)
            # A tool that is gone, or is another one now, is listed anew for the next question.
            forget = partial(self._lists.pop, organisation, None)
            yield _Session(client, found, self._settings, forget)
        finally:
            await _close(stack)

    async def _connect(self, stack: AsyncExitStack, organisation: str) -> tuple[Client, Listed]:
        try:
            async with asyncio.timeout(self._settings.connect_timeout):
                client = await stack.enter_async_context(self._client(organisation))
                return client, await self._list_tools(client, organisation)
        except Exception as error:
            _forget_old(self._rests)
            self._rests[organisation] = time.monotonic() + REST_SECONDS
            raise _unavailable("could not be reached", error) from error

    @asynccontextmanager
    async def _client(self, organisation: str) -> AsyncIterator[Client]:
        if self._command:
            program, *arguments = (one.replace(PLACEHOLDER, organisation) for one in self._command)
            told = {ORGANISATION_VARIABLE: organisation}
            server = StdioServerParameters(command=program, args=arguments, env=told)
            async with Client(server) as client:
                yield client
            return
        headers = {"user-agent": f"ragstone/{__version__}"}
        if organisation:
            headers[ORGANISATION_HEADER] = quote(organisation)
        if key := self._settings.api_key.get_secret_value():
            headers["authorization"] = f"Bearer {key}"
        url = self._address.replace(PLACEHOLDER, quote(organisation, safe=""))
        # Connecting and calling have limits of their own; neither may end at the other's.
        limit = max(self._settings.timeout, self._settings.connect_timeout)
        async with (
            httpx2.AsyncClient(
                headers=headers, timeout=limit, event_hooks={"response": [_bound]}
            ) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            yield client

    async def _list_tools(self, client: Client, organisation: str) -> Listed:
        """The tools, as they were listed a short time ago or as they are now."""
        now = time.monotonic()
        until, known = self._lists.get(organisation, (0.0, Listed()))
        if now < until:
            return known
        found, cursor = list[Any](), None
        for _ in range(PAGES):
            page = await client.list_tools(cursor=cursor)
            found += page.tools
            cursor = page.next_cursor
            if not cursor or len(found) >= self._settings.max_tools:
                break
        tools = listed(found[: self._settings.max_tools], self._settings.read_only_tools)
        self._lists = {org: kept for org, kept in self._lists.items() if kept[0] > now}
        self._lists[organisation] = (now + self._settings.cache_seconds, tools)
        return tools


class _Session:
    """`ports.ToolSession` on a connected client."""

    def __init__(
        self,
        client: Client,
        found: Listed,
        settings: McpSettings,
        forget: Callable[[], object],
    ) -> None:
        self._client = client
        self._found = found
        self._settings = settings
        self._forget = forget

    @property
    def tools(self) -> Sequence[Tool]:
        return self._found.tools

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Returned:
        theirs = self._found.names[name]
        try:
            async with asyncio.timeout(self._settings.timeout):
                result = await self._client.call_tool(theirs, dict(arguments))
            # Millions of values take a while to be looked through.
            found = await asyncio.to_thread(returned, result, self._settings.max_result_chars)
        except Exception as error:
            self._forget()
            raise _unavailable(f"did not answer the call of {name}", error) from error
        if found.failed:
            self._forget()
        return found


class _BoundedStream(httpx2.AsyncByteStream):
    """The bytes of a response, up to a limit."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MOST_BYTES
        async for some in self._inner:
            left -= len(some)
            if left < 0:
                raise httpx2.ReadError("the response is too long")
            yield some

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _bound(response: httpx2.Response) -> None:
    """Read no more of a response than its limit."""
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _BoundedStream(response.stream)


def _words(command: str) -> list[str]:
    """A command as its program and arguments; raises ConfigError for one whose quotes are open."""
    try:
        return shlex.split(command)
    except ValueError as error:
        raise ConfigError(f"MCP__COMMAND is {command!r}, which is no command: {error}.") from error


def _address(gateway: str) -> str:
    """The endpoint: /mcp where the address has no path, as the address of chat-core has none."""
    parts = urlsplit(gateway)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f"MCP__GATEWAY is {gateway!r}, which is no address. Write it like http://host:8502/mcp."
        )
    return gateway if parts.path.strip("/") else f"{gateway.rstrip('/')}/mcp"


async def _close(stack: AsyncExitStack) -> None:
    """Close the connection; a failure to close it does not affect the answer.

    An error of the answer is raised outside the connection, whose task groups would wrap it.
    """
    try:
        async with asyncio.timeout(CLOSING_SECONDS):
            await stack.aclose()
    except Exception as error:
        log.info("The connection to the tool gateway did not close (%s)", _innermost(error))


def _unavailable(what: str, error: Exception) -> ToolsUnavailable:
    return ToolsUnavailable(
        f"The tool gateway {what} ({_innermost(error)}). Check MCP__GATEWAY or MCP__COMMAND."
    )


def _innermost(error: BaseException) -> str:
    """The type of what happened: task groups wrap it."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return type(error).__name__


def _forget_old(times: dict[str, float]) -> None:
    """Drop expired times, so that the memory does not grow with every organisation."""
    now = time.monotonic()
    for name in [name for name, until in times.items() if until <= now]:
        del times[name]

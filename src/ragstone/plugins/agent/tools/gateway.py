"""The tools of a server that speaks the Model Context Protocol, over HTTP or as a program of its
own (the extra `mcp`)."""

import asyncio
import json
import logging
import re
import shlex
import time
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn, TypeVar
from urllib.parse import quote, urlsplit

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, EmbeddedResource, TextContent, TextResourceContents

from ragstone import __version__
from ragstone.core.errors import ConfigError, ToolsUnavailable
from ragstone.core.tool import Tool
from ragstone.language.unicode import replace_surrogates, replace_value_surrogates
from ragstone.plugins.agent.settings import McpSettings
from ragstone.ports import Returned, ToolSession
from ragstone.ports.answering import CALL_SECONDS, RESULT_CHARS

log = logging.getLogger(__name__)

T = TypeVar("T")

ORGANISATION_HEADER = "x-mcp-org"
PLACEHOLDER = "{org}"

REST_SECONDS = 15.0
"""For how long a gateway that could not be reached is not tried again."""

CONNECT_SECONDS = 5.0
"""How long connecting and listing tools may take."""

LIST_SECONDS = 60.0
"""For how long a list of tools is not asked for again."""

MAX_TOOLS = 64
"""Tools of a gateway that are offered at most: a model is told all of them in each round."""

CLOSING_SECONDS = 2.0

PAGES = 20
"""Pages of a list of tools that are read at most."""

MAX_BYTES = 32_000_000
"""The longest response of a gateway that is read; behind that the connection is closed."""

ORGANISATION_VARIABLE = "MCP_ORG"
"""In which variable a program is told the organisation."""

WRAPPED = ("result", "results", "documents", "data")
"""Under which name servers put what must be in an object, a list or a text."""

MAX_JSON = 2_000_000
"""Longest text that is read as JSON."""

NAME_CHARS = 64
"""Longest name of a tool that OpenAI's API takes."""

DESCRIPTION_CHARS = 1000
SCHEMA_CHARS = 10_000
"""A tool whose arguments take more to describe is not offered."""

_ODD = re.compile(r"[^a-zA-Z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Listed:
    """The tools by the names that they are offered under, and what those mean at the gateway."""

    tools: tuple[Tool, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


class McpGateway:
    """`ports.Toolbox` on one gateway or program; raises ConfigError for an address or a command
    that is none.

    The list of an organisation's tools is kept for a while, and a gateway that could not be
    reached rests, so that not every question waits for it.
    """

    def __init__(self, settings: McpSettings) -> None:
        self._settings = settings
        given = settings.gateway
        self._address = _address(given) if "://" in given.split(maxsplit=1)[0] else ""
        self._command = [] if self._address else _words(given)
        self._lists: dict[str, tuple[float, Listed]] = {}
        self._rests: dict[str, float] = {}

    @asynccontextmanager
    async def session(self, organisation: str) -> AsyncIterator[ToolSession]:
        """`ports.Toolbox`."""
        rests = self._rests.get(organisation, 0.0) - time.monotonic()
        if rests > 0:
            raise ToolsUnavailable(f"The tool gateway rests for {rests:.0f} s.", rests)
        connection = _Connection(partial(self._client, organisation))
        try:
            client, found = await self._connect(connection, organisation)
            # A tool that is gone, or is another one now, is listed anew for the next question.
            forget = partial(self._lists.pop, organisation, None)
            yield _Session(connection, client, found, self._settings, forget)
        finally:
            await connection.close()

    async def _connect(self, connection: "_Connection", organisation: str) -> tuple[Client, Listed]:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                client = await connection.open()
                return client, await connection.outcome(self._list_tools(client, organisation))
        except Exception as error:
            connection.abandon()
            _forget_old(self._rests)
            self._rests[organisation] = time.monotonic() + REST_SECONDS
            raise _unavailable("could not be reached", error) from error

    @asynccontextmanager
    async def _client(self, organisation: str) -> AsyncIterator[Client]:
        if self._command:
            program, *arguments = (
                item.replace(PLACEHOLDER, organisation) for item in self._command
            )
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
        limit = max(CALL_SECONDS, CONNECT_SECONDS)
        async with (
            httpx2.AsyncClient(
                headers=headers, timeout=limit, event_hooks={"response": [_limit_response]}
            ) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            yield client

    async def _list_tools(self, client: Client, organisation: str) -> Listed:
        """Return the tools, as they were listed a short time ago or as they are now."""
        now = time.monotonic()
        until, known = self._lists.get(organisation, (0.0, Listed()))
        if now < until:
            return known
        found, cursor = list[Any](), None
        for _ in range(PAGES):
            page = await client.list_tools(cursor=cursor)
            found += page.tools
            cursor = page.next_cursor
            if not cursor or len(found) >= MAX_TOOLS:
                break
        tools = collect_tools(found[:MAX_TOOLS], self._settings.read_only_tools)
        self._lists = {org: kept for org, kept in self._lists.items() if kept[0] > now}
        self._lists[organisation] = (now + LIST_SECONDS, tools)
        return tools


class _Connection:
    """A connected client, in a task of its own.

    A transport that breaks cancels the task that opened it. That is this one, and not the
    question's, which goes on.
    """

    def __init__(self, client: Callable[[], AbstractAsyncContextManager[Client]]) -> None:
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        self._task = asyncio.create_task(self._keep(client))

    async def open(self) -> Client:
        """Return the client; raises what connecting fails with."""
        either: set[asyncio.Future[Any]] = {self._task, self._ready}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        return self._ready.result() if self._ready.done() else self._raise_broken()

    async def outcome(self, work: Coroutine[Any, Any, T]) -> T:
        """What comes of some work on the client; raises ConnectionError where that breaks."""
        task = asyncio.create_task(work)
        try:
            either: set[asyncio.Future[Any]] = {task, self._task}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() and not task.cancelled() else self._raise_broken()
        finally:
            task.cancel()
            # Nobody is left whom an error of it concerns.
            task.add_done_callback(lambda item: item.cancelled() or item.exception())

    def abandon(self) -> None:
        """Close it without waiting for what goes on."""
        self._task.cancel()

    async def close(self) -> None:
        """Close it; a failure to do so does not affect the answer."""
        self._closing.set()
        await asyncio.wait([self._task], timeout=CLOSING_SECONDS)
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task], timeout=CLOSING_SECONDS)
        error = self._failure()
        if error:
            log.info("The connection to the tool gateway did not close (%s)", _innermost(error))

    async def _keep(self, client: Callable[[], AbstractAsyncContextManager[Client]]) -> None:
        async with client() as connected:
            self._ready.set_result(connected)
            await self._closing.wait()

    def _failure(self) -> BaseException | None:
        if not self._task.done() or self._task.cancelled():
            return None
        return self._task.exception()

    def _raise_broken(self) -> NoReturn:
        error = self._failure()
        raise ConnectionError("The connection broke.") from error


class _Session:
    """`ports.ToolSession` on a connected client."""

    def __init__(
        self,
        connection: _Connection,
        client: Client,
        found: Listed,
        settings: McpSettings,
        forget: Callable[[], object],
    ) -> None:
        self._connection = connection
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
            async with asyncio.timeout(CALL_SECONDS):
                calling = self._client.call_tool(theirs, dict(arguments))
                result = await self._connection.outcome(calling)
            # Millions of values take a while to be looked through.
            found = await asyncio.to_thread(read_result, result, RESULT_CHARS)
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
        left = MAX_BYTES
        async for some in self._inner:
            left -= len(some)
            if left < 0:
                raise httpx2.ReadError("the response is too long")
            yield some

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _limit_response(response: httpx2.Response) -> None:
    """Read no more of a response than its limit."""
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _BoundedStream(response.stream)


def _words(command: str) -> list[str]:
    """A command as its program and arguments; raises ConfigError for one whose quotes are open."""
    try:
        return shlex.split(command)
    except ValueError as error:
        raise ConfigError(
            f"MCP__GATEWAY is {command!r}, which is not a command: {error}."
        ) from error


def _address(gateway: str) -> str:
    """The endpoint: /mcp where the address has no path, as the address of chat-core has none."""
    parts = urlsplit(gateway)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f"MCP__GATEWAY is {gateway!r}, which is not an address. Write it like http://host:8502/mcp."
        )
    return gateway if parts.path.strip("/") else f"{gateway.rstrip('/')}/mcp"


def _unavailable(what: str, error: Exception) -> ToolsUnavailable:
    return ToolsUnavailable(f"The tool gateway {what} ({_innermost(error)}). Check MCP__GATEWAY.")


def _innermost(error: BaseException) -> str:
    """Return the type of what happened: task groups and broken connections wrap it."""
    while True:
        if isinstance(error, BaseExceptionGroup) and error.exceptions:
            error = error.exceptions[0]
        elif isinstance(error, ConnectionError) and error.__cause__:
            error = error.__cause__
        else:
            break
    return type(error).__name__


def _forget_old(times: dict[str, float]) -> None:
    """Drop expired times, so that the memory does not grow with every organisation."""
    now = time.monotonic()
    for name in [name for name, until in times.items() if until <= now]:
        del times[name]


def read_result(result: CallToolResult, most: int) -> Returned:
    """Return the text of the result, at most so many characters, and its data."""
    parts = [part for block in result.content if (part := _block_text(block))]
    text = "\n".join(parts)
    data = result.structured_content
    if data is None and len(text) <= MAX_JSON:
        rows = [_json(part) for part in parts]
        data = rows if len(rows) > 1 and None not in rows else _json(text)
    data = _unwrap(data)
    if isinstance(data, str) and len(data) <= MAX_JSON:
        data = _unwrap(_json(data))
    kept = replace_surrogates(text[: most + 1])[:most]
    return Returned(kept, replace_value_surrogates(data), bool(result.is_error), len(text))


def _block_text(block: Any) -> str:
    if isinstance(block, TextContent):
        return block.text
    if isinstance(block, EmbeddedResource) and isinstance(block.resource, TextResourceContents):
        return block.resource.text
    return ""


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _unwrap(data: Any) -> Any:
    """Return what stands in the object that a server puts around a list or a text."""
    if isinstance(data, dict):
        for name in WRAPPED:
            inside = data.get(name)
            if isinstance(inside, list) or (len(data) == 1 and isinstance(inside, str | dict)):
                return _unwrap(inside)
    return data


def collect_tools(found: Sequence[Any], read_only: Collection[str] = ()) -> Listed:
    """Return the tools of MCP's list that can be offered, each under a name of its own. Those whose
    names are `read_only` change nothing, whatever they say."""
    tools, names = list[Tool](), dict[str, str]()
    for item in found:
        schema = item.input_schema
        name = _ODD.sub("_", item.name)[:NAME_CHARS]
        if not name or name in names or len(json.dumps(schema, default=str)) > SCHEMA_CHARS:
            continue
        description = replace_surrogates(" ".join((item.description or "").split()))[
            :DESCRIPTION_CHARS
        ]
        changes = False if item.name in read_only else _changes(item.annotations)
        tools.append(Tool(name, description, schema, changes))
        names[name] = item.name
    return Listed(tuple(tools), names)


def _changes(annotations: Any) -> bool | None:
    """Tell whether a tool says that it changes anything, None where it says neither."""
    if annotations is None:
        return None
    if annotations.destructive_hint:
        return True
    return None if annotations.read_only_hint is None else not annotations.read_only_hint

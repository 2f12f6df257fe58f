"""A Ragstone in another process: the same service through the server that holds the data.

Every operation of the contract goes to `CALLS` as its arguments by name, and comes back as its
result or, if it streams, as server-sent events: its items, then one named `end`, or one named
`error`.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, cast

import httpx2

from ragstone import __version__
from ragstone.core.errors import (
    DataDirectoryInUse,
    RagstoneError,
    Unauthorized,
    Unavailable,
    VersionMismatch,
)
from ragstone.service import Overview, Service, wire
from ragstone.service.contract import Operation, added_operations, core_operations
from ragstone.service.server_file import find_server
from ragstone.service.wire import OPERATION_HEADER, VERSION_HEADER
from ragstone.settings import Settings

CALLS, UPLOADS = "/local/call", "/local/upload"
CONNECT_SECONDS = 10.0
START_SECONDS, START_CHECKS = 3.0, 15
"""How long a server may take to start, and how often it is looked for."""


@asynccontextmanager
async def connect(settings: Settings) -> AsyncIterator[Service]:
    """The service on the data directory: through its server, or else in this process.

    Raises DataDirectoryInUse when another process has it that is not a server, after giving it the
    time that a server takes to start.
    """
    data = settings.ragstone_data.expanduser().absolute()
    async with AsyncExitStack() as stack:
        server = find_server(data)
        if server is None:
            from ragstone import build

            try:
                service: Service = await stack.enter_async_context(build.open(settings))
            except DataDirectoryInUse:
                server = await _wait_for_start(data)
                if server is None:
                    raise
        if server is not None:
            service = connect_service(*server)
            stack.push_async_callback(service.aclose)
        yield service


async def _wait_for_start(data: Path) -> tuple[str, str] | None:
    """Wait for a server that is just starting; None if there is none."""
    for _ in range(START_CHECKS):
        await asyncio.sleep(START_SECONDS / START_CHECKS)
        server = find_server(data)
        if server:
            return server
    return None


def connect_service(url: str, credential: str) -> Service:
    """The service of a server; raises the errors that the server's own raises, Unavailable where
    none answers, and VersionMismatch."""
    return cast(Service, Remote(url, credential))


class Remote:
    """Has every operation of `Service`, made from the contract."""

    def __init__(self, url: str, credential: str) -> None:
        self._connection = _Connection(url, credential)
        self._add(core_operations())

    def __getattr__(self, part: str) -> Any:
        """The operations of a plugin or package, whose contract is imported when it is used."""
        # What copies or shows an object asks for names like __deepcopy__: no plugin is loaded.
        if part.startswith("_") or not (found := added_operations(part)):
            raise AttributeError(part)
        self._add(found)
        return self.__dict__[part]

    def _add(self, found: Mapping[str, Operation]) -> None:
        for operation in found.values():
            part, _, name = operation.name.rpartition(".")
            place = self.__dict__.setdefault(part, SimpleNamespace()) if part else self
            setattr(place, name, self._connection.method(operation))

    async def upload(self, content: BinaryIO, name: str) -> str:
        """Send a file; the name by which `Handed.file` calls it in an ingest of this credential.
        The ending of its `name` says what it is."""
        return await self._connection.upload(content, name)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connection.aclose()


class _Connection:
    def __init__(self, url: str, credential: str) -> None:
        self._url = url
        self._http = httpx2.AsyncClient(
            base_url=url,
            headers={VERSION_HEADER: __version__, **_bearer_header(credential)},
            # An answer or an ingest may be silent for long; only connecting may not.
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
            # A proxy for the internet has no business on this machine.
            trust_env=False,
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    def method(self, operation: Operation) -> Callable[..., Any]:
        """What does this operation over the connection."""

        async def call(*args: Any, **given: Any) -> Any:
            return await self._call(operation, args, given)

        async def stream(*args: Any, **given: Any) -> AsyncGenerator[Any, None]:
            async with aclosing(self._items(operation, args, given)) as items:
                async for item in items:
                    yield item

        method: Any = stream if operation.streams else call
        method.__name__, method.__doc__ = operation.name.rpartition(".")[2], operation.doc
        method.__signature__ = operation.signature
        return cast(Callable[..., Any], method)

    async def upload(self, content: BinaryIO, name: str) -> str:
        try:
            response = await self._http.post(UPLOADS, files={"file": (name, content)})
        except httpx2.TransportError as error:
            raise self._connection_lost() from error
        await self._check(response)
        return str(response.json()["file"])

    async def _call(self, operation: Operation, args: Any, given: Any) -> Any:
        path, content = f"{CALLS}/{operation.name}", _request_body(operation, args, given)
        try:
            response = await self._http.post(path, **content)
        except httpx2.TransportError as error:
            raise self._connection_lost() from error
        await self._check(response)
        result = wire.load(operation.result, response.json())
        # Only the client knows the address by which it reaches the server.
        return replace(result, server=self._url) if isinstance(result, Overview) else result

    async def _items(
        self, operation: Operation, args: Any, given: Any
    ) -> AsyncGenerator[Any, None]:
        path, content = f"{CALLS}/{operation.name}", _request_body(operation, args, given)
        try:
            async with self._http.sse(
                path, method="POST", **content, max_event_size=None
            ) as stream:
                if stream.response.status_code != 200:
                    await stream.response.aread()
                await self._check(stream.response)
                async for event in stream:
                    if event.event == "end":
                        return
                    if event.event == "error":
                        raise wire.load_error(event.json())
                    yield wire.load(operation.result, event.json())
        except httpx2.TransportError as error:
            raise self._connection_lost() from error
        raise self._connection_lost()

    async def _check(self, response: httpx2.Response) -> None:
        """Raise the error with which the server refused the call."""
        theirs = response.headers.get(VERSION_HEADER)
        # A proxy may refuse or fail without a version; an older Ragstone answers like this.
        if theirs is None and response.status_code in (200, 404, 405):
            raise VersionMismatch(
                f"The server at {self._url} is {await self._older_version()}, which does not "
                f"understand calls of Ragstone {__version__}. Stop it and start it again with this "
                "version."
            )
        if response.status_code == 200:
            return
        try:
            error = wire.load_error(response.json().get("error"))
        except (ValueError, AttributeError):
            error = RagstoneError(f"The server answered with status {response.status_code}.")
        raise error

    async def _older_version(self) -> str:
        """The name of a server that sends no version."""
        try:
            found = (await self._http.get("/local/overview")).json()
            return f"Ragstone {found['version']} in an earlier build"
        except (httpx2.HTTPError, ValueError, KeyError, TypeError):
            return "not a Ragstone, or an early one"

    def _connection_lost(self) -> Unavailable:
        return Unavailable(
            f"The server at {self._url} stopped answering. "
            "Try again, or look at the output of 'ragstone serve'."
        )


def _bearer_header(credential: str) -> dict[str, str]:
    """The header of a credential; raises Unauthorized for one that no header can hold."""
    if not credential.isascii() or not credential.isprintable():
        raise Unauthorized("The API key holds characters that no key has. Check it.")
    return {"authorization": f"Bearer {credential}"} if credential else {}


def _request_body(operation: Operation, args: Any, given: Any) -> dict[str, Any]:
    """The body in pure ASCII: file names may hold half characters that UTF-8 cannot spell."""
    arguments = operation.signature.bind(*args, **given).arguments
    return {
        "content": json.dumps(operation.dump(arguments)).encode(),
        "headers": {"content-type": "application/json", OPERATION_HEADER: operation.fingerprint},
    }

"""Ragstone's own protocol: one address for every operation of the contract, in the terms of `wire`.

Who can read the data directory may do everything by it; others what the contract allows their role
(see `permitted`). `remote` is the other end.
"""

import asyncio
import json
import math
from contextlib import aclosing
from typing import Annotated, Any, NoReturn, get_args

from fastapi import APIRouter, Depends, File, Header, Request, UploadFile
from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragstone import __version__
from ragstone.core.caller import Caller
from ragstone.core.errors import (
    Forbidden,
    InputError,
    RagstoneError,
    Unauthorized,
    UnknownOperation,
    VersionMismatch,
)
from ragstone.http import sse
from ragstone.http.identity import Who, check_role, for_guests
from ragstone.http.middleware import operator_only
from ragstone.http.permitted import Permitted, permit, restrict_result
from ragstone.http.responses import Json, unless_left
from ragstone.http.uploads import Uploads
from ragstone.service import Service, wire
from ragstone.service.added import describe_absence
from ragstone.service.contract import Operation, operations
from ragstone.service.wire import OPERATION_HEADER, VERSION_HEADER

PREFIX = "/local"
LARGEST = 2**63 - 1
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]

Version = Annotated[str, Header(alias=VERSION_HEADER, max_length=50)]
Fingerprint = Annotated[str, Header(alias=OPERATION_HEADER, max_length=50)]


def router(service: Service, uploads: Uploads) -> APIRouter:
    """The routes below /local."""
    routes = APIRouter(prefix=PREFIX, include_in_schema=False)

    @routes.post("/call/{name}", response_model=None)
    @for_guests
    async def call(
        name: str,
        request: Request,
        caller: Who,
        version: Version = "",
        fingerprint: Fingerprint = "",
    ) -> Response:
        """The result of an operation, or its items as a stream of events."""
        operation = operations().get(name)
        if operation is None:
            part = name[:100].rpartition(".")[0]
            absent = describe_absence(part) if part and version == __version__ else ""
            raise UnknownOperation(
                f"There is no operation {name[:100]!r}. {absent or _version_mismatch(version)}"
            )
        await permit(caller, operation)
        if fingerprint != operation.fingerprint:
            raise VersionMismatch(_version_mismatch(version))
        permitted = Permitted(caller, operation, uploads)
        given = operation.load(_read(request, await request.body()))
        arguments = await permitted.arguments(service, given)
        result = operation.of(service)(**arguments)
        if not operation.streams:
            return await unless_left(request, _result_response(operation, result, caller))
        return sse.EventStream(_result_stream(operation, result, caller))

    @routes.get("/operations", response_model=None)
    @for_guests
    async def describe_operations(caller: Who) -> Response:
        """Who asks, and every operation that the caller may call: its fingerprint, and the names
        of its arguments."""
        callable_ones = [
            item for item in operations().values() if await _is_permitted(caller, item)
        ]
        described = {
            item.name: {"fingerprint": item.fingerprint, "arguments": list(item.types)}
            for item in callable_ones
        }
        return Json({"caller": _caller_json(caller), "operations": described})

    @routes.post("/upload", response_model=None)
    async def upload(caller: Who, file: Annotated[UploadFile, File()]) -> Response:
        """Keep a file until its sender ingests it; the name by which `Handed.file` calls it."""
        check_role(caller, "editor")
        return Json({"file": await uploads.add(caller, file)})

    operator = [Depends(operator_only)]

    @routes.api_route("/{path:path}", methods=METHODS, response_model=None, dependencies=operator)
    async def earlier(path: str, version: Version = "") -> NoReturn:
        """Where earlier versions of the command line ask."""
        raise VersionMismatch(_version_mismatch(version))

    return routes


async def _is_permitted(caller: Caller, operation: Operation) -> bool:
    try:
        await permit(caller, operation)
    except (Unauthorized, Forbidden):
        return False
    return True


def _caller_json(caller: Caller) -> dict[str, Any]:
    """Return who a caller is, to itself."""
    return {"role": caller.role, "key": caller.key, "principal": wire.dump(caller.principal)}


def _version_mismatch(version: str) -> str:
    theirs = f"Ragstone {version}" if version else "an earlier Ragstone"
    if version == __version__:
        theirs += " in another build"
    return (
        f"The server is Ragstone {__version__}, and what calls it is {theirs}. "
        "Use the same version for both: update the command, or stop the server and start it again."
    )


def _read(request: Request, body: bytes) -> Any:
    """Return the JSON of a request, without numbers that nothing can hold; raises InputError."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise InputError("The request needs a JSON object as its body, sent as application/json.")
    try:
        return json.loads(body, parse_int=_integer, parse_float=_number, parse_constant=_number)
    except RecursionError as error:
        raise InputError("The request body is nested too deeply. Simplify it.") from error
    except ValueError as error:
        raise InputError("Not a valid request body: send JSON.") from error


def _integer(text: str) -> int:
    # Its length first: a number of a million digits takes long to read.
    if len(text) > 20 or abs(int(text)) > LARGEST:
        raise InputError(f"The request holds the number {text[:30]}, which is too large.")
    return int(text)


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InputError(f"The request holds {text[:30]}, which is not a number that can be used.")
    return number


async def _result_response(operation: Operation, result: Any, caller: Caller) -> Response:
    value = await result

    def encode() -> bytes:
        shown = restrict_result(caller, value)
        if not isinstance(shown, list):
            return json.dumps(wire.dump(shown, operation.result)).encode()
        # An item at a time: nothing else runs while one is encoded, in whatever thread.
        [kind] = get_args(operation.result)
        return f"[{','.join(json.dumps(wire.dump(item, kind)) for item in shown)}]".encode()

    return Response(await asyncio.to_thread(encode), media_type="application/json")


async def _result_stream(operation: Operation, items: Any, caller: Caller) -> sse.Events:
    """Each item as an event, then one named end; what fails in the middle as one named error."""
    try:
        async with aclosing(items) as source:
            async for item in source:
                yield sse.encode(wire.dump(restrict_result(caller, item), operation.result))
        yield sse.encode(None, "end")
    except RagstoneError as error:
        yield sse.Failure(sse.encode(wire.dump_error(error), "error"), error)


class Versioned:
    """Names this version in every answer below /local, for the caller to compare with its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(f"{PREFIX}/"):
            await self._app(scope, receive, send)
            return

        async def send_wrapper(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[VERSION_HEADER] = __version__
            await send(message)

        await self._app(scope, receive, send_wrapper)

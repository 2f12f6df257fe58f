"""Shared by the HTTP dialects: JSON responses, the two shapes of an error, leaving clients."""

import asyncio
import json
import logging
import math
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from ragstone.core.errors import RagstoneError, TooManyRequests, Unauthorized, Unavailable
from ragstone.http.sse import wait_unless_left

log = logging.getLogger(__name__)
T = TypeVar("T")

OPENAI_PREFIX = "/v1"
PLONE_SERVICE = "/@rag-"
PLONE_CALLS = ("/plone/webhook", "/plone/visitor", "/plone/settings")
CLIENT_LEFT = 499

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

_CODES = {
    400: "invalid_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    422: "invalid_request",
    429: "rate_limited",
    500: "error",
    504: "timeout",
}


_PLONE_TYPES = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a request ends with when it is not answered, before a dialect has given it its shape.

    `error` is the error of ours that it came from, if it did; `details` are all that is wrong with
    the request, where that is known.
    """

    status: int
    message: str
    code: str
    retry: bool = False
    param: str | None = None
    headers: dict[str, str] | None = None
    error: RagstoneError | None = None
    details: tuple[dict[str, Any], ...] = ()

    @property
    def body(self) -> dict[str, Any]:
        """The error in our own shape."""
        return {"code": self.code, "message": self.message, "retry": self.retry}


class Json(Response):
    """A JSON response in pure ASCII, so that no text can fail to encode."""

    media_type = "application/json"

    def __init__(
        self, content: Any, status_code: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        body = json.dumps(content, separators=(",", ":")).encode()
        super().__init__(body, status_code, headers)


def well_formed(text: str) -> str:
    """Half characters, which JSON can spell but UTF-8 cannot, become question marks."""
    return text.encode("utf-8", "replace").decode()


def what_is_wrong(place: str, message: str) -> str:
    """A sentence of what pydantic found at a place of the request, or in the whole of it."""
    said = message.removeprefix("Value error, ").rstrip(".")
    return f"{place}: {said}." if place else f"{said}."


def error_response(
    path: str,
    status: int,
    message: str,
    *,
    code: str = "",
    retry: bool = False,
    param: str | None = None,
    headers: dict[str, str] | None = None,
) -> Json:
    """An error in OpenAI's shape below /v1, in Plone's at its services, in ours elsewhere."""
    code = code or _CODES.get(status, "error")
    if PLONE_SERVICE in path or path in PLONE_CALLS:
        return plone_error(Refusal(status, message, code, retry, headers=headers))
    if path != OPENAI_PREFIX and not path.startswith(OPENAI_PREFIX + "/"):
        body: dict[str, Any] = {"code": code, "message": message, "retry": retry}
        return Json({"error": body}, status, headers)
    # The official client retries every 409 and 5xx unless this header says that it is no use.
    headers = {**(headers or {}), "x-should-retry": str(retry).lower()}
    return Json(openai_error(status, message, code, param), status, headers)


def openai_error(
    status: int, message: str, code: str, param: str | None = None
) -> dict[str, dict[str, str | None]]:
    """The body of an error as OpenAI's API has it."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def plone_error(refusal: Refusal, said: str = "") -> Json:
    """An error that plone.restapi's clients can read, with ours beside it. What is wrong with a
    request is a bad request there. `said` is the message for readers, if it is another one."""
    status = 400 if refusal.status == 422 else refusal.status
    kind = "InternalServerError" if status >= 500 else _PLONE_TYPES.get(status, "BadRequest")
    body = {"type": kind, "message": said or refusal.message, "error": refusal.body}
    return Json(body, status, refusal.headers)


def handle_errors(app: FastAPI) -> None:
    """Give every error that a request may end with its status and its JSON."""
    app.add_exception_handler(RagstoneError, _ragstone_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)


async def _ragstone_error(request: Request, error: Exception) -> Response:
    error = cast(RagstoneError, error)
    if error.status >= 500:
        log.warning("%s %s: %s", request.method, request.url.path, error)
    refusal = Refusal(
        error.status, error.message, error.code, error.retry, headers=_headers(error), error=error
    )
    return _refusal_response(request, refusal)


async def _validation_error(request: Request, error: Exception) -> Response:
    found = cast(RequestValidationError, error).errors()
    first = found[0]
    place = [str(part) for part in first["loc"][1:]]
    # What is wrong with a whole body may still be one of its fields.
    blamed = getattr(first.get("ctx", {}).get("error"), "field", "")
    param = blamed or ".".join(place)[:100]
    if first["type"] == "json_invalid":
        refusal = Refusal(400, "The request body is not valid JSON.", _CODES[400])
    elif not place and first["type"] in ("missing", "model_attributes_type", "dict_type"):
        message = "The request needs a JSON object as its body, sent as application/json."
        refusal = Refusal(400, message, _CODES[400])
    else:
        message = what_is_wrong("" if blamed else param, first["msg"])
        status = 400 if request.url.path.startswith(OPENAI_PREFIX) else 422
        details = tuple({name: item[name] for name in ("type", "loc", "msg")} for item in found)
        refusal = Refusal(status, message, _CODES[status], param=param, details=details)
    return _refusal_response(request, refusal)


async def _http_error(request: Request, error: Exception) -> Response:
    error = cast(HTTPException, error)
    message = str(error.detail)
    if error.status_code == 404:
        message = "There is nothing at this address. GET /docs lists what there is."
    elif error.status_code == 405:
        message = f"This address does not take {request.method} requests."
    elif message == "There was an error parsing the body":
        message = "The request body is not valid JSON."
    code = _CODES.get(error.status_code, "error")
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_allowed_methods(request))
    return _refusal_response(request, Refusal(error.status_code, message, code, headers=headers))


def respond_to_error(path: str, error: RagstoneError) -> Json:
    """The response that an error ends the request at `path` with, outside of the routes."""
    return error_response(
        path,
        error.status,
        error.message,
        code=error.code,
        retry=error.retry,
        headers=_headers(error),
    )


def _headers(error: RagstoneError) -> dict[str, str]:
    headers = {}
    if isinstance(error, Unavailable | TooManyRequests) and error.retry_after is not None:
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    return headers


def _refusal_response(request: Request, refusal: Refusal) -> Response:
    """The refusal in the shape of the route's own dialect, if the route has a `refused`."""
    own = getattr(request.scope.get("route"), "refused", None)
    if own is not None:
        return cast(Response, own(refusal))
    return refusal_response(request.url.path, refusal)


def refusal_response(path: str, refusal: Refusal) -> Json:
    """The refusal of a request to `path` in the shape of `error_response`."""
    return error_response(
        path,
        refusal.status,
        refusal.message,
        code=refusal.code,
        retry=refusal.retry,
        param=refusal.param,
        headers=refusal.headers,
    )


def _allowed_methods(request: Request) -> list[str]:
    """The methods of every route at this address; Starlette names those of the first one."""
    return [
        method
        for method in _METHODS
        for scope in [{**request.scope, "method": method}]
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)
    ]


async def unless_left(request: Request, answer: Coroutine[Any, Any, Response]) -> Response:
    """The response that `answer` makes; cancels it when the client leaves before it is there."""
    task = asyncio.create_task(answer)
    if await wait_unless_left(task, request.receive):
        return task.result()
    return Response(status_code=CLIENT_LEFT)


async def json_unless_left(request: Request, body: Coroutine[Any, Any, Any]) -> Response:
    """The same for an answer that is a body in JSON."""

    async def answer() -> Response:
        return Json(await body)

    return await unless_left(request, answer())


async def last(events: AsyncGenerator[T, None]) -> T:
    """Drain a stream and return its last item."""
    item: T | None = None
    async with aclosing(events) as stream:
        async for event in stream:
            item = event
    if item is None:
        raise RagstoneError("The answer ended before it began; the log may say why.")
    return item

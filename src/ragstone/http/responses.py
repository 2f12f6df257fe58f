"""Shared by the HTTP dialects: JSON responses, the shapes of an error, leaving clients."""

import asyncio
import json
import logging
import math
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from ragstone.core.errors import RagstoneError, TooManyRequests, Unauthorized, Unavailable
from ragstone.core.faults import describe_fault
from ragstone.http.sse import wait_unless_left

log = logging.getLogger(__name__)
T = TypeVar("T")

OPENAI_PREFIX = "/v1"
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


def format_fault(place: str, fault: Mapping[str, Any]) -> str:
    """Return a sentence of what pydantic found at a place of the request, or in the whole of it."""
    said = describe_fault(fault)
    return f"{place}: {said}." if place else f"{said}."


def find_route(scope: Scope) -> BaseRoute | None:
    """Return the route at an address, for whatever method; None where there is nothing."""
    routes: Sequence[BaseRoute] = scope["app"].routes
    while found := [route for route in routes if route.matches(scope)[0] is not Match.NONE]:
        # FastAPI keeps an included router as one of the routes.
        inner = getattr(found[0], "original_router", None)
        if inner is None:
            return found[0]
        routes = inner.routes
    return None


def _find_route_class(scope: Scope) -> type | None:
    """Return the class of the routes whose router has the longest prefix of an address; None
    without."""
    routers = [getattr(route, "original_router", None) for route in scope["app"].routes]
    near = [r for r in routers if r and r.prefix and scope["path"].startswith(f"{r.prefix}/")]
    return max(near, key=lambda router: len(router.prefix)).route_class if near else None


def respond_to_error(scope: Scope, error: RagstoneError) -> Response:
    """Return the response that an error ends a request with, outside of the routes too."""
    refusal = Refusal(
        error.status, error.message, error.code, error.retry, headers=_headers(error), error=error
    )
    return respond_to_refusal(scope, refusal)


def respond_to_status(scope: Scope, status: int, message: str, retry: bool = False) -> Response:
    """Return the same for what is not an error of ours."""
    return respond_to_refusal(scope, Refusal(status, message, _CODES.get(status, "error"), retry))


def respond_to_refusal(scope: Scope, refusal: Refusal) -> Response:
    """Return the refusal in the shape of the route's own dialect, if its routes have
    `format_refusal`; else as `format_refusal` here. Where there is no route, those beside it
    tell."""
    route = scope.get("route") or find_route(scope) or _find_route_class(scope)
    own = getattr(route, "format_refusal", None)
    return cast(Response, own(refusal)) if own else format_refusal(scope["path"], refusal)


def format_refusal(path: str, refusal: Refusal) -> Json:
    """Return the refusal in OpenAI's shape below /v1, in ours elsewhere."""
    if path != OPENAI_PREFIX and not path.startswith(OPENAI_PREFIX + "/"):
        return Json({"error": refusal.body}, refusal.status, refusal.headers)
    # The official client retries every 409 and 5xx unless this header says that it is no use.
    headers = {**(refusal.headers or {}), "x-should-retry": str(refusal.retry).lower()}
    body = openai_error(refusal.status, refusal.message, refusal.code, refusal.param)
    return Json(body, refusal.status, headers)


def openai_error(
    status: int, message: str, code: str, param: str | None = None
) -> dict[str, dict[str, str | None]]:
    """Return the body of an error as OpenAI's API has it."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def handle_errors(app: FastAPI) -> None:
    """Give every error that a request may end with its status and its JSON."""
    app.add_exception_handler(RagstoneError, _ragstone_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)


async def _ragstone_error(request: Request, error: Exception) -> Response:
    error = cast(RagstoneError, error)
    if error.status >= 500:
        log.warning("%s %s: %s", request.method, request.url.path, error)
    return respond_to_error(request.scope, error)


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
        message = format_fault("" if blamed else param, first)
        status = 400 if request.url.path.startswith(OPENAI_PREFIX) else 422
        details = tuple(
            {"type": item["type"], "loc": item["loc"], "msg": describe_fault(item)}
            for item in found
        )
        refusal = Refusal(status, message, _CODES[status], param=param, details=details)
    return respond_to_refusal(request.scope, refusal)


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
    refusal = Refusal(error.status_code, message, code, headers=headers)
    return respond_to_refusal(request.scope, refusal)


def _headers(error: RagstoneError) -> dict[str, str]:
    headers = {}
    if isinstance(error, Unavailable | TooManyRequests) and error.retry_after is not None:
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    return headers


def _allowed_methods(request: Request) -> list[str]:
    """Return the methods of every route at this address; Starlette names those of the first one."""
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
    """Return the same for an answer that is a body in JSON."""

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
        raise RagstoneError("The answer ended before it began; the log may say why. Ask again.")
    return item

"""What stands before every route: who may call, how much they may send, what is recorded."""

import asyncio
import hmac
import ipaddress
import logging
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragstone.dialects.http import CLIENT_LEFT, error_response
from ragstone.metrics import Metrics

log = logging.getLogger(__name__)

DRAIN_FACTOR = 16
"""How many times the limit is read from a body that is too large, so that the client can finish
sending and sees the answer instead of a broken connection."""


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine itself."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Observe:
    """Records every request, and turns an unforeseen exception into a plain 500."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        started = time.perf_counter()
        try:
            await self._app(scope, receive, sending)
        except asyncio.CancelledError:
            # The server stops, and has waited long enough; its log need not hold a traceback.
            log.warning("%s %s was cut off", scope["method"], scope["path"])
        except Exception:
            if status:
                raise  # Only a broken connection can tell the client now.
            log.exception("%s %s broke", scope["method"], scope["path"])
            message = "Something broke inside Ragstone; the log says what."
            await error_response(scope["path"], 500, message)(scope, receive, sending)
        finally:
            seconds = time.perf_counter() - started
            self._metrics.request(_method(scope), _route(scope), status or CLIENT_LEFT, seconds)


class OnlyFromHere:
    """Refuses requests that a web page elsewhere made a browser on this machine send.

    The Host header must name this machine (a page's own domain may resolve to 127.0.0.1), and
    so must the Origin of anything that is not a plain read.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = _refusal(scope) if scope["type"] == "http" else ""
        if refusal:
            await error_response(scope["path"], 403, refusal)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class BodyLimit:
    """Answers 413 to a body over `limit` bytes, whether or not its length was announced."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal() and len(announced) < 20 and int(announced) > self._limit:
            await _drain(receive, self._limit * DRAIN_FACTOR)
            await error_response(scope["path"], 413, self._message)(scope, receive, send)
            return
        await self._app(scope, self._counting(receive), send)

    @property
    def _message(self) -> str:
        megabytes = self._limit / 1_000_000
        return (
            f"The request body is larger than {megabytes:g} MB. "
            "Send less, or raise SERVER__MAX_REQUEST_MB."
        )

    def _counting(self, receive: Receive) -> Receive:
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._limit:
                if message.get("more_body"):
                    await _drain(receive, self._limit * DRAIN_FACTOR)
                raise HTTPException(413, self._message)
            return message

        return counted


async def _drain(receive: Receive, most: int) -> None:
    while most > 0:
        message = await receive()
        most -= len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            return


def _refusal(scope: Scope) -> str:
    headers = Headers(scope=scope)
    if not is_loopback(_hostname("//" + headers.get("host", ""))):
        return "Ragstone answers only requests for this machine (localhost or 127.0.0.1)."
    origin = headers.get("origin")
    if origin is None or scope["method"] in ("GET", "HEAD", "OPTIONS"):
        return ""
    if is_loopback(_hostname(origin)):
        return ""
    return "Ragstone does not answer requests of web pages from other machines."


def _hostname(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _method(scope: Scope) -> str:
    known = ("GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE")
    return scope["method"] if scope["method"] in known else "other"


def _route(scope: Scope) -> str:
    """The route's template: addresses themselves would make a label for every typing error."""
    return str(getattr(scope.get("route"), "path", "unmatched"))


def only_with(token: str) -> Callable[[Request], None]:
    """What lets a request pass only if it carries `token`."""
    expected = f"Bearer {token}".encode()

    def check(request: Request) -> None:
        given = request.headers.get("authorization", "").encode()
        if not hmac.compare_digest(given, expected):
            raise HTTPException(
                401,
                "This address needs the token in the data directory's server.json.",
                {"www-authenticate": "Bearer"},
            )

    return check

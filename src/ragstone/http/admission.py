"""What stands between the network and the routes: who asks, how often, and for how long."""

import asyncio
import math
import re
from collections.abc import Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragstone.access.asking import ASKING, limit_key
from ragstone.access.gate import Gate
from ragstone.access.rates import Allowance, Rates
from ragstone.core.caller import GUEST, NOBODY
from ragstone.core.clock import TIME_LIMITS, Limit, TimeLimits
from ragstone.core.errors import Forbidden, RagstoneError, TooManyRequests
from ragstone.http import web
from ragstone.http.identity import is_open_to_all, visited_tenant
from ragstone.http.middleware import is_upload
from ragstone.http.responses import find_route, respond_to_error, respond_to_status

ALWAYS_OPEN = frozenset(
    (
        "/health",
        "/ready",
        "/metrics",
        "/login",
        "/sign-in",
        "/sign-in-invitation",
        "/sign-in-password",
        "/sign-out",
    )
)
"""Addresses without a credential, besides routes that are `open_to_all`: probes have none, /metrics
and /login ask for their own, who signs in has none yet, and who signs out may have none that
counts."""

WIDGET = re.compile(r"/widget/[0-9a-f]{16}(/session|/ask)?", re.ASCII)
"""The addresses of a widget: its page and its session are for everybody, as the site is on which it
stands, and asking is for its sessions, which may do nothing else."""

ONLY_ASKS = "This credential only asks, through the widget that it belongs to."

WITHOUT_DEADLINE = "/local/"
"""The command line's addresses."""


class Authenticate:
    """Finds out who asks, for the routes and for what they call; 401 where nobody is known.

    At the addresses `open_to_all`, and at routes that say so of themselves, nobody is asked. No
    route takes WebSockets, so none is opened.
    """

    def __init__(self, app: ASGIApp, gate: Gate, open_to_all: Collection[str]) -> None:
        self._app = app
        self._gate = gate
        self._open = open_to_all

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        peer = scope.get("client")
        try:
            address = peer[0] if peer else ""
            caller = await self._gate.caller(
                Headers(scope=scope), address, lambda: visited_tenant(_endpoint(scope))
            )
        except RagstoneError as error:
            if not self._is_open(scope) and find_route(scope):
                await respond_to_error(scope, error)(scope, receive, send)
                return
            caller = NOBODY
        if caller == GUEST and self._is_open(scope):
            caller = NOBODY
        if caller.only_asks and not WIDGET.fullmatch(scope["path"]):
            await respond_to_error(scope, Forbidden(ONLY_ASKS))(scope, receive, send)
            return
        scope.setdefault("state", {})["caller"] = caller
        ASKING.set(caller)
        await self._app(scope, receive, send)

    def _is_open(self, scope: Scope) -> bool:
        path = scope["path"]
        if path in self._open or path.startswith(web.PREFIX):
            return True
        widget = WIDGET.fullmatch(path)
        return (widget is not None and widget[1] != "/ask") or is_open_to_all(_endpoint(scope))


def _endpoint(scope: Scope) -> object:
    """Return the function of the route at an address. Looked for only where no credential counts:
    all routes are tried, as they are again for the answer."""
    return getattr(find_route(scope), "endpoint", None)


class RateLimit:
    """Counts the requests of each credential; 429 for one more than `limit` a minute, if any."""

    def __init__(self, app: ASGIApp, rates: Rates, limit: int) -> None:
        self._app = app
        self._rates = rates
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = limit_key(ASKING.get()) if scope["type"] == "http" and self._limit else ""
        if not key:
            await self._app(scope, receive, send)
            return
        allowance = await self._rates.take(f"requests:{key}", self._limit)
        shown = _rate_headers(allowance)
        if allowance.wait:
            message = f"This credential may send {self._limit:,} requests a minute."
            refusal = respond_to_error(scope, TooManyRequests(message, allowance.wait))
            refusal.headers.update(shown)
            await refusal(scope, receive, send)
            return

        async def send_wrapper(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(shown)
            await send(message)

        await self._app(scope, receive, send_wrapper)


def _command(scope: Scope) -> bool:
    """Tell whether this is a command of the operator, which takes as long as it takes."""
    return bool(scope["path"].startswith(WITHOUT_DEADLINE)) and ASKING.get().operator


def _rate_headers(allowance: Allowance) -> dict[str, str]:
    """Return the allowance as header fields of the IETF draft on rate limits."""
    return {
        "RateLimit-Limit": str(allowance.limit),
        "RateLimit-Remaining": str(allowance.remaining),
        "RateLimit-Reset": str(math.ceil(allowance.reset)),
    }


class TimeLimit:
    """Cancels what is not answered after `seconds`, with all it called, and answers 504.

    Whoever works on the answer knows the limit by `TIME_LIMITS`, to end before it. A stream has
    begun long before, and may take `stream` seconds, as a request with files may.
    """

    def __init__(self, app: ASGIApp, seconds: float, stream: float) -> None:
        self._app = app
        self._seconds = seconds
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _command(scope):
            await self._app(scope, receive, send)
            return
        stream = Limit.start(self._stream, "SERVER__REQUEST_SECONDS")
        limit = stream
        if not is_upload(Headers(scope=scope)):
            limit = Limit.start(self._seconds, "SERVER__REQUEST_SECONDS")
        TIME_LIMITS.set(TimeLimits(limit, limit, streams=False, stream=stream))
        started = False

        async def send_wrapper(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                kind = Headers(raw=message["headers"]).get("content-type", "")
                if kind.startswith("text/event-stream"):
                    clock.reschedule(None)
            await send(message)

        try:
            async with asyncio.timeout(limit.seconds) as clock:
                await self._app(scope, receive, send_wrapper)
        except TimeoutError:
            if started or not clock.expired():
                raise
            message = (
                f"This took longer than {limit.seconds:g} s and was stopped. Try again, or raise "
                f"{limit.setting}."
            )
            late = respond_to_status(scope, 504, message, retry=True)
            await late(scope, receive, send)

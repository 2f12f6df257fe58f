"""Gives every request its names, a line in the log, and a span."""

import logging
import time
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragstone.core.correlation import CURRENT, correlation
from ragstone.telemetry.spans import Telemetry

log = logging.getLogger("ragstone.requests")

REQUEST_ID = "x-request-id"
QUIET = ("/health", "/ready", "/metrics")
"""What is asked every few seconds by machines."""


class Correlate:
    """Reads or makes the request's id and trace, and answers with the id.

    The outermost of what stands before the routes, so that everything below it is found under the
    same names.
    """

    def __init__(self, app: ASGIApp, telemetry: Telemetry) -> None:
        self._app = app
        self._telemetry = telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        names = correlation(headers.get(REQUEST_ID, ""), headers.get("traceparent", ""))
        status, started = 0, time.perf_counter()

        async def send_wrapper(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID] = names.request
            await send(message)

        token = CURRENT.set(names)
        try:
            if scope["path"] in QUIET:
                await self._app(scope, receive, send_wrapper)
                return
            with self._telemetry.request(scope["method"], scope["path"]) as span:
                await self._app(scope, receive, send_wrapper)
                if span is not None:
                    span.set_attribute("http.response.status_code", status)
        finally:
            self._line(scope, status, time.perf_counter() - started)
            CURRENT.reset(token)

    def _line(self, scope: Scope, status: int, seconds: float) -> None:
        """Log the request and its credential, without the question."""
        if scope["path"] in QUIET:
            return
        caller: Any = scope.get("state", {}).get("caller")
        route = getattr(scope.get("route"), "path", "unmatched")
        said = {
            "method": scope["method"],
            "route": route,
            "status": status,
            "ms": round(1000 * seconds, 1),
            "key": caller.key if caller else "",
        }
        log.info("%s %s %d in %.1f ms", said["method"], route, status, said["ms"], extra=said)

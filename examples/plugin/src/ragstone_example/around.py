"""What stands round operations and requests: slow ones are logged, answers name the server."""

import logging
import socket
import time
from collections.abc import Callable
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragstone.http.dialects import DialectParts
from ragstone.local.added import ServiceParts
from ragstone.service.contract import Operation

log = logging.getLogger(__name__)

LONG_SECONDS = 5.0


class SlowOperations:
    """An observer: logs operations that take long."""

    def around(self, operation: Operation, call: Callable[..., Any]) -> Callable[..., Any]:
        """What is called instead of an operation."""
        if operation.streams:
            return call

        async def timed(*given: Any, **named: Any) -> Any:
            started = time.monotonic()
            try:
                return await call(*given, **named)
            finally:
                if (seconds := time.monotonic() - started) > LONG_SECONDS:
                    log.warning("%s took %.1f s", operation.name, seconds)

        return timed


def slow_operations(parts: ServiceParts) -> SlowOperations:
    """Logs operations that take long."""
    return SlowOperations()


def served_by(parts: DialectParts) -> Callable[[ASGIApp], ASGIApp]:
    """Names the server in every answer."""

    def make(app: ASGIApp) -> ASGIApp:
        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            async def send_wrapper(message: Message) -> None:
                if message["type"] == "http.response.start":
                    MutableHeaders(scope=message)["x-served-by"] = socket.gethostname()
                await send(message)

            await app(scope, receive, send_wrapper)

        return serve

    return make

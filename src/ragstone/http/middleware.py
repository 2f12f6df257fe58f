"""The middleware of every route: access, size limits, metrics.

What browsers are told about every response.
"""

import asyncio
import ipaddress
import logging
import re
import time
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragstone.access.gate import Gate
from ragstone.core.correlation import CURRENT, correlation
from ragstone.core.errors import Forbidden, RagstoneError, Unauthorized
from ragstone.http.identity import Who, check_role
from ragstone.http.responses import CLIENT_LEFT, respond_to_error, respond_to_status
from ragstone.telemetry.metrics import Metrics
from ragstone.telemetry.spans import Telemetry

log = logging.getLogger(__name__)

DRAINED = 64_000_000
"""Bytes over the limit that are read from a body that is too large, and dropped, so that the client
can finish sending and sees the answer instead of a broken connection."""


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address is this machine itself."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


PROBES = ("/health", "/ready")
"""Paths that a cluster calls by the machine's address, with any host name."""


class Observe:
    """Records every request."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0

        async def send_wrapper(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        started = time.perf_counter()
        try:
            await self._app(scope, receive, send_wrapper)
        finally:
            seconds = time.perf_counter() - started
            self._metrics.request(_method(scope), _route(scope), status or CLIENT_LEFT, seconds)


class Head:
    """Answers HEAD as GET, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_wrapper(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                # At once: a stream would go on as long as somebody listens.
                await send({"type": "http.response.body"})

        await self._app({**scope, "method": "GET"}, receive, send_wrapper)


class Unforeseen:
    """Turns an exception that nothing foresaw into a plain 500."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def send_wrapper(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, send_wrapper)
        except asyncio.CancelledError:
            # The server stops, and has waited long enough; its log need not hold a traceback.
            log.warning("%s %s was cut off", scope["method"], scope["path"])
        except Exception:
            if started:
                raise  # Only a broken connection can tell the client now.
            log.exception("%s %s broke", scope["method"], scope["path"])
            message = "Something broke inside Ragstone; the log says what."
            await respond_to_status(scope, 500, message)(scope, receive, send_wrapper)


SINGLE = ("host", "origin", "content-type", "content-length", "authorization")
"""Headers of which two would be read in two ways, here and by what stands before."""

_HOST = re.compile(r"((?:[A-Za-z0-9._~-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?)?")


class OnlyFromHere:
    """Refuses requests that a web page elsewhere made a browser on this machine send.

    The Host header must name this machine (a page's own domain may resolve to 127.0.0.1) or one
    of `hosts`, and the Origin of anything that is not a plain read this machine or one of
    `origins`. Where every request needs a credential, which no browser sends by itself, any Host
    will do unless there are `hosts`, and so will an Origin that is the Host.
    """

    def __init__(
        self, app: ASGIApp, gate: Gate, hosts: Sequence[str] = (), origins: Sequence[str] = ()
    ) -> None:
        self._app = app
        self._gate = gate
        self._hosts = [host.lower() for host in hosts]
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                refusal = self._refusal(scope, await self._gate.is_credential_required())
            except RagstoneError as error:
                await respond_to_error(scope, error)(scope, receive, send)
                return
            if refusal:
                await respond_to_status(scope, 403, refusal)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope, credentials: bool) -> str:
        headers = Headers(scope=scope)
        for name in SINGLE:
            if len(headers.getlist(name)) > 1:
                return f"The header {name} came twice. Send it once."
        if not _HOST.fullmatch(headers.get("host", "")):
            return "The header host names no host."
        host = _hostname("//" + headers.get("host", ""))
        if not self._is_ours(host, credentials) and not (credentials and scope["path"] in PROBES):
            return (
                "Ragstone does not answer requests for this host name. "
                "Use localhost, or name it in SERVER__ALLOWED_HOSTS."
            )
        origin = headers.get("origin")
        if origin is None or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            return ""
        place = _hostname(origin)
        if is_loopback(place) or origin in self._origins or "*" in self._origins:
            return ""
        if credentials and place and place == host:
            return ""
        return (
            "Ragstone does not answer requests of web pages from other machines, "
            "unless SERVER__CORS_ORIGINS names them."
        )

    def _is_ours(self, host: str, credentials: bool) -> bool:
        if is_loopback(host) or (credentials and host and not self._hosts):
            return True
        return any(fnmatchcase(host.lower(), pattern) for pattern in self._hosts)


class BodyLimit:
    """Answers 413 to a body over `limit` bytes, or over `upload` bytes for one with files, whether
    or not its length was announced."""

    def __init__(self, app: ASGIApp, limit: int, upload: int) -> None:
        self._app = app
        self._limits = {False: limit, True: upload}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        announced = headers.get("content-length", "")
        files = is_upload(headers)
        limit = self._limits[files]
        if announced.isdecimal() and (len(announced) >= 20 or int(announced) > limit):
            await _refuse(scope, receive, send, _too_large(limit, files), limit + DRAINED)
            return
        await self._app(scope, self._count_bytes(receive, limit, files), send)

    def _count_bytes(self, receive: Receive, limit: int, files: bool) -> Receive:
        received = 0

        async def count_body() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                if message.get("more_body"):
                    await _drain(receive, limit + DRAINED)
                raise HTTPException(413, _too_large(limit, files))
            return message

        return count_body


def is_upload(headers: Headers) -> bool:
    """Tell whether a request's body holds files."""
    return headers.get("content-type", "").lower().startswith("multipart/")


def _too_large(limit: int, files: bool) -> str:
    name = "SERVER__MAX_UPLOAD_MB" if files else "SERVER__MAX_REQUEST_MB"
    return f"The request body is larger than {limit / 1_000_000:g} MB. Send less, or raise {name}."


async def _refuse(scope: Scope, receive: Receive, send: Send, message: str, drained: int) -> None:
    """Answer 413 before the body is read: a client that waits for leave to send it, or looks while
    it sends, need not send it."""
    refusal = respond_to_status(scope, 413, message)
    refusal.headers["connection"] = "close"

    async def send_wrapper(message: Message) -> None:
        whole = message["type"] == "http.response.body"
        await send({**message, "more_body": True} if whole else message)

    await refusal(scope, receive, send_wrapper)
    if "expect" not in Headers(scope=scope):
        await _drain(receive, drained)
    await send({"type": "http.response.body"})


async def _drain(receive: Receive, most: int) -> None:
    while most > 0:
        message = await receive()
        most -= len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            return


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


async def require_key(caller: Who) -> None:
    """Lets a request pass only from an admin with a credential, or the operator.

    The local user has none: whoever else works on this machine can send requests to it too.
    """
    if not caller.key:
        raise Unauthorized(_TOKEN)
    check_role(caller, "admin")


async def operator_only(caller: Who) -> None:
    """Lets a request pass only from who can read the data directory."""
    if caller.operator:
        return
    if caller.key:
        raise Forbidden("This address is for the operator of the server alone.")
    raise Unauthorized(_TOKEN)


_TOKEN = "This address needs the token that 'ragstone token' prints."  # noqa: S105


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


ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
"""The content policy of data, which is never a page."""


HTTPS_ONLY = "max-age=31536000"
"""For a year browsers use HTTPS only; it is sent over HTTPS alone."""


class SecurityHeaders:
    """Adds them; `policies` are the content policies of pages by address, `shared` the addresses
    that pages elsewhere may load.

    A route that sends a policy of its own, as for a page that may stand within others, is believed.
    """

    def __init__(
        self, app: ASGIApp, policies: Mapping[str, str], shared: Collection[str] = ()
    ) -> None:
        self._app = app
        self._policies = policies
        self._shared = shared

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_wrapper(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                shared = headers.get("Cross-Origin-Resource-Policy")
                headers.update(ALWAYS)
                if shared or scope["path"] in self._shared:
                    headers["Cross-Origin-Resource-Policy"] = shared or "cross-origin"
                if "Content-Security-Policy" in headers:
                    # It says who may frame the page, which the older header cannot name.
                    del headers["X-Frame-Options"]
                else:
                    policy = self._policies.get(scope["path"], NOTHING)
                    headers["Content-Security-Policy"] = policy
                headers.setdefault("Cache-Control", "no-store")
                if _is_tls(scope):
                    headers["Strict-Transport-Security"] = HTTPS_ONLY
            await send(message)

        await self._app(scope, receive, send_wrapper)


def _is_tls(scope: Scope) -> bool:
    """Tell whether the client came by HTTPS, here or at a proxy that says so.

    Who lies about it changes only what their own browser remembers.
    """
    forwarded = Headers(scope=scope).get("x-forwarded-proto", "")
    return bool(scope.get("scheme") == "https" or forwarded.lower() == "https")

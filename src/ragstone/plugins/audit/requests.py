"""Requests over HTTP: who signs in and out, and what is refused before it reaches an operation."""

import json
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragstone.access.proxy import find_claim, read_user
from ragstone.core.caller import LOCAL_USER, NOBODY, Caller
from ragstone.core.correlation import CURRENT
from ragstone.core.turn import Principal
from ragstone.http.dialects import DialectParts
from ragstone.http.responses import find_route
from ragstone.http.sign_in import ENDED
from ragstone.plugins.audit.event import Kind, Outcome
from ragstone.plugins.audit.events import MAX_NAME, Subject, make_event
from ragstone.plugins.audit.observer import REQUEST, Request
from ragstone.plugins.audit.trail import Trail
from ragstone.settings import AuthSettings

SIGNS: dict[tuple[str, str], Kind] = {
    ("GET", "/login"): "sign-in",
    ("POST", "/sign-in"): "sign-in",
    ("POST", "/sign-out"): "sign-out",
}
REFUSED = (401, 403, 429)
CALLS = "/local/call/{name}"


class RecordRequests:
    """Tells the observer where requests come from, and records what it does not see."""

    def __init__(self, app: ASGIApp, trail: Trail, auth: AuthSettings) -> None:
        self._app = app
        self._trail = trail
        self._auth = auth

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        peer = scope.get("client")
        request = Request(peer[0] if peer else "")
        REQUEST.set(request)
        kind = SIGNS.get((scope["method"], scope["path"]))
        status, location, body = 0, "", b""

        async def send_wrapper(message: Message) -> None:
            nonlocal status, location, body
            if message["type"] == "http.response.start":
                status = message["status"]
                location = Headers(raw=message["headers"]).get("location", "")
                if not kind and status in REFUSED and not request.recorded:
                    await self._record(scope, request, "request", status, NOBODY)
            elif kind:
                body += message.get("body", b"")
                if not message.get("more_body"):
                    failed = status >= 400 or location.endswith(f"#{ENDED}")
                    caller = NOBODY if failed else self._identify_caller(scope, body)
                    await self._record(scope, request, kind, 401 if failed else status, caller)
            await send(message)

        await self._app(scope, receive, send_wrapper)

    def _identify_caller(self, scope: Scope, body: bytes) -> Caller:
        """Who has just signed in: the token is the issuer's, which the server has got itself."""
        if scope["path"] != "/sign-in":
            return LOCAL_USER if scope["path"] == "/login" else NOBODY
        import jwt

        claims = jwt.decode(json.loads(body)["token"], options={"verify_signature": False})
        user = read_user(find_claim(claims, self._auth.claims["user"]))
        return Caller(Principal(self._auth.tenant, user or ""), "reader", key=f"token:{user}")

    async def _record(
        self, scope: Scope, request: Request, kind: Kind, status: int, caller: Caller
    ) -> None:
        known = scope.get("state", {}).get("caller")
        if isinstance(known, Caller) and caller is NOBODY and known != NOBODY:
            caller = known
        principal = caller.principal
        if caller is NOBODY:
            principal = Principal(self._auth.tenant, "")
        headers = Headers(scope=scope)
        shown = any(name in headers for name in ("authorization", "x-api-key", "api-key"))
        if kind == "request" and status == 401 and shown:
            kind = "sign-in"
        route = getattr(find_route(scope), "path", "unmatched")
        # The route of all operations tells nothing: the name of this one does.
        route = scope["path"] if route == CALLS else route
        who = Subject(caller, principal, request.address, CURRENT.get().request)
        outcome: Outcome = "refused" if status >= 400 else "allowed"
        detail = str(status) if status >= 400 else ""
        operation = f"{scope['method']} {route}"[:MAX_NAME]
        await self._trail.write(make_event(kind, operation, who, outcome, detail))


def make_middleware(parts: DialectParts) -> Callable[[ASGIApp], ASGIApp] | None:
    """What stands before the routes; None where no trail is kept."""
    trail = getattr(getattr(parts.service, "audit", None), "trail", None)
    if not isinstance(trail, Trail):
        return None
    return lambda app: RecordRequests(app, trail, parts.settings.auth)

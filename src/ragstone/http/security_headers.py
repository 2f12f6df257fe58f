"""What browsers are told about every response."""

from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
"""The content policy of data, which is never a page."""


class SecurityHeaders:
    """Adds them; `policies` are the content policies of pages by address. `hsts` is in seconds, 0
    for never."""

    def __init__(self, app: ASGIApp, policies: Mapping[str, str], hsts: int) -> None:
        self._app = app
        self._policies = policies
        self._hsts = hsts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(ALWAYS)
                headers["Content-Security-Policy"] = self._policies.get(scope["path"], NOTHING)
                headers.setdefault("Cache-Control", "no-store")
                if self._hsts and _is_tls(scope):
                    headers["Strict-Transport-Security"] = f"max-age={self._hsts}"
            await send(message)

        await self._app(scope, receive, sending)


def _is_tls(scope: Scope) -> bool:
    """Whether the client came by HTTPS, here or at a proxy that says so.

    Who lies about it changes only what their own browser remembers.
    """
    forwarded = Headers(scope=scope).get("x-forwarded-proto", "")
    return bool(scope.get("scheme") == "https" or forwarded.lower() == "https")

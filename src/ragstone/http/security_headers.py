"""What browsers are told about every response."""

from collections.abc import Collection, Mapping

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

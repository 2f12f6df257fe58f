"""A server below a path of a site: what the path is, and that clients see it where they must.

A proxy says it in `X-Forwarded-Prefix`, as `access.proxy` trusts it, or the settings do. Behind the
middleware every path is without it, whether or not the proxy took it away. The web app needs none
of this, as its addresses are relative.
"""

import re
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragstone.access.proxy import TrustedProxy
from ragstone.core.errors import ConfigError
from ragstone.settings.server import ROOT_PATH, ServerSettings

HEADER = "x-forwarded-prefix"

OWN = {"api", "chat", "docs", "health", "local", "login", "mcp", "metrics", "openapi.json"} | {
    *("plone", "ready", "sign-in", "sign-out", "v1", "v2", "web", "widget")
}
"""How addresses of ours begin: below a path that begins so too, nobody could tell them apart."""


def root_path(server: ServerSettings) -> str:
    """The path that the settings name; raises ConfigError for one that begins as our addresses."""
    root = urlsplit(server.public_url).path.rstrip("/")
    if root and root.split("/")[1] in OWN:
        raise ConfigError(
            f"The path {root} of SERVER__PUBLIC_URL begins like addresses of Ragstone's own. "
            "Use another path."
        )
    return root


class BelowPath:
    """Takes the path away from requests, and puts it before redirects. `root` is that of the
    settings."""

    def __init__(self, app: ASGIApp, root: str, proxy: TrustedProxy | None) -> None:
        self._app = app
        self._root = root
        self._proxy = proxy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        prefix, path = self._forwarded_prefix(scope) or self._root, scope["path"]
        if not prefix:
            await self._app(scope, receive, send)
            return
        if path == prefix:
            await RedirectResponse(f"{prefix}/")(scope, receive, send)
            return
        # Not `root_path`: routes would look for that before every path.
        scope = {**scope, "app_root_path": prefix, "path": _strip_prefix(path, prefix)}
        scope["raw_path"] = _strip_prefix(
            scope.get("raw_path", b"").decode("latin-1"), prefix
        ).encode()

        async def send_wrapper(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if (place := headers.get("location", "")) and not place.startswith("."):
                    moved = urlsplit(place)._replace(scheme="", netloc="").geturl()
                    headers["location"] = prefix + moved
            await send(message)

        await self._app(scope, receive, send_wrapper)

    def _forwarded_prefix(self, scope: Scope) -> str:
        """Return what a trusted proxy says, if it is a plain path."""
        headers, peer = Headers(scope=scope), scope.get("client")
        given = headers.getlist(HEADER)
        if len(given) != 1 or self._proxy is None or not re.fullmatch(ROOT_PATH, given[0]):
            return ""
        return given[0] if self._proxy.sends(headers, peer[0] if peer else "") else ""


def _strip_prefix(path: str, prefix: str) -> str:
    return path[len(prefix) :] if path.startswith(f"{prefix}/") else path

"""A site with Ragstone behind it: pages of its own, and every other request passed on."""

import asyncio
from pathlib import Path

from starlette.responses import FileResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PAGE = Path(__file__).parent / "page"


class Site:
    """Serves the pages at /page; of all else, `app`'s, at most `cut` bytes go out at a time."""

    def __init__(self, app: ASGIApp, cut: int = 0) -> None:
        self._app = app
        self._cut = cut

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith("/page/"):
            file = PAGE / scope["path"].removeprefix("/page/")
            await FileResponse(file)(scope, receive, send)
        else:
            await self._app(scope, receive, self._cutting(send) if self._cut else send)

    def _cutting(self, send: Send) -> Send:
        async def cutting(message: Message) -> None:
            body = message.get("body", b"")
            while len(body) > self._cut:
                part, body = body[: self._cut], body[self._cut :]
                await send({"type": "http.response.body", "body": part, "more_body": True})
                await asyncio.sleep(0.001)
            await send({**message, "body": body} if "body" in message else message)

        return cutting

"""A real HTTP server that speaks plone.restapi's searches, and fails in every way on command."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.http_server import running

TOKEN = "site-token"
Item = dict[str, Any]


@dataclass
class PloneServer:
    """Holds `objects` by UID and `files` by path. `way` is what happens to requests: good, html,
    500, slow, 401, redirect, short (counts more than it lists) or huge; `ways` are for the first
    requests, one each. `between` is called after each page of objects."""

    objects: dict[str, Item] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    way: str = "good"
    ways: list[str] = field(default_factory=list)
    site: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    between: Callable[[], None] | None = None

    def add(
        self, uid: str, path: str, modified: str = "2026-01-01T00:00:00+00:00", **of: Any
    ) -> None:
        """An object; `of` are its fields."""
        item = {
            "@id": f"{self.site}{path}",
            "@type": "ContentPage",
            "UID": uid,
            "id": path.rpartition("/")[2],
            "title": uid.title(),
            "description": "",
            "modified": modified,
            "review_state": "published",
            "creators": ["admin"],
            "is_folderish": False,
        }
        self.objects[uid] = {**item, **of}

    def add_file(self, uid: str, path: str, name: str, content: bytes, kind: str) -> None:
        """A File with its content."""
        self.files[f"{path}/@@download/file"] = content
        about = {
            "filename": name,
            "content-type": kind,
            "size": len(content),
            "download": f"{self.site}{path}/@@download/file",
        }
        self.add(uid, path, **{"@type": "File", "file": about})

    async def search(self, request: Request) -> Response:
        query = request.query_params
        self.asked.append({**query, "portal_type": query.getlist("portal_type")})
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return JSONResponse({"type": "Unauthorized", "message": "no"}, 401)
        if trouble := await self._trouble():
            return trouble
        types = query.getlist("portal_type")
        found = [item for item in self.objects.values() if item["@type"] in types]
        if uid := query.get("UID"):
            found = [item for item in found if item["UID"] == uid]
        if since := query.get("modified.query"):
            at = datetime.fromisoformat(since)
            found = [one for one in found if datetime.fromisoformat(one["modified"]) >= at]
        order = "modified" if query.get("sort_on") == "modified" else "@id"
        found.sort(key=lambda item: (item[order], item["UID"]))
        start, size = int(query.get("b_start", 0)), int(query.get("b_size", 25))
        page = found[start : start + size]
        if not query.get("fullobjects"):
            page = [{name: one[name] for name in ("@id", "@type", "UID", "title")} for one in page]
        if self.between and query.get("fullobjects"):
            self.between()
        total = len(found) + (self.way == "short")
        here = str(request.url)
        return JSONResponse({"@id": here, "items": page, "items_total": total, "batching": {}})

    async def download(self, request: Request) -> Response:
        path = "/" + request.path_params["path"] + "/@@download/file"
        if path not in self.files:
            return JSONResponse({"type": "NotFound", "message": "no"}, 404)
        return Response(self.files[path], media_type="application/octet-stream")

    async def _trouble(self) -> Response | None:
        way = self.ways.pop(0) if self.ways else self.way
        if way == "slow":
            await asyncio.sleep(5)
        answers: dict[str, Response] = {
            "html": HTMLResponse("<html><body>Maintenance</body></html>"),
            "500": HTMLResponse("<html>oops</html>", 500),
            "redirect": RedirectResponse("https://elsewhere.example/login"),
            "list": JSONResponse(["what"]),
            "no items": JSONResponse({"items": "none"}),
            "huge": Response(b'{"items": [' + b" " * 3_000_000, media_type="application/json"),
        }
        return answers.get(way)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/Plone/@search", self.search),
                Route("/Plone/{path:path}/@@download/file", self.download),
            ]
        )


@contextmanager
def plone_server() -> Iterator[PloneServer]:
    """Serve an empty site on a free port."""
    server = PloneServer()
    with running(server.app()) as url:
        server.site = f"{url}/Plone"
        yield server

"""A real HTTP server that speaks as much of plone.restapi as the connector asks for, and fails in
every way on command. tests/ingest/connectors/plone/test_real.py asks a real Plone."""

import asyncio
import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.http_server import running

TOKEN = "site-token"
USER, PASSWORD = "sync", "site-password"
Item = dict[str, Any]


@dataclass
class PloneServer:
    """Holds `objects` by UID and `files` by path. `way` is what happens to requests: good, html,
    500, slow, redirect, short (counts more than it lists) or huge; `ways` are for the first
    requests, one each. `between` is called after each page of objects. Who shows no token, or a
    wrong one, is a visitor, who sees what is published."""

    objects: dict[str, Item] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    way: str = "good"
    ways: list[str] = field(default_factory=list)
    site: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    between: Callable[[], None] | None = None
    tokens: set[str] = field(default_factory=lambda: {TOKEN})
    new_token: str = TOKEN
    logins: int = 0
    renewed: int = 0
    unlisted: bool = False
    """Whether searches find nothing, as while the catalog is being made anew."""
    broken: str = ""
    """The UID of an object that the site cannot give whole."""

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
            "effective": "2020-01-01T00:00:00+00:00",
            "expires": "2499-12-31T00:00:00+00:00",
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
        uids = query.getlist("UID")
        self.asked.append({**query, "portal_type": query.getlist("portal_type"), "UID": uids})
        if trouble := await self._trouble():
            return trouble
        place = str(request.url.replace(query=None)).removesuffix("/@search")
        if self.broken in uids and query.get("fullobjects"):
            return JSONResponse({"type": "TypeError", "message": "no"}, 500)
        listed = [] if self.unlisted else self.objects.values()
        found = [item for item in listed if self._is_visible(item, request)]
        if query.get("path.depth") == "0":
            found = [item for item in found if item["@id"] == place]
        if types := query.getlist("portal_type"):
            found = [item for item in found if item["@type"] in types]
        if uids:
            found = [item for item in found if item["UID"] in uids]
        found = [item for item in found if item["UID"] >= query.get("UID.query", "")]
        found = [item for item in found if f"{item['@id']}/".startswith(f"{place}/")]
        found.sort(key=lambda item: item["UID"])
        page = found[: int(query.get("b_size", 25))]
        if not query.get("fullobjects"):
            about = ("@id", "@type", "title", "review_state", *query.getlist("metadata_fields"))
            page = [{name: item.get(name) for name in about} for item in page]
        if self.between:
            self.between()
        total = len(found) + (self.way == "short")
        here = str(request.url)
        return JSONResponse({"@id": here, "items": page, "items_total": total, "batching": {}})

    def _is_visible(self, item: Item, request: Request) -> bool:
        return self._is_known(request) or item["review_state"] == "published"

    def _is_known(self, request: Request) -> bool:
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind == "Basic":
            return base64.b64decode(given).decode() == f"{USER}:{PASSWORD}"
        return given in self.tokens

    async def login(self, request: Request) -> Response:
        self.logins += 1
        if await request.json() != {"login": USER, "password": PASSWORD}:
            return JSONResponse({"error": {"type": "Invalid credentials", "message": "no"}}, 401)
        return self._new_token()

    async def renew(self, request: Request) -> Response:
        self.renewed += 1
        if not self._is_known(request):
            return JSONResponse({"error": {"type": "Invalid", "message": "no"}}, 401)
        return self._new_token()

    def _new_token(self) -> Response:
        self.tokens.add(self.new_token)
        # A browser would keep this, and be the user from then on.
        return JSONResponse({"token": self.new_token}, headers={"set-cookie": "__ac=x; Path=/"})

    async def types(self, request: Request) -> Response:
        if trouble := await self._trouble():
            return trouble
        if not self._is_known(request):
            return JSONResponse({"type": "Unauthorized", "message": "no"}, 401)
        return JSONResponse([])

    async def item(self, request: Request) -> Response:
        address = str(request.url.replace(query=None))
        found = next((entry for entry in self.objects.values() if entry["@id"] == address), None)
        if found is None:
            return JSONResponse({"type": "NotFound", "message": "no"}, 404)
        if not self._is_visible(found, request):
            return JSONResponse({"type": "Unauthorized", "message": "no"}, 401)
        return JSONResponse(found)

    async def sharing(self, request: Request) -> Response:
        return JSONResponse({"entries": [], "inherit": True, "available_roles": []})

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
                Route("/Plone/@login", self.login, methods=["POST"]),
                Route("/Plone/@login-renew", self.renew, methods=["POST"]),
                Route("/Plone/@types", self.types),
                Route("/Plone/@search", self.search),
                Route("/Plone/{path:path}/@search", self.search),
                Route("/Plone/{path:path}/@sharing", self.sharing),
                Route("/Plone/{path:path}/@@download/file", self.download),
                Route("/Plone/{path:path}", self.item),
            ]
        )


@contextmanager
def plone_server() -> Iterator[PloneServer]:
    """Serve an empty site on a free port."""
    server = PloneServer()
    with running(server.app()) as url:
        server.site = f"{url}/Plone"
        yield server

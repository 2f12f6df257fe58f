"""The web app at `/`: files of the package, which ask the server's public operations and nothing
else. Who has no credential may load it: what it shows comes later, by what the credential allows.
"""

import asyncio
import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

FILES = Path(__file__).parent / "static"
PREFIX = "/web/"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".md": "text/markdown; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".pdf": "application/pdf",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; worker-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
"""The page's content policy: its own files, and pictures that it draws."""


@dataclass(frozen=True, slots=True)
class WebFile:
    """A file as it is sent: its media type, its content, that compressed, and a name of both."""

    media_type: str
    content: bytes
    compressed: bytes
    tag: str


def addresses() -> frozenset[str]:
    """Return every address of the web app."""
    inside = (file.relative_to(FILES).as_posix() for file in FILES.rglob("*") if file.is_file())
    return frozenset({"/", *(PREFIX + item for item in inside)}) - {PREFIX + "widget.html"}


@cache
def load(name: str) -> WebFile:
    """Return a file of the web app, read and compressed once. Blocking: use it in a thread."""
    content = (FILES / name).read_bytes()
    tag = f'"{hashlib.sha256(content).hexdigest()[:24]}"'
    media_type = TYPES[Path(name).suffix]
    return WebFile(media_type, content, gzip.compress(content, 9, mtime=0), tag)


async def read(name: str) -> WebFile:
    """Return a file of the web app."""
    return await asyncio.to_thread(load, name)


def router(known: frozenset[str]) -> APIRouter:
    """The routes of the page and its files, whose addresses are `known`."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/", response_model=None)
    async def page(request: Request) -> Response:
        return await _file_response(request, "index.html")

    @routes.get(PREFIX + "{name:path}", response_model=None)
    async def file(name: str, request: Request) -> Response:
        if PREFIX + name not in known:
            raise HTTPException(404, "There is no such file of the web app.")
        return await _file_response(request, name)

    return routes


async def _file_response(request: Request, name: str) -> Response:
    found = await read(name)
    # Browsers ask each time whether theirs is still right: an update needs no new addresses.
    headers = {"etag": found.tag, "cache-control": "no-cache", "vary": "accept-encoding"}
    if request.headers.get("if-none-match") == found.tag:
        return Response(status_code=304, headers=headers)
    headers |= {"content-type": found.media_type}
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers |= {"content-encoding": "gzip"}
        return Response(found.compressed, headers=headers)
    return Response(found.content, headers=headers)

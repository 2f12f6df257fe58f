"""A proxy before a real Plone site that damages what the site answers."""

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import SplitResult, urlsplit


@dataclass
class Proxy:
    """Passes requests on to a site. From the request number `first` until `ends` they fare in a
    `way`, empty for a site that works:

    - html: 200 with a page instead of JSON, as a server in maintenance
    - short: half of a listing's objects, with the count of all
    - cut: half of a response's bytes, then the connection ends
    - down: no response at all
    - bad gateway: 502 of a server before Plone
    - visitor: no credential reaches the site, which answers so to one that it does not know

    `between` is called with the number of the request before each is passed on.
    """

    site: str = ""
    way: str = ""
    first: int = 0
    ends: int | None = None
    between: Callable[[int], None] | None = None
    asked: list[str] = field(default_factory=list)
    """The method and path of each request."""

    def damage(self, way: str, first: int = 0, ends: int | None = None) -> None:
        """Count requests anew, and damage these of them."""
        self.asked.clear()
        self.way, self.first, self.ends = way, first, ends

    def fares(self, number: int) -> str:
        """What happens to a request."""
        damaged = self.first <= number and (self.ends is None or number < self.ends)
        return self.way if damaged else ""


@dataclass(frozen=True)
class _Answer:
    status: int
    kind: str
    content: bytes
    place: str = ""


BACK_SOON = b"<html><body>Back soon.</body></html>"
INSTEAD = {
    "html": _Answer(200, "text/html", BACK_SOON),
    "bad gateway": _Answer(502, "text/html", BACK_SOON),
}


class _Listening(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, proxy: Proxy, site: SplitResult) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.proxy = proxy
        self.site = site
        self.counting = threading.Lock()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Listening

    def do_GET(self) -> None:
        proxy = self.server.proxy
        with self.server.counting:
            number = len(proxy.asked)
            proxy.asked.append(f"{self.command} {urlsplit(self.path).path}")
        if proxy.between:
            proxy.between(number)
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        way = proxy.fares(number)
        if way == "down":
            self.close_connection = True
            return
        answer = INSTEAD.get(way) or self._asked(body, way == "visitor")
        content = _halved(answer.content) if way == "short" else answer.content
        self.send_response(answer.status)
        self.send_header("content-type", answer.kind)
        self.send_header("content-length", str(len(content)))
        if answer.place:
            self.send_header("location", answer.place)
        self.end_headers()
        if way == "cut":
            self.close_connection = True
            content = content[: len(content) // 2]
        self.wfile.write(content)

    def do_POST(self) -> None:
        self.do_GET()

    def _asked(self, body: bytes, as_visitor: bool) -> _Answer:
        """What the site answers."""
        headers = {
            name: value
            for name, value in self.headers.items()
            if not (as_visitor and name.lower() == "authorization")
        }
        site = self.server.site
        connection = http.client.HTTPConnection(site.hostname or "", site.port, timeout=60)
        try:
            connection.request(self.command, self.path, body or None, headers)
            response = connection.getresponse()
            kind = response.getheader("content-type") or "text/plain"
            place = response.getheader("location") or ""
            return _Answer(response.status, kind, response.read(), place)
        finally:
            connection.close()

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@contextmanager
def before(url: str) -> Iterator[Proxy]:
    """A proxy of the site at `url`, at another port. Plone makes its addresses of the header Host,
    so the proxy's address is the site's for whoever asks it."""
    where = urlsplit(url)
    proxy = Proxy()
    listening = _Listening(proxy, where)
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    proxy.site = f"http://127.0.0.1:{listening.server_address[1]}{where.path}"
    try:
        yield proxy
    finally:
        listening.shutdown()
        listening.server_close()


def _halved(content: bytes) -> bytes:
    """A listing without the second half of its objects; anything else as it is."""
    try:
        found = json.loads(content)
    except ValueError:
        return content
    if not isinstance(found, dict) or not isinstance(found.get("items"), list):
        return content
    return json.dumps({**found, "items": found["items"][: len(found["items"]) // 2]}).encode()

"""A web site that answers what a test says."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Reply:
    """What is answered for a path."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class ScriptedSite:
    """Has `replies` by path; what it has none for is not there."""

    address: str
    replies: dict[str, Reply] = field(default_factory=dict)
    asked: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    answered: list[tuple[str, int]] = field(default_factory=list)

    @property
    def paths(self) -> list[str]:
        """The paths that were asked for."""
        return [path for path, _ in self.asked]

    def put(self, path: str, body: str | bytes = b"", status: int = 200, **headers: str) -> None:
        """Answer this from now on; `_` in a header's name stands for a dash."""
        content = body.encode() if isinstance(body, str) else body
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.replies[path] = Reply(content, status, {"Content-Type": "text/html", **named})

    def put_page(self, path: str, *links: str, head: str = "", **headers: str) -> None:
        """A page that says its path, and leads to others."""
        anchors = "".join(f'<a href="{link}">more</a> ' for link in links)
        text = f"<html><head>{head}</head><body><p>This is {path}.</p>{anchors}</body></html>"
        self.put(path, text, 200, **headers)

    def answer(self, path: str) -> Reply:
        return self.replies.get(path, Reply(b"Not there.", 404))


@contextmanager
def serve_site(host: str = "127.0.0.1") -> Iterator[ScriptedSite]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            site.asked.append((self.path, dict(self.headers.items())))
            reply = site.answer(self.path)
            # As Apache, which does not know the tags again that it gives to what it packs.
            tag = reply.headers.get("ETag", "").replace("-gzip", "")
            unchanged = tag in self.headers.get("If-None-Match", "").split(", ") if tag else False
            status = 304 if unchanged else reply.status
            site.answered.append((self.path, status))
            self.send_response(status)
            body = b"" if unchanged else reply.body
            for name, value in {"Content-Length": str(len(body)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:
                self.close_connection = True  # Who asks may have enough of it.

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def log_message(self, format: str, *arguments: object) -> None:
            return

    server = ThreadingHTTPServer((host, 0), Handler)
    server.daemon_threads = True
    site = ScriptedSite(f"http://{host}:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

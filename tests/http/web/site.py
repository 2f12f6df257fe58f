"""A site of somebody else, at an origin of its own, with the strictest content policy."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

POLICY = (
    "default-src 'none'; script-src {server} 'self'; frame-src {server}; style-src 'none'; "
    "connect-src {server}; base-uri 'none'; form-action 'none'"
)
"""What the site allows the widget: its script and its frame. `connect-src` lets the site itself ask
the server, to show that it gets nothing."""


@contextmanager
def site(pages: Mapping[str, str], server: str) -> Iterator[str]:
    """Serves pages by path; the address, which has a name of its own for the test's browser."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = pages.get(self.path)
            self.send_response(200 if body is not None else 404)
            kind = "text/javascript" if self.path.endswith(".js") else "text/html"
            self.send_header("content-type", f"{kind}; charset=utf-8")
            self.send_header("content-security-policy", POLICY.format(server=server))
            self.send_header("set-cookie", "shop=the-basket-of-ada; Path=/")
            self.end_headers()
            self.wfile.write((body or "").encode())

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://shop.example:{listening.server_address[1]}"
    finally:
        listening.shutdown()
        listening.server_close()

"""A chat model and an embedding service that speak OpenAI's API and say always the same."""

import hashlib
import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

ANSWER = "The gate opens with 4711 [1]."
DIMENSIONS = 64


class Models(ThreadingHTTPServer):
    """Answers everything with ANSWER; `calls` keeps the address, key and body of each call."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.calls = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def asked(self, address):
        """The bodies of calls to an address."""
        return [body for path, _, body in self.calls if path == f"/v1/{address}"]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.calls.append((self.path, self.headers["Authorization"], body))
        if self.path == "/v1/embeddings":
            texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
            data = [
                {"object": "embedding", "index": place, "embedding": embed(text)}
                for place, text in enumerate(texts)
            ]
            self.send("application/json", json.dumps({"object": "list", "data": data}))
        elif body.get("stream"):
            delta = {"choices": [{"index": 0, "delta": {"content": ANSWER}}]}
            end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
            lines = [f"data: {json.dumps(item)}\n\n" for item in (delta, end)]
            self.send("text/event-stream", "".join(lines) + "data: [DONE]\n\n")
        else:
            message = {"role": "assistant", "content": ANSWER}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            self.send("application/json", json.dumps({"choices": [choice]}))

    def send(self, kind, text):
        content = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """The test reads `calls`."""


def embed(text):
    """A vector of a text, alike for texts that share words."""
    vector = [0.001] * DIMENSIONS
    for word in text.lower().split():
        vector[hashlib.sha256(word.encode()).digest()[0] % DIMENSIONS] += 1.0
    return vector


@contextmanager
def models():
    with Models() as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()

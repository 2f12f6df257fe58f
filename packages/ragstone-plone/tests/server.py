"""A real Ragstone that reads the test's site."""

import json
import os
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).parents[3]
SECRET = "a secret of tests, and long"
PATIENCE = 30.0


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@contextmanager
def ragstone(site, token, port, data, **variables):
    """`ragstone serve` at a port, with a data directory that the test keeps, and more variables in
    its environment."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "RAGSTONE_DATA": str(data),
        "SERVER__PORT": str(port),
        "PLONE__URL": site,
        "PLONE__TOKEN": token,
        "PLONE__WEBHOOK_SECRET": SECRET,
        "LIMITS__REQUESTS_PER_MINUTE": "0",
        **variables,
    }
    with tempfile.TemporaryFile() as log:
        command = [os.environ.get("RAGSTONE", str(ROOT / ".venv/bin/ragstone")), "serve"]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=ROOT)
        try:
            _wait(port, process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)
            log.seek(0)
            said = log.read().decode(errors="replace")
            if os.environ.get("SHOW"):
                print(said[-6000:])


def _wait(port, process, log):
    until = time.monotonic() + 4 * PATIENCE
    while time.monotonic() < until:
        if process.poll() is not None:
            log.seek(0)
            raise AssertionError(f"ragstone ended: {log.read().decode()[-3000:]}")
        try:
            with urlopen(f"http://127.0.0.1:{port}/ready", timeout=5) as response:
                json.load(response)
                return
        except (URLError, OSError, ValueError):
            time.sleep(0.1)
    raise AssertionError("ragstone did not start")

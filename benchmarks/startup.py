"""How long a user waits for the first line."""

import os
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from benchmarks.common import RAGSTONE
from benchmarks.row import Row


def run() -> list[Row]:
    helps = sorted(seconds_of_help() for _ in range(7))
    ready = sorted(seconds_to_ready() for _ in range(3))
    return [
        Row("`ragstone --help`, median of 7", helps[3], "s", most=0.4),
        Row("`ragstone serve` until /ready answers, median of 3", ready[1], "s", most=3.0),
    ]


def seconds_of_help() -> float:
    started = time.perf_counter()
    subprocess.run([RAGSTONE, "--help"], capture_output=True, check=True)
    return time.perf_counter() - started


def seconds_to_ready() -> float:
    with tempfile.TemporaryDirectory() as data:
        environment = {**os.environ, "RAGSTONE_DATA": data}
        started = time.perf_counter()
        server = subprocess.Popen(
            [RAGSTONE, "serve", "--port", "18006"],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            while not answers("http://127.0.0.1:18006/ready"):
                time.sleep(0.02)
                if time.perf_counter() - started > 60:
                    raise TimeoutError("the server did not become ready")
            return time.perf_counter() - started
        finally:
            server.terminate()
            server.wait()


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as response:
            return bool(response.status == 200)
    except OSError:
        return False

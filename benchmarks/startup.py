"""How long a user waits for the first line, and for the first answer of a server.

Programs are measured with their bytecode in place, as pip leaves them or a first start does:
otherwise Python compiles a thousand modules at every start (results/notes.md).
"""

import json
import os
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.common import RAGSTONE
from benchmarks.row import Row

URL = "http://127.0.0.1:18006"
README = Path(__file__).parents[1] / "README.md"


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        seconds_of_help(environment)
        seconds_to_ready(environment)
        helps = sorted(seconds_of_help(environment) for _ in range(7))
        yield Row("`ragstone --help`, median of 7", helps[3], "s", most=0.4)
        ready = sorted(seconds_to_ready(environment) for _ in range(3))
        what = "`ragstone serve` until /ready answers, median of 3"
        yield Row(what, ready[1], "s", most=3.0)
        start, first, again = first_answer(environment)
        yield Row("The same over a document", start, "s", most=3.0)
        yield Row("First answer, asked at once when /ready answers", first, "s", detail=True)
        yield Row("The first answer, relative to the same question asked again", first / again, "x")


def seconds_of_help(environment: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run([RAGSTONE, "--help"], env=environment, capture_output=True, check=True)
    return time.perf_counter() - started


def seconds_to_ready(environment: dict[str, str]) -> float:
    with tempfile.TemporaryDirectory() as data:
        started = time.perf_counter()
        with start_server({**environment, "RAGSTONE_DATA": data}):
            return time.perf_counter() - started


def first_answer(environment: dict[str, str]) -> tuple[float, float, float]:
    """Return seconds until /ready answers, of the first answer and of the same question again, over
    one document and without the cache of answers."""
    with tempfile.TemporaryDirectory() as data:
        environment = {**environment, "RAGSTONE_DATA": data, "CACHE__ENABLED": "false"}
        ingest = [RAGSTONE, "ingest", str(README)]
        subprocess.run(ingest, env=environment, capture_output=True, check=True)
        started = time.perf_counter()
        with start_server(environment):
            start = time.perf_counter() - started
            token = json.loads(Path(data, "server.json").read_text())["token"]
            first = time_answer(token, "What is Ragstone?")
            return start, first, time_answer(token, "What is Ragstone?")


@contextmanager
def start_server(environment: dict[str, str], url: str = URL) -> Iterator[None]:
    """A server that has become ready."""
    server = subprocess.Popen(
        [RAGSTONE, "serve", "--port", url.rsplit(":", 1)[1]],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        started = time.perf_counter()
        while not answers(f"{url}/ready"):
            time.sleep(0.02)
            if time.perf_counter() - started > 60:
                raise TimeoutError("the server did not become ready")
        yield
    finally:
        server.terminate()
        server.wait()


def time_answer(token: str, question: str) -> float:
    """Seconds until the whole answer is there."""
    body = {"model": "ragstone", "messages": [{"role": "user", "content": question}]}
    headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
    request = urllib.request.Request(
        f"{URL}/v1/chat/completions", json.dumps(body).encode(), headers
    )
    started = time.perf_counter()
    with urllib.request.urlopen(request, timeout=60) as response:
        response.read()
    return time.perf_counter() - started


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as response:
            return bool(response.status == 200)
    except OSError:
        return False

"""Real processes of the real command, as a user starts them."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

RAGSTONE = str(Path(sys.executable).with_name("ragstone"))
DOCUMENTS = Path(__file__).parents[2] / "examples" / "documents"


def environment(data: Path, **variables: str) -> dict[str, str]:
    """This process's, without what a developer may have set for Ragstone."""
    names = "LLM LLM_FALLBACK EMBEDDING INDEX STATE RERANK RAG CACHE INGEST SERVER JOBS AUTH LIMITS"
    prefixes = tuple(f"{section}__" for section in names.split())
    kept = {k: v for k, v in os.environ.items() if not k.startswith(prefixes)}
    return {**kept, "RAGSTONE_DATA": str(data), **variables}


def run(data: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `ragstone` to its end."""
    return subprocess.run(
        [RAGSTONE, *arguments],
        env=environment(data, **variables),
        cwd=data.parent,
        capture_output=True,
        text=True,
        timeout=120,
    )


def run_json(data: Path, *arguments: str, **variables: str) -> Any:
    """The JSON that `ragstone ... --json` prints."""
    done = run(data, *arguments, "--json", **variables)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@contextmanager
def serving(data: Path, **variables: str) -> Iterator[str]:
    """`ragstone serve` on a free port; yields its address when it is ready."""
    # A file, not a pipe: nobody reads while it runs, and a full pipe would stop the server.
    with TemporaryFile("w+") as output:
        process = subprocess.Popen(
            [RAGSTONE, "serve", "--port", "0"],
            env=environment(data, **variables),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            url = _url(data / "server.json", process)
            yield url
        finally:
            process.terminate()
            process.wait(30)
            output.seek(0)
            assert process.returncode == 0, output.read()


def _url(file: Path, process: "subprocess.Popen[bytes]") -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server ended at its start"
        # A server that was killed leaves its file behind.
        if file.exists() and json.loads(file.read_text())["pid"] == process.pid:
            url: str = json.loads(file.read_text())["url"]
            with urllib.request.urlopen(f"{url}/ready", timeout=10) as response:
                assert response.status == 200
            return url
        time.sleep(0.05)
    raise AssertionError("the server did not start")

"""Real processes of the real command, as a user starts them."""

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from typer.testing import CliRunner

from ragstone.core.errors import RagstoneError
from tests.patience import PATIENCE

RAGSTONE = str(Path(sys.executable).with_name("ragstone"))


def environment(data: Path, **variables: str) -> dict[str, str]:
    """This process's, without what a developer may have set for Ragstone."""
    names = "LLM LLM_FALLBACK EMBEDDING INDEX STATE RERANK RAG CACHE INGEST SERVER JOBS AUTH LIMITS"
    prefixes = tuple(f"{section}__" for section in names.split())
    kept = {k: v for k, v in os.environ.items() if not k.startswith(prefixes)}
    # Clients of tests send no credential; tests of the token switch it on.
    return {**kept, "RAGSTONE_DATA": str(data), "AUTH__GUESTS": "everything", **variables}


def command(variables: Mapping[str, str]) -> list[str]:
    """The real command line, with the constants of `tests.with_constants` if there are any."""
    changed = "TEST_CONSTANTS" in variables
    return [sys.executable, "-m", "tests.with_constants"] if changed else [RAGSTONE]


def run(data: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `ragstone` to its end."""
    return subprocess.run(
        [*command(variables), *arguments],
        env=environment(data, **variables),
        cwd=data.parent,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def here(data: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """`run` without a process, which costs 1.5 s of processor: for what needs none to be proven.
    Not from inside an event loop."""
    from ragstone.cli import app

    kept = environment(data, **variables)
    missing = {name: None for name in os.environ if name not in kept}
    with contextlib.chdir(data.parent):
        done = CliRunner().invoke(app, arguments, env={**kept, **missing})
    if isinstance(done.exception, RagstoneError):  # What `ragstone.cli.main` makes of it.
        said = f"ragstone: {done.exception.message}\n"
        return subprocess.CompletedProcess(arguments, 1, done.stdout, done.stderr + said)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)


def run_json(data: Path, *arguments: str, **variables: str) -> Any:
    """The JSON that `ragstone ... --json` prints."""
    return parsed(run(data, *arguments, "--json", **variables))


def json_here(data: Path, *arguments: str, **variables: str) -> Any:
    """`run_json` without a process."""
    return parsed(here(data, *arguments, "--json", **variables))


def parsed(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@contextmanager
def serving(data: Path, **variables: str) -> Iterator[str]:
    """`ragstone serve` on a free port; yields its address when it answers."""
    # A file, not a pipe: nobody reads while it runs, and a full pipe would stop the server.
    with TemporaryFile("w+") as output:
        process = _spawned(data, output, variables)
        try:
            url = _url(data / "server.json", process)
            yield url
        finally:
            process.terminate()
            process.wait(PATIENCE)
            output.seek(0)
            assert process.returncode == 0, output.read()


@contextmanager
def serving_until_killed(data: Path, **variables: str) -> Iterator[str]:
    """The same, but that `kill -9` ends it."""
    with TemporaryFile("w+") as output:
        process = _spawned(data, output, variables)
        try:
            yield _url(data / "server.json", process)
        finally:
            process.kill()
            process.wait(PATIENCE)
        output.seek(0)
        assert "Traceback" not in (said := output.read()), said


def _spawned(
    data: Path, output: IO[str], variables: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [RAGSTONE, "serve", "--port", "0"],
        env=environment(data, **variables),
        stdout=output,
        stderr=subprocess.STDOUT,
    )


def _url(file: Path, process: "subprocess.Popen[bytes]") -> str:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server ended at its start"
        # A server that was killed leaves its file behind.
        if file.exists() and json.loads(file.read_text())["pid"] == process.pid:
            url: str = json.loads(file.read_text())["url"]
            # It answers before all is loaded, and is not ready until then.
            with urllib.request.urlopen(f"{url}/health", timeout=PATIENCE) as response:
                assert response.status == 200
            return url
        time.sleep(0.05)
    raise AssertionError("the server did not start")

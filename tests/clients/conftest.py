"""A real server for clients of other projects, which run in environments of their own."""

import contextlib
import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pytest

from ragstone.service.server_file import local_token
from tests.documents import copied
from tests.e2e.processes import serving
from tests.model_server import ModelServer, model_server
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
QUESTION = "How long does a full battery charge last without sun?"
SAID = ("A full charge lasts 31 days ", "without sun [1].")


@dataclass(frozen=True)
class Clients:
    """The server's address, its chat model, the token of its user, and how a program of the folder
    is run."""

    url: str
    model: ModelServer
    token: str

    def python(self, environment: str, name: str) -> Any:
        """What a Python program prints, in JSON."""
        return self.printed([str(program(environment, "python")), str(PROGRAMS / name)])

    def node(self, name: str) -> Any:
        """What a Node program prints, in JSON."""
        folder = installed(".nox/node")
        # Packages are looked for from the program's own place.
        text = (PROGRAMS / name).read_text(encoding="utf-8")
        return self.printed(["node", "--input-type=module", "--eval", text], folder)

    def printed(self, command: list[str], folder: Path = ROOT, **variables: str) -> Any:
        """The JSON in the last line of what a command prints."""
        return json.loads(self.run(command, folder, **variables).strip().splitlines()[-1])

    def run(self, command: list[str], folder: Path = ROOT, **variables: str) -> str:
        """What a command prints."""
        own = {
            "RAGSTONE": self.url,
            "QUESTION": QUESTION,
            "TOKEN": self.token,
            **QUIET,
            **variables,
        }
        kept = {name: item for name, item in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            command,
            cwd=folder,
            env={**kept, **own},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stderr[-4000:] + done.stdout[-2000:]
        return done.stdout


QUIET = {
    "GRADIO_ANALYTICS_ENABLED": "False",
    "HF_HUB_OFFLINE": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OPENAI_API_KEY": "x",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
}
"""Some clients would ask their makers' servers when they start."""


def installed(folder: str) -> Path:
    """The folder of an environment; fails where `make test-real` has not made it."""
    place = ROOT / folder
    assert place.exists(), f"{folder} is missing; make test-real installs it"
    return place


def program(environment: str, name: str) -> Path:
    """A program of a Python environment."""
    return installed(environment) / "bin" / name


@contextmanager
def other_server(
    command: list[str], port: int, healthy: str, folder: Path, **variables: str
) -> Iterator[str]:
    """The address of somebody else's server, once `healthy` answers there."""
    kept = {name: item for name, item in os.environ.items() if name != "PYTHONPATH"}
    with TemporaryFile("w+") as log:
        process = subprocess.Popen(
            command, env={**kept, **variables}, cwd=folder, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            url = f"http://127.0.0.1:{port}"
            if not answers(f"{url}{healthy}", process):
                log.seek(0)
                raise AssertionError(f"{command[0]} does not start: {log.read()[-2000:]}")
            yield url
        finally:
            process.terminate()
            process.wait(60)


def answers(url: str, process: "subprocess.Popen[bytes]") -> bool:
    """Whether a process answers at an address before it ends."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return True
        time.sleep(0.5)
    return False


@pytest.fixture(scope="package")
def started(tmp_path_factory: pytest.TempPathFactory, indexed_documents: Path) -> Iterator[Clients]:
    data = copied(indexed_documents, tmp_path_factory.mktemp("clients") / "data")
    with model_server() as model:
        llm = {"LLM__MODEL": "some", "LLM__BASE_URL": model.url, "LLM__RETRIES": "0"}
        with serving(data, **llm, CACHE__ENABLED="false") as url:
            yield Clients(url, model, local_token(data))


@pytest.fixture
def clients(started: Clients) -> Clients:
    """The server with a chat model that answers as usual."""
    started.model.says = SAID
    started.model.way = "good"
    started.model.ways = []
    started.model.replies = {}
    started.model.calls.clear()
    return started


@pytest.fixture
def opens(started: Clients) -> Callable[[str], bool]:
    """Whether an address is one at which the web app opens the manual."""
    return lambda url: url.startswith(f"{started.url}/#/documents/default/")

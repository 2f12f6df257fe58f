"""Several processes at one address: when they may be, and that they come again when they die."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from ragstone.http.server import workers
from ragstone.settings import IndexSettings, ServerSettings, Settings, StateSettings
from tests.e2e.processes import RAGSTONE, environment
from tests.patience import PATIENCE
from tests.settings.test_file import NACOS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
SERVERS = {
    "SERVER__WORKERS": "2",
    "SERVER__METRICS_TOKEN": "m",
    "INDEX__URL": "http://127.0.0.1:9",
    "STATE__URL": "postgresql://127.0.0.1:9/x",
}


@pytest.mark.parametrize(
    ("index", "state", "named"),
    [("", "", "INDEX__URL"), ("http://x", "", "STATE__URL"), ("", "postgresql://x", "INDEX__URL")],
)
def test_given_a_store_that_only_one_process_can_hold_then_there_is_one_and_the_log_says_why(
    index: str, state: str, named: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(
        server=ServerSettings(workers=2, port=8001),
        index=IndexSettings(url=index),
        state=StateSettings(url=state),
    )
    limited = workers.limit(settings).server
    assert (limited.workers, limited.port) == (1, 8001)
    assert f"Set {named}" in caplog.text


PRINTED = dict(
    line.split("=")
    for line in """\
PORT=8001
WORKERS=4
MAX_CONCURRENT_QUERIES=200
LLM_PROVIDER=openai
OPENAI_API_KEY=sk-key
OPENAI_MODEL=gpt-4-turbo
LLM_TEMPERATURE=0.7
LLM_MAX_TOKENS=2000
RETRIEVAL_SERVICE_URL=http://retrieval-service:8004
DEFAULT_TOP_K=5
DEFAULT_MODE=simple
ENABLE_QUERY_REWRITING=true
HYDE_ENABLED=true
MULTI_QUERY_ENABLED=true
MULTI_QUERY_NUM=3
ENABLE_SELF_RAG=false
SELF_RAG_MAX_ITERATIONS=3
SELF_RAG_SCORE_THRESHOLD=70""".splitlines()
)


@pytest.mark.conforms("RAG engine v1", "Environment", "The printed environment and file start it")
@pytest.mark.conforms(
    "RAG engine v1", "Environment", "WORKERS=4 on local state: one process, and the log says so"
)
@pytest.mark.parametrize("by_file", [False, True])
def test_given_what_the_document_prints_then_the_server_starts_with_one_process(
    tmp_path: Path, by_file: bool
) -> None:
    (tmp_path / "config.yaml").write_text(NACOS, encoding="utf-8")
    file = {"RAGSTONE_CONFIG": "config.yaml", "OPENAI_API_KEY": "sk-key"}
    with subprocess.Popen(
        [RAGSTONE, "serve", "--port", "0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(tmp_path / "data", **(file if by_file else PRINTED)),
    ) as process:
        assert process.stdout
        assert process.stdout.readline().startswith("Ragstone is ready")
        url = json.loads((tmp_path / "data" / "server.json").read_text())["url"]
        # The printed retrieval service is not there, and the server says so.
        assert httpx2.get(f"{url}/api/v1/rag/health").json()["status"] == "unhealthy"
        assert not children(process.pid)
        process.terminate()
        _, logged = process.communicate(timeout=PATIENCE)
    assert "SERVER__WORKERS is 4, but one process starts" in logged


def data_of(process: subprocess.Popen[str]) -> Path:
    """The data directory of a server."""
    variables = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
    [data] = [variable[14:] for variable in variables if variable.startswith(b"RAGSTONE_DATA=")]
    return Path(data.decode())


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with a_server(tmp_path) as found:
        yield found


@contextmanager
def a_server(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server of two processes, and its address."""
    command = [sys.executable, "-m", "tests.fake_ragstone", "serve", "--port", "0"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True, env=environment(tmp_path, **SERVERS)
    ) as process:
        assert process.stdout
        assert process.stdout.readline().startswith("Ragstone is ready")
        yield process, json.loads((tmp_path / "server.json").read_text())["url"]
        process.terminate()
        process.wait(timeout=PATIENCE)


def children(process: int) -> list[int]:
    """The processes that answer; multiprocessing has one more that only counts resources."""
    found = []
    for item in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(item.read_text().rsplit(")", 1)[1].split()[1])
            command = (item.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == process and b"spawn_main" in command:
            found.append(int(item.parent.name))
    return found


@pytest.mark.conforms(
    "RAG engine v1", "Environment", "WORKERS: several processes on servers' state answer"
)
def test_given_two_processes_then_both_answer_and_one_that_dies_comes_again(
    server: tuple[subprocess.Popen[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    process, url = server
    first = children(process.pid)
    assert len(first) == 2
    for _ in range(20):
        assert httpx2.get(url + "/health").status_code == 200
    os.kill(first[0], signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and len(set(children(process.pid)) - {first[0]}) < 2:
        time.sleep(0.1)
    assert len(set(children(process.pid)) - {first[0]}) == 2
    assert httpx2.get(url + "/health").status_code == 200
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=PATIENCE) == 0
    assert not any(Path(f"/proc/{item}").exists() for item in first)


def read_figures(url: str) -> dict[str, float]:
    """Every figure of the server by its name and labels."""
    lines = httpx2.get(url + "/metrics").raise_for_status().text.splitlines()
    return {k: float(v) for k, _, v in (line.rpartition(" ") for line in lines) if k[:1] != "#"}


def test_given_two_processes_then_figures_are_of_both_and_outlive_one(
    server: tuple[subprocess.Popen[str], str],
) -> None:
    process, url = server
    health = 'ragstone_requests_total{method="GET",route="/health",status="200"}'
    counted = set()
    for asked in range(1, 41):
        # A connection each, so that the system deals them out.
        assert httpx2.get(url + "/health").status_code == 200
        counted.add(read_figures(url)[health])
        assert max(counted) == asked
    assert counted == set(range(1, 41))
    folder = data_of(process) / "figures"
    assert len({item.stem.rsplit("_")[-1] for item in folder.glob("counter_*.db")}) == 2

    first = children(process.pid)
    os.kill(first[0], signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and len(set(children(process.pid)) - {first[0]}) < 2:
        time.sleep(0.1)
    while True:  # The new process listens when it has started.
        found = read_figures(url)
        if len(list(folder.glob("counter_*.db"))) == 3:
            break
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert found[health] == 40
    assert found["ragstone_questions_running"] == 0
    assert not list(folder.glob(f"gauge_live*_{first[0]}.db"))
    assert found['ragstone_pool_connections{pool="state",what="most"}'] == 2 * 8


def test_given_a_new_start_then_the_figures_begin_anew(tmp_path: Path) -> None:
    for _ in range(2):
        with a_server(tmp_path) as (_, url):
            assert not any("/health" in name for name in read_figures(url))
            assert httpx2.get(url + "/health").status_code == 200
            assert any("/health" in name for name in read_figures(url))


def test_given_a_process_that_cannot_start_then_the_server_says_why_and_ends(
    tmp_path: Path,
) -> None:
    command = [RAGSTONE, "serve", "--port", "0"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environment(tmp_path, **{**SERVERS, "INDEX__URL": "ftp://127.0.0.1"}),
    )
    assert done.returncode == 1
    assert "Check STATE__URL" in done.stderr
    assert "Traceback" not in done.stderr

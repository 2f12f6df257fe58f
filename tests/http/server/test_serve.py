"""`ragstone serve` as a process: its file, its signals, its refusals."""

import http.client
import json
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from ragstone import Client
from ragstone.core.errors import Unauthorized
from ragstone.service.server_file import find_server
from tests.e2e.processes import environment
from tests.patience import PATIENCE
from tests.with_constants import constants

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
BODY = {"model": "ragstone", "messages": [{"role": "user", "content": "slow"}], "stream": True}


def ragstone(data: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "tests.fake_ragstone", "--data", str(data), *arguments]


def run(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ragstone(data, *arguments)
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    with served(tmp_path) as process:
        assert process.stdout
        line = process.stdout.readline()
        assert line.startswith("Ragstone is ready at http://127.0.0.1:"), line
        yield process
        process.kill()


def test_the_server_file(tmp_path: Path, server: subprocess.Popen[str]) -> None:
    file = tmp_path / "server.json"
    content = json.loads(file.read_text())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert content["pid"] == server.pid
    assert find_server(tmp_path) == (content["url"], content["token"])
    assert httpx2.get(content["url"] + "/ready").status_code == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_stop_it_after_running_answers(
    tmp_path: Path, server: subprocess.Popen[str], number: signal.Signals
) -> None:
    url = json.loads((tmp_path / "server.json").read_text())["url"]
    with httpx2.stream("POST", url + "/v1/chat/completions", json=BODY) as response:
        received = next(pieces := response.iter_text())
        server.send_signal(number)
        received += "".join(pieces)
    assert received.rstrip().endswith("[DONE]")
    assert server.wait(timeout=PATIENCE) == 0
    assert server.stdout
    assert server.stdout.read() == "closed\n"
    assert not (tmp_path / "server.json").exists()


def test_commands_go_through_the_server(tmp_path: Path, server: subprocess.Popen[str]) -> None:
    asked = run(tmp_path, "ask", "q")
    assert asked.returncode == 0
    assert asked.stdout.startswith("The answer is 42 [1].")
    assert "closed" not in asked.stdout
    assert "http://127.0.0.1" in run(tmp_path, "status").stdout


def test_a_second_server_is_refused(tmp_path: Path, server: subprocess.Popen[str]) -> None:
    second = run(tmp_path, "serve", "--port", "0")
    assert second.returncode == 1
    assert second.stderr.startswith("ragstone: A server at http://127.0.0.1:")
    assert second.stderr.count("\n") == 1


def test_a_killed_servers_file_is_ignored(tmp_path: Path, server: subprocess.Popen[str]) -> None:
    server.kill()
    server.wait()
    assert (tmp_path / "server.json").exists()
    assert run(tmp_path, "ask", "q").stdout.endswith("closed\n")


def test_given_others_and_no_credentials_then_an_admins_key_is_made(tmp_path: Path) -> None:
    with served(tmp_path, "--host", "0.0.0.0") as process:
        try:
            assert process.stdout
            assert "key" in process.stdout.readline()
            key = process.stdout.readline().strip()
            assert process.stdout.readline().startswith("Ragstone is ready")
            url = json.loads((tmp_path / "server.json").read_text())["url"]
            assert httpx2.get(url + "/v1/models").status_code == 401
            headers = {"x-api-key": key, "host": "docs.example"}
            mine = httpx2.get(url + "/api/v1/keys/self", headers=headers).json()
            assert mine["role"] == "admin"
        finally:
            process.terminate()
            assert process.wait(timeout=PATIENCE) == 0


def test_given_others_and_a_shared_state_then_the_key_comes_from_the_settings(
    tmp_path: Path,
) -> None:
    shared = {"STATE__URL": "postgresql://127.0.0.1:1/none"}
    with served(tmp_path, "--host", "0.0.0.0", **shared) as process:
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "AUTH__ADMIN_KEY" in errors
    assert errors.count("\n") == 1
    with served(tmp_path, "--host", "0.0.0.0", **shared, AUTH__ADMIN_KEY="k" * 32) as process:
        try:
            assert process.stdout
            assert process.stdout.readline().startswith("Ragstone is ready")
            url = json.loads((tmp_path / "server.json").read_text())["url"]
            for key, status in (("k" * 32, 200), ("k" * 33, 401), ("", 401)):
                answer = httpx2.get(url + "/api/v1/keys/self", headers={"x-api-key": key})
                assert answer.status_code == status
        finally:
            process.terminate()
            assert process.wait(timeout=PATIENCE) == 0


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = run(tmp_path, "serve", "--port", port)
    assert refused.returncode == 1
    assert f"port {port}" in refused.stderr
    assert refused.stderr.count("\n") == 1


def as_a_terminal_starts_it() -> None:
    """Whatever the tests' own process has been told about signals is inherited otherwise."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_an_interrupted_command(tmp_path: Path) -> None:
    command = ragstone(tmp_path, "ask", "endless")
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=ROOT, stdout=pipe, stderr=pipe, preexec_fn=as_a_terminal_starts_it
    ) as process:
        assert process.stdout
        process.stdout.read(1000)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert errors == b"A note.\nragstone: stopped.\n"


def test_a_reader_that_leaves(tmp_path: Path) -> None:
    command = ragstone(tmp_path, "ask", "endless")
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.read(1000)
        process.stdout.close()
        assert process.wait(timeout=PATIENCE) == 1
        assert process.stderr.read() == b"A note.\n"


@pytest.mark.usefixtures("server")
def test_given_one_connection_then_no_answer_on_it_waits(tmp_path: Path) -> None:
    url = json.loads((tmp_path / "server.json").read_text())["url"]
    connection = http.client.HTTPConnection(urlsplit(url).netloc)
    times = [1.0]
    # With Nagle and delayed acknowledgements each would take 0.04 s; what else is slow varies.
    while len(times) < 1000 and min(times) > 0.03:
        started = time.perf_counter()
        connection.request("GET", "/health")
        connection.getresponse().read()
        times.append(time.perf_counter() - started)
    connection.close()
    assert min(times) < 0.03


def served(data: Path, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    command = ragstone(data, "serve", "--port", "0", *arguments)
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True, env=environment(data, **variables)
    )


def test_given_credentials_then_it_listens_for_others_and_the_command_line_goes_on(
    tmp_path: Path,
) -> None:
    secret = {"AUTH__PROXY_SECRET": "s3", "SERVER__ALLOWED_HOSTS": "docs.example.com"}
    with served(tmp_path, "--host", "0.0.0.0", **secret) as process:
        try:
            assert process.stdout
            line = process.stdout.readline()
            assert line.startswith("Ragstone is ready at http://127.0.0.1:")
            url = json.loads((tmp_path / "server.json").read_text())["url"]
            assert httpx2.get(url + "/v1/models").status_code == 401
            made = run(tmp_path, "keys", "create", "n", "--json")
            key = json.loads(made.stdout)["secret"]
            allowed = httpx2.get(url + "/v1/models", headers={"x-api-key": key})
            assert allowed.status_code == 200
            assert run(tmp_path, "ask", "q").stdout.startswith("The answer is 42")
            listed = json.loads(run(tmp_path, "keys", "list", "--json").stdout)["keys"]
            assert run(tmp_path, "keys", "revoke", listed[0]["id"]).returncode == 0
            gone = httpx2.get(url + "/v1/models", headers={"x-api-key": key})
            assert gone.status_code == 401
        finally:
            process.terminate()
            assert process.wait(timeout=PATIENCE) == 0


def test_given_credentials_that_are_not_required_then_it_does_not_listen_for_others(
    tmp_path: Path,
) -> None:
    settings = {"AUTH__REQUIRED": "false", "AUTH__PROXY_SECRET": "s3"}
    with served(tmp_path, "--host", "0.0.0.0", **settings) as process:
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "AUTH__REQUIRED" in errors


def test_given_a_grace_period_then_a_longer_stream_is_cut(tmp_path: Path) -> None:
    soon = constants({"ragstone.http.server.answering.GRACE_SECONDS": 1})
    with served(tmp_path, **soon) as process:
        assert process.stdout
        process.stdout.readline()
        url = json.loads((tmp_path / "server.json").read_text())["url"]
        body = {**BODY, "messages": [{"role": "user", "content": "endless"}]}
        with httpx2.stream("POST", url + "/v1/chat/completions", json=body) as response:
            pieces = response.iter_bytes()
            next(pieces)
            process.terminate()
            assert process.wait(timeout=PATIENCE) == 0  # The stream would never end by itself.


def test_given_no_credentials_then_the_clients_of_the_owner_have_the_token_and_others_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(tmp_path, AUTH__GUESTS="nothing") as process:
        try:
            assert process.stdout
            said = [process.stdout.readline() for _ in range(3)]
            assert "ragstone token" in "".join(said)
            url = json.loads((tmp_path / "server.json").read_text())["url"]
            assert httpx2.get(url + "/v1/models").status_code == 401
            token = run(tmp_path, "token").stdout.strip()
            assert token not in "".join(said)  # It is not a terminal.
            allowed = httpx2.get(url + "/v1/models", headers={"x-api-key": token})
            assert allowed.status_code == 200
            address = run(tmp_path, "token", "--login").stdout.strip()
            assert httpx2.get(address).status_code == 303
            assert run(tmp_path, "ask", "q").stdout.startswith("The answer is 42")
            monkeypatch.setenv("RAGSTONE_DATA", str(tmp_path))
            with Client(url) as rag:
                assert str(rag.ask("q")).startswith("The answer is 42")
            monkeypatch.setenv("RAGSTONE_DATA", str(tmp_path / "another"))
            with Client(url) as rag, pytest.raises(Unauthorized):
                rag.ask("q")
        finally:
            process.terminate()
            assert process.wait(timeout=PATIENCE) == 0
    assert "No server runs" in run(tmp_path, "token", "--login").stderr
    with served(tmp_path, AUTH__ADMIN_KEY="k" * 43) as process:
        try:
            assert process.stdout
            process.stdout.readline()
            assert "Sign in with a key" in run(tmp_path, "token", "--login").stderr
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE)
    assert "no data directory" in run(tmp_path / "nowhere", "token").stderr

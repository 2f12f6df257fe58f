"""Connections as a real server has them: silent, slow, many, and with a body without end."""

import asyncio
import contextlib
import json
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from ragstone.http.server.connections import reserve_connections
from tests.e2e.processes import environment
from tests.patience import PATIENCE
from tests.with_constants import constants

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
CHAT = "/v1/chat/completions"
IDLE = 2000


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, int]]:
    """The real server on the fake service, in a process of its own: its address and its id."""
    command = [sys.executable, "-m", "tests.fake_ragstone", "serve", "--port", "0"]
    place = "ragstone.http.server.answering"
    limits = constants({f"{place}.HEAD_SECONDS": 2, f"{place}.KEEP_ALIVE_SECONDS": 1})
    pipe = subprocess.PIPE
    variables = environment(tmp_path, **limits)
    with subprocess.Popen(
        command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True, env=variables
    ) as process:
        assert process.stdout
        assert process.stdout.readline().startswith("Ragstone is ready")
        yield json.loads((tmp_path / "server.json").read_text())["url"], process.pid
        process.terminate()
        assert process.wait(timeout=PATIENCE) == 0


def memory(process: int) -> float:
    """Resident megabytes."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def connected(url: str) -> socket.socket:
    place = urlsplit(url)
    return socket.create_connection((place.hostname or "", place.port or 0), PATIENCE)


def ended(connection: socket.socket, seconds: float) -> bool:
    """Whether the server ends the connection in this time."""
    connection.settimeout(seconds)
    try:
        while connection.recv(1000):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


@pytest.mark.parametrize("sent", [b"", b"GET /health HTTP/1.1\r\nHost: local"])
def test_given_a_connection_without_a_whole_head_then_it_is_ended(
    server: tuple[str, int], sent: bytes
) -> None:
    with connected(server[0]) as connection:
        connection.sendall(sent)
        assert not ended(connection, 0.5)
        assert ended(connection, PATIENCE)


def test_given_a_head_that_comes_byte_by_byte_then_it_is_ended_all_the_same(
    server: tuple[str, int],
) -> None:
    with connected(server[0]) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
        started = time.monotonic()
        with pytest.raises(OSError):  # noqa: PT011
            while time.monotonic() - started < PATIENCE:
                connection.sendall(b"X-A: b\r\n")
                time.sleep(0.1)
        assert time.monotonic() - started > 1


def test_given_a_head_without_end_then_it_is_refused(server: tuple[str, int]) -> None:
    with connected(server[0]) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: ")
        with contextlib.suppress(OSError):
            for _ in range(200):
                connection.sendall(b"b" * 1000)
                time.sleep(0.002)
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(1000).startswith(b"HTTP/1.1 400")
        assert ended(connection, PATIENCE)


def test_given_a_connection_that_was_answered_then_the_next_head_must_come_too(
    server: tuple[str, int],
) -> None:
    request = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connected(server[0]) as connection:
        for _ in range(3):
            connection.sendall(request)
            received = b""
            while b"ok" not in received:
                received += connection.recv(10_000)
            time.sleep(0.8)
        connection.sendall(request[:20])
        assert not ended(connection, 1.2)
        assert ended(connection, PATIENCE)


def test_given_a_slow_answer_then_the_time_of_the_head_does_not_end_it(
    server: tuple[str, int],
) -> None:
    body = {"model": "ragstone", "messages": [{"role": "user", "content": "endless"}]}
    with httpx2.stream("POST", server[0] + CHAT, json={**body, "stream": True}) as response:
        started = time.monotonic()
        for _ in response.iter_bytes():
            if time.monotonic() - started > 3:
                return
    raise AssertionError("the stream ended")


def test_given_many_idle_connections_then_others_are_answered_and_memory_is_small(
    server: tuple[str, int],
) -> None:
    url, process = server
    assert reserve_connections(IDLE + 100) >= IDLE
    before = memory(process)
    with contextlib.ExitStack() as held:
        for _ in range(IDLE):
            held.enter_context(connected(url))
        assert httpx2.get(url + "/health", timeout=PATIENCE).status_code == 200
        assert memory(process) - before < 0.05 * IDLE
    time.sleep(2.5)
    assert httpx2.get(url + "/health", timeout=PATIENCE).status_code == 200


@pytest.mark.parametrize("announced", [True, False])
def test_given_a_body_of_a_gigabyte_then_it_is_refused_without_growth(
    server: tuple[str, int], announced: bool
) -> None:
    url, process = server
    megabyte = b"x" * 1_000_000

    async def send() -> int:
        async def pieces():  # type: ignore[no-untyped-def]
            for _ in range(1000):
                yield megabyte

        headers = {"content-type": "application/json"}
        if announced:
            headers["content-length"] = str(1_000_000_000)
        async with httpx2.AsyncClient(timeout=PATIENCE) as client:
            try:
                response = await client.post(url + CHAT, content=pieces(), headers=headers)
            except httpx2.TransportError:
                return 413  # Ended while it was still sending, which is a refusal too.
            return response.status_code

    httpx2.get(url + "/health")
    before = memory(process)
    assert asyncio.run(send()) == 413
    assert memory(process) - before < 30
    assert httpx2.get(url + "/health", timeout=PATIENCE).status_code == 200


@pytest.mark.parametrize("expect", ["", "expect: 100-continue\r\n"])
def test_given_an_upload_of_ten_gigabytes_then_it_is_refused_before_its_first_byte(
    server: tuple[str, int], expect: str
) -> None:
    head = (
        f"POST {CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10000000000\r\n"
        f"content-type: multipart/form-data; boundary=x\r\n{expect}\r\n"
    )
    with connected(server[0]) as connection:
        connection.settimeout(PATIENCE)
        connection.sendall(head.encode())
        answer = connection.recv(65_536)
        while b"SERVER__MAX_UPLOAD_MB" not in answer:
            more = connection.recv(65_536)
            assert more, answer
            answer += more
    assert answer.startswith(b"HTTP/1.1 413 ")

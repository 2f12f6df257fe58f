"""Clients that read little, late or never, in the middle of a stream of every dialect."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from ragstone.http.server.connections import protocol
from ragstone.settings import ServerSettings, Settings
from tests.fake_service import limited_app
from tests.http.server.long_answers import LONG, LongService, piece
from tests.http_server import running
from tests.patience import PATIENCE

pytestmark = pytest.mark.slow

AHEAD = 500
"""Pieces that may be under way: the engine's 64, and what both ends of a connection hold."""
MESSAGES = [{"role": "user", "content": "long"}]
STREAMS: dict[str, tuple[str, Any]] = {
    "chat_core": ("/v2/rag/query", {"query": "long"}),
    "chat_core_gpt": ("/v2/gpt/query", {"query": "long"}),
    "rag_v1_generate": ("/api/v1/rag/generate/stream", {"query": "long"}),
    "rag_v1_query": ("/api/v1/rag/query-stream", {"query": "long"}),
    "chats": ("/chat/known/stream", {"message": "long"}),
    "pipeline": ("/api/v1/chat/completions", {"message": "long", "stream": True}),
    "openai": ("/v1/chat/completions", {"model": "ragstone", "messages": MESSAGES, "stream": True}),
    "jobs": ("/api/v1/jobs/long/events", None),
}
ONE = {"max_concurrent_queries": 1}
"""A server that answers one question at a time."""
QUESTIONS = [name for name in STREAMS if name != "jobs"]


@pytest.fixture(autouse=True)
def nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragstone.access.setup.WAITING_QUESTIONS", 0)


@contextmanager
def serving(service: LongService, send_seconds: float = 60, **server: Any) -> Iterator[str]:
    """The application behind connections as `ragstone serve` has them."""
    app = limited_app(service, Settings(server=ServerSettings(**server)))
    with running(app, protocol(20, send_seconds, 1000)) as url:
        yield url


def opened(url: str, stream: str) -> socket.socket:
    """A stream that was asked for, and of which nothing has been read yet.

    HTTP/1.0 has no chunks: what comes after the head is the events.
    """
    path, body = STREAMS[stream]
    place = urlsplit(url)
    sent = b"" if body is None else json.dumps(body).encode()
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    connection.settimeout(PATIENCE)
    connection.connect((place.hostname, place.port))
    head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.0\r\nHost: localhost\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
    connection.sendall(head.encode() + sent)
    return connection


def rest(connection: socket.socket, most: int) -> bytes:
    """All that still comes, so many bytes at a time."""
    parts = []
    while part := connection.recv(most):
        parts.append(part)
    return b"".join(parts)


def pieces(stream: bytes) -> list[str]:
    """The text of every event that has some."""
    head, _, events = stream.partition(b"\r\n\r\n")
    assert b" 200 " in head.splitlines()[0]
    lines = [line for event in events.decode().split("\n\n") for line in event.splitlines()]
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return [text for item in data if item != "[DONE]" and (text := said(json.loads(item)))]


def said(event: dict[str, Any]) -> str:
    if "choices" in event:
        return str(event["choices"][0]["delta"].get("content", "")) if event["choices"] else ""
    if "progress" in event and event["state"] == "running":
        return str(event["progress"]["text"])
    return str(event["content"]) if event.get("type") in ("token", "chunk") else ""


def until(so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def asked(url: str) -> int:
    """How another question is answered meanwhile."""
    body = {"query": "short"}
    return httpx.post(
        url + "/v2/rag/query", json=body, trust_env=False, timeout=PATIENCE
    ).status_code


def settled(made: list[int]) -> int:
    """How much has been made when no more is."""
    before = 0
    while len(made) > before or not made:
        before = len(made)
        time.sleep(0.2)
    return before


@pytest.mark.parametrize("stream", STREAMS)
def test_given_a_client_that_stops_reading_and_then_reads_slowly_then_nothing_is_lost(
    stream: str,
) -> None:
    service = LongService()
    with serving(service, **ONE) as url, opened(url, stream) as connection:
        begun = connection.recv(1000)
        assert settled(service.made) < AHEAD
        assert not service.closed
        assert asked(url) == (429 if stream in QUESTIONS else 200)
        slowly = b"".join(connection.recv(20) for _ in range(20_000))
        assert settled(service.made) < 2 * AHEAD
        found = begun + slowly + rest(connection, 100_000)
        assert pieces(found) == [piece(number) for number in range(LONG)]


def test_given_many_that_do_not_read_then_others_are_answered_meanwhile() -> None:
    service = LongService()
    with serving(service) as url, ExitStack() as held, httpx.Client(trust_env=False) as client:
        slow = [held.enter_context(opened(url, stream)) for stream in STREAMS for _ in range(10)]
        assert settled(service.made) < AHEAD * len(slow)
        for stream in QUESTIONS:
            path, body = STREAMS[stream]
            other = json.loads(json.dumps(body).replace("long", "short"))
            assert piece(0) in client.post(url + path, json=other, timeout=PATIENCE).text
        assert service.closed == ["short"] * len(QUESTIONS)


@pytest.mark.parametrize("stream", STREAMS)
def test_given_a_client_that_never_reads_then_it_is_ended_and_its_place_is_free(
    stream: str,
) -> None:
    service = LongService()
    with serving(service, 0.5, **ONE) as url, opened(url, stream) as connection:
        until(lambda: bool(service.closed))
        assert service.closed == ["long"]
        assert len(service.made) < AHEAD
        assert asked(url) == 200
        with pytest.raises(ConnectionResetError):
            rest(connection, 100_000)


def test_given_a_client_that_reads_a_large_answer_slowly_then_it_gets_all_of_it() -> None:
    service, seconds = LongService(), 1.5
    text = "x" * 4_000_000
    service.health = {"index": text}
    with serving(service, seconds) as url:
        place = urlsplit(url)
        with socket.create_connection((place.hostname, place.port), 30) as connection:
            connection.sendall(b"GET /api/v1/rag/health HTTP/1.0\r\nHost: localhost\r\n\r\n")
            started, received = time.monotonic(), 0
            while part := connection.recv(50_000):
                received += len(part)
                time.sleep(0.05)
            assert received > len(text)
            assert time.monotonic() - started > 1.5 * seconds

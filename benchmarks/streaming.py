"""Many answers at once, streamed by one process over HTTP, and what HTTP adds to the engine.

The server is a process of its own with the real recipe, index and embedder; a scripted answerer
says an answer of 100 words at 50 a second, as a chat model might. `BENCH_STREAMS=2000
BENCH_WORDS_A_SECOND=30` are more and slower ones, which need a longer `SERVER__REQUEST_SECONDS`.
Clients are plain sockets in this process, which read a stream in pieces as they come. A gap is the
time between two events of one stream.
"""

import asyncio
import gc
import itertools
import json
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.common import resident_mb
from benchmarks.row import Row
from ragstone import build
from ragstone.access.setup import make_interceptor
from ragstone.core.turn import Ask
from ragstone.http.app import create_app
from ragstone.plugins.evaluation.measures import percentile
from ragstone.ports import Said
from ragstone.service import IngestRequest
from ragstone.settings import ServerSettings, Settings
from tests.scripted import Scripted

STREAMS = int(os.environ.get("BENCH_STREAMS", "500"))
PAUSE = 1 / int(os.environ.get("BENCH_WORDS_A_SECOND", "50"))
REQUEST_SECONDS = max(60.0, 0.15 * STREAMS)
"""Until the first event: each question takes a processor some 50 ms before it, all come at once."""
LEAVING = 64
ROUNDS = 60
START_TRIES = 1_200
"""Tenths of a second until the server has read the documents, on a machine that is busy."""

DOCUMENTS = Path(__file__).parents[1] / "examples" / "documents"
QUESTION = "How long does a full battery charge last without sun?"
ANSWER = """
At 20 degrees Celsius a fully charged battery keeps the station running for 31 days without sun [1].
In the cold this is less: at minus 20 degrees it lasts 19 days [1]. The battery is of the lithium
iron phosphate type and holds 24 ampere-hours [1]. The solar panel charges it with up to 30 watts
[1]. Charging it below 0 degrees Celsius is not possible, as the controller refuses and shows fault
code E14 [1]. If the station stands in the shade for longer than that, replace the battery in time,
and look at the log when you come back to it.
"""


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as directory:
        return asyncio.run(_run(Path(directory)))


async def _run(data: Path) -> list[Row]:
    async with _server(data, PAUSE) as (port, pid):
        await _stream(port, 0)
        streams = await asyncio.gather(*(_stream(port, number) for number in range(STREAMS)))
        memory = resident_mb(pid)
        gaps = [gap for stream in streams for gap in stream.gaps]
        whole = sum(stream.finished for stream in streams)
        left = await _leave(port)
    async with _server(data, 0.0) as (port, _):
        over_http, inside = await _overhead(port)
    added = 1000 * (percentile(over_http, 0.5) - percentile(inside, 0.5))
    return [
        Row(f"{STREAMS} answers streamed at once: complete", whole, least=STREAMS),
        Row(
            f"{STREAMS} answers at once: gap between two events, above the model's, p95",
            1000 * (percentile(gaps, 0.95) - PAUSE),
            "ms",
            most=100,
        ),
        Row(f"{STREAMS} answers at once: resident memory", memory, "MB", most=1000),
        Row(
            f"{LEAVING} clients leave: answers that had stopped a second later", left, least=LEAVING
        ),
        Row("HTTP: added to an answer of the engine, p50", added, "ms", most=2),
    ]


class _Stream:
    """What one client saw."""

    def __init__(self) -> None:
        self.gaps: list[float] = []
        self.finished = False


async def _stream(port: int, number: int) -> _Stream:
    """Return one answer, read to its end."""
    seen = _Stream()
    reader, writer = await _ask(port, f"{QUESTION} ({number})")
    last = 0.0
    while data := await reader.read(65536):
        now = time.perf_counter()
        if b"data: " in data and last:
            seen.gaps.append(now - last)
        last = now if b"data: " in data else last
        seen.finished = seen.finished or b"[DONE]" in data
    writer.close()
    return seen


async def _ask(port: int, question: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(_request(question, stream=True, connection="close"))
    await writer.drain()
    return reader, writer


def _request(question: str, stream: bool, connection: str) -> bytes:
    asked = {
        "model": "ragstone",
        "stream": stream,
        "cache": False,
        "messages": [{"role": "user", "content": question}],
    }
    body = json.dumps(asked).encode()
    return (
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: %s\r\n"
        b"content-type: application/json\r\ncontent-length: %d\r\n\r\n"
        % (connection.encode(), len(body))
    ) + body


async def _leave(port: int) -> int:
    """Clients that leave in the middle of their answer; how many answers had stopped a second
    later."""
    before = await _running(port)
    streams = [await _ask(port, f"{QUESTION} [{number}]") for number in range(LEAVING)]
    await asyncio.sleep(1.0)
    begun = await _running(port)
    for _, writer in streams:
        writer.transport.abort()
    await asyncio.sleep(1.0)
    return round(begun - max(before, await _running(port)))


async def _listens(port: int) -> bool:
    try:
        await _running(port)
    except (OSError, ValueError):
        return False
    return True


async def _running(port: int) -> float:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /metrics HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
    text = (await reader.read(-1)).decode()
    writer.close()
    [line] = [
        splitline
        for splitline in text.splitlines()
        if splitline.startswith("ragstone_questions_running ")
    ]
    return float(line.split()[1])


async def _overhead(port: int) -> tuple[list[float], list[float]]:
    """Return seconds of a whole answer over HTTP, and as the server measures the engine itself.

    On one connection that is kept, as the clients of every chat API keep theirs.
    """
    over_http, inside = [], []
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for number in range(ROUNDS):
        started = time.perf_counter()
        writer.write(_request(f"{QUESTION} {{{number}}}", stream=False, connection="keep-alive"))
        await _whole(reader)
        over_http.append(time.perf_counter() - started)
        writer.write(b"GET /bench HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        inside.append(float(await _whole(reader)))
    writer.close()
    return over_http[5:], inside[5:]


async def _whole(reader: asyncio.StreamReader) -> bytes:
    """Return the body of one response."""
    head = await reader.readuntil(b"\r\n\r\n")
    [length] = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
    return await reader.readexactly(int(length.split(b":")[1]))


@asynccontextmanager
async def _server(data: Path, pause: float) -> AsyncIterator[tuple[int, int]]:
    """The server's port and process."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "benchmarks.streaming", str(data), str(port), str(pause)]
    process = await asyncio.create_subprocess_exec(*command)
    try:
        for _ in range(START_TRIES):
            if await _listens(port):
                break
            await asyncio.sleep(0.1)
        else:
            raise TimeoutError("The server did not begin to listen.")
        yield port, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()


async def _serve(data: Path, port: int, pause: float) -> None:
    import uvicorn
    from starlette.responses import PlainTextResponse

    server = ServerSettings(max_concurrent_queries=2 * STREAMS, request_seconds=REQUEST_SECONDS)
    settings = Settings(ragstone_data=data, server=server)
    around = make_interceptor(settings)
    async with build.open(settings, interceptor=around) as service:
        await service.start_jobs()
        async for _ in service.ingest(IngestRequest((str(DOCUMENTS),))):
            pass
        words = [Said(f"{word} ") for word in ANSWER.split()]
        scripted = Scripted(words, pause=pause)
        engine: Any = service._answers
        object.__setattr__(engine._adapters, "answerer", scripted)
        app = create_app(service, settings, "token", around)

        numbers = itertools.count(ROUNDS)  # Other questions than over HTTP, of the same form.

        async def bench(_: Any) -> PlainTextResponse:
            scripted.asked.clear()
            started = time.perf_counter()
            async for _ in service.ask(Ask(f"{QUESTION} {{{next(numbers)}}}", cache=False)):
                pass
            return PlainTextResponse(str(time.perf_counter() - started))

        app.add_route("/bench", bench)
        config = uvicorn.Config(
            app, host="127.0.0.1", port=port, log_level="error", access_log=False, backlog=2048
        )
        gc.freeze()  # as `ragstone serve` does when it has started
        await uvicorn.Server(config).serve()


if __name__ == "__main__":
    directory, port, pause = sys.argv[1:]
    asyncio.run(_serve(Path(directory), int(port), float(pause)))

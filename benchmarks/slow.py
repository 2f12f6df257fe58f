"""Two thousand idle and slow connections to a server: `python -m benchmarks slow`.

Of five kinds as many each: who says nothing, who sends a request's head a byte at a time, or a
body, who never reads a large answer, and who never reads a stream. Meanwhile others ask. The
server's limits of time are shortened, so that all of them pass within the run: `LIMITS`, in
seconds, instead of 20, 5, 60 and 60. SLOW_CONNECTIONS=200 opens so many instead of 2,000.
"""

import asyncio
import json
import os
import random
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from benchmarks.common import RAGSTONE, resident_mb
from benchmarks.row import Row
from ragstone.http.server.connections import reserve_connections
from ragstone.service.server_file import SERVER_FILE
from tests.e2e.processes import environment, serving

CONNECTIONS = int(os.environ.get("SLOW_CONNECTIONS", "2000"))
LIMITS = {"SERVER__REQUEST_SECONDS": "20"}
BYTE_SECONDS = 0.5
"""Between two bytes of a slow client; each kind of it sends for as long as it may."""

SLOWEST = 60 + 20 + 5
"""Seconds after which the last has been ended: what it may read nothing for, a body, and 5."""

DOCUMENTS = Path(__file__).parents[1] / "examples" / "documents"
QUESTION = "How long does a full battery charge last without sun?"
CHAT = "/v1/chat/completions"


def run() -> Iterator[Row]:
    assert reserve_connections(CONNECTIONS) >= CONNECTIONS, (
        "raise the limit of open files: ulimit -n"
    )
    with tempfile.TemporaryDirectory() as directory:
        data = Path(directory) / "data"
        data.mkdir()
        with serving(data, **LIMITS) as url:
            process = int(json.loads((data / SERVER_FILE).read_text())["pid"])
            subprocess.run(
                [RAGSTONE, "ingest", str(DOCUMENTS)],
                env=environment(data),
                capture_output=True,
                check=True,
            )
            yield from asyncio.run(_attack(url, process))


async def _attack(url: str, process: int) -> list[Row]:
    async with httpx2.AsyncClient(base_url=url, timeout=120) as http:
        quiet = [await _time_question(http) for _ in range(10)]
        before, files = resident_mb(process), _open_files(process)
        slow = [asyncio.create_task(_KINDS[n % len(_KINDS)](url)) for n in range(CONNECTIONS)]
        await asyncio.sleep(2)
        most, open_most, others = before, files, list[float]()
        end = time.monotonic() + SLOWEST
        while time.monotonic() < end:
            others.append(await _time_question(http))
            most = max(most, resident_mb(process))
            open_most = max(open_most, _open_files(process))
            await asyncio.sleep(0.2)
        left = _open_files(process) - files
        for item in slow:
            item.cancel()
        ended = await asyncio.gather(*slow, return_exceptions=True)
    broken = [
        item for item in ended if isinstance(item, Exception) and not isinstance(item, OSError)
    ]
    if broken:
        raise broken[0]
    what = f"With {CONNECTIONS:,} idle and slow connections"
    wrong = sum(item < 0 for item in others)
    return [
        Row(f"{what}, questions of others that are not answered", wrong, most=0),
        Row(f"{what}, questions of others", len(others), detail=True),
        Row(f"{what}, a question takes at the median", 1000 * statistics.median(others), "ms"),
        Row("The same without them", 1000 * statistics.median(quiet), "ms", detail=True),
        Row(f"{what}, more memory for each", 1000 * (most - before) / CONNECTIONS, "kB", most=100),
        Row(f"{what}, most files open at a time", open_most, detail=True),
        Row(f"{what}, those that are open after the limits", max(left, 0), most=5),
    ]


async def _time_question(http: httpx2.AsyncClient) -> float:
    """Return the seconds of a question; -1 if it was not answered."""
    body = {"model": "ragstone", "messages": [{"role": "user", "content": QUESTION}]}
    began = time.monotonic()
    answer = await http.post(CHAT, json=body)
    took = time.monotonic() - began
    return took if answer.status_code == 200 and "31 days" in answer.text else -1.0


def _open_files(process: int) -> int:
    return len(os.listdir(f"/proc/{process}/fd"))


async def _idle(url: str) -> None:
    await _send_slowly(url, [])


async def _slow_head(url: str) -> None:
    head = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Padding: " + b"x" * 10_000
    await _send_slowly(url, [head[n : n + 1] for n in range(len(head))])


async def _slow_body(url: str) -> None:
    body = b" " * 10_000
    head = (
        f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    await _send_slowly(url, [head.encode(), *(body[n : n + 1] for n in range(len(body)))])


async def _never_reads(url: str) -> None:
    """What is larger than the system holds of it: the description of the API, several times."""
    await _send_slowly(url, [b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20])


async def _never_reads_a_stream(url: str) -> None:
    # Not all at once: more questions at a time than there are places wait, or are refused.
    await asyncio.sleep(random.uniform(0, SLOWEST / 2))
    said = json.dumps(
        {"model": "ragstone", "stream": True, "messages": [{"role": "user", "content": QUESTION}]}
    )
    head = (
        f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(said)}\r\n\r\n"
    )
    await _send_slowly(url, [(head + said).encode()])


_KINDS = (_idle, _slow_head, _slow_body, _never_reads, _never_reads_a_stream)


async def _send_slowly(url: str, parts: list[bytes]) -> None:
    """Send the parts, a pause after each, and read nothing, for as long as the server allows."""
    loop, place = asyncio.get_running_loop(), urlsplit(url)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.setblocking(False)
        await loop.sock_connect(connection, (place.hostname, place.port))
        for part in parts:
            await loop.sock_sendall(connection, part)
            await asyncio.sleep(BYTE_SECONDS)
        await asyncio.Event().wait()

"""Many requests at once to a chat model that takes three seconds: is one of them sent away?

`ragstone serve` is a process of its own with its defaults; the chat model is an OpenAI-compatible
server in this one, which sleeps through every call. Each request of the RAG engine's API makes
several calls: it imagines a passage or asks in other words, and answers. Memory is looked at while
they wait. `BENCH_REQUESTS=20` sends fewer.
"""

import asyncio
import json
import os
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from benchmarks.common import RAGSTONE, resident_mb
from benchmarks.row import Row
from benchmarks.startup import answers
from tests.http_server import running

REQUESTS = int(os.environ.get("BENCH_REQUESTS", "200"))
SECONDS = 3.0
"""Of a call of the model."""

PORT = 18_008
URL = f"http://127.0.0.1:{PORT}"
DOCUMENTS = Path(__file__).parents[1] / "examples" / "documents"
PATHS = ("/api/v1/rag/generate", "/api/v1/rag/generate/stream")
SAID = "The leave is 28 days [1]."


@dataclass
class Seen:
    """How requests ended, how long each took, and the most memory meanwhile, in megabytes."""

    statuses: Counter[int] = field(default_factory=Counter)
    whole: int = 0
    seconds: list[float] = field(default_factory=list)
    memory: float = 0.0


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as data, running(model()) as url:
        environment = {
            **os.environ,
            "RAGSTONE_DATA": data,
            "AUTH__GUESTS": "everything",
            "LLM__MODEL": "slow",
            "LLM__BASE_URL": f"{url}/v1",
        }
        subprocess.run([RAGSTONE, "ingest", str(DOCUMENTS)], env=environment, check=True)
        server = subprocess.Popen([RAGSTONE, "serve", "--port", str(PORT)], env=environment)
        try:
            while not answers(f"{URL}/ready"):
                time.sleep(0.1)
            return asyncio.run(measure(server.pid))
        finally:
            server.terminate()
            server.wait()


async def measure(pid: int) -> list[Row]:
    async with httpx.AsyncClient(timeout=300, limits=httpx.Limits(max_connections=None)) as http:
        await ask(http, "How many days of leave are there?", PATHS[0], Seen())
        before, seen, watching = resident_mb(pid), Seen(), asyncio.Event()
        watch = asyncio.create_task(watch_memory(pid, seen, watching))
        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for number in range(REQUESTS):
                question = f"How many days of leave has employee {number} in his first year?"
                group.create_task(ask(http, question, PATHS[number % 2], seen))
        took = time.perf_counter() - began
        watching.set()
        await watch
    what = f"{REQUESTS} requests at once, a model of {SECONDS:g} s"
    refused = sum(count for status, count in seen.statuses.items() if status != 200)
    return [
        Row(f"{what}: refused or failed", refused, most=0),
        Row(f"{what}: answered whole", seen.whole, least=REQUESTS),
        Row(f"{what}: until the last is answered", took, "s"),
        Row(f"{what}: memory more than at rest", seen.memory - before, "MB", most=300),
        Row(f"{what}: resident memory", seen.memory, "MB", detail=True),
    ]


async def ask(http: httpx.AsyncClient, question: str, path: str, seen: Seen) -> None:
    """One request, read to its end."""
    started = time.perf_counter()
    response = await http.post(URL + path, json={"query": question, "rewrite_method": "multi"})
    seen.seconds.append(time.perf_counter() - started)
    seen.statuses[response.status_code] += 1
    seen.whole += "28 days" in "".join(pieces(response.text))


def pieces(text: str) -> list[str]:
    """Return what an answer says, in one piece or in events."""
    if not text.startswith("data:"):
        return [text]
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    return [event.get("content", "") for event in events]


async def watch_memory(pid: int, seen: Seen, ended: asyncio.Event) -> None:
    """Look at the server's memory until the end."""
    while not ended.is_set():
        seen.memory = max(seen.memory, resident_mb(pid))
        await asyncio.sleep(0.1)


def model() -> Starlette:
    """Return a chat model that takes its time with every call."""

    async def completions(request: Request) -> Response:
        body = await request.json()
        made = {"id": "x", "created": 1, "model": "slow"}
        if body.get("stream"):
            return StreamingResponse(streamed(made), media_type="text/event-stream")
        await asyncio.sleep(SECONDS)
        message = {
            "role": "assistant",
            "content": "1. How long is the yearly leave?\n2. How many holidays are there?",
        }
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        whole = {**made, "object": "chat.completion", "choices": [choice], "usage": usage}
        return JSONResponse(whole)

    async def models(request: Request) -> Response:
        return JSONResponse({"object": "list", "data": []})

    return Starlette(
        routes=[
            Route("/v1/chat/completions", completions, methods=["POST"]),
            Route("/v1/models", models),
        ]
    )


async def streamed(made: dict[str, object]) -> AsyncIterator[str]:
    words = SAID.split(" ")
    for place, word in enumerate(words):
        await asyncio.sleep(SECONDS / len(words))
        delta = {"content": word if place == len(words) - 1 else f"{word} "}
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        line = {**made, "object": "chat.completion.chunk", "choices": [choice]}
        yield f"data: {json.dumps(line)}\n\n"
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    last = {**made, "object": "chat.completion.chunk", "choices": [end]}
    yield f"data: {json.dumps(last)}\n\ndata: [DONE]\n\n"


if __name__ == "__main__":
    for row in run():
        print(row.line())

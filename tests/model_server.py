"""A real HTTP server that speaks OpenAI's chat completions, and fails in every way on command."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.http_server import running

GOOD = ("In 1871. ", "[1]")
TOOL_CALL = {
    "id": "a",
    "type": "function",
    "function": {"name": "search", "arguments": "{}"},
}
HANGING = 90.0
"""Seconds for which a server that hangs says nothing."""

CIRCLE = "The lighthouse of Ost was built long ago. "


@dataclass
class ModelServer:
    """Does what `way` says with each call; `ways` are for the first calls, one each. The way
    `call NAME JSON` calls a tool that was offered.

    `replies` are said to a prompt that holds their key, `says` to any other; where there is
    `reply_to`, it makes the reply of the last message. Each reply begins `delay` seconds late.

    `calls` keeps the bodies, `ended` counts the streams that were read to their end or left.
    """

    way: str = "good"
    ways: list[str] = field(default_factory=list)
    says: tuple[str, ...] = GOOD
    replies: dict[str, str] = field(default_factory=dict)
    reply_to: Callable[[str], str] | None = None
    delay: float = 0.0
    pause: float = 0.0
    model: str = "some-model"
    url: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    ended: int = 0

    @property
    def streamed(self) -> int:
        """How many answers were asked for: what is asked besides, about sentences, is no stream."""
        return sum(bool(call.get("stream")) for call in self.calls)

    async def completions(self, request: Request) -> Response:
        body = await request.json()
        self.calls.append(body)
        await asyncio.sleep(self.delay)
        way = self.ways.pop(0) if self.ways else self.way
        if way.isdigit():
            return JSONResponse({"error": {"message": "no"}}, int(way))
        if way.startswith("429 "):
            return JSONResponse({"error": {}}, 429, {"Retry-After": way.split()[1]})
        if way == "hang":
            await asyncio.sleep(HANGING)
        if way == "loading":
            body = {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}
            return JSONResponse(body, 503)
        if way == "invalid JSON":
            return PlainTextResponse('{"choices": [', media_type="application/json")
        if way == "wrong schema":
            return JSONResponse({"answer": "yes", "choices": "none"})
        said = self._said(body)
        if body.get("stream"):
            lines = self._stream(way, said)
            return StreamingResponse(lines, media_type="text/event-stream")
        return JSONResponse(self._whole(way, said))

    async def models(self, request: Request) -> Response:
        return JSONResponse({"object": "list", "data": []})

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/chat/completions", self.completions, methods=["POST"]),
                Route("/v1/models", self.models),
            ]
        )

    def _said(self, body: dict[str, Any]) -> tuple[str, ...]:
        if self.reply_to:
            return (self.reply_to(body["messages"][-1]["content"]),)
        told = json.dumps(body["messages"], ensure_ascii=False)
        found = (reply for key, reply in self.replies.items() if key in told)
        reply = next(found, None)
        return self.says if reply is None else (reply,)

    async def _stream(self, way: str, said: tuple[str, ...]) -> AsyncIterator[str]:
        try:
            if way == "hang after headers":
                yield ": wait\n\n"
                await asyncio.sleep(HANGING)
            for delta in self._deltas(way, said):
                yield self._chunk(delta)
                await asyncio.sleep(1.0 if way == "slow drip" else self.pause)
                if way in ("drip", "hang mid-stream"):
                    await asyncio.sleep(HANGING)
            if way == "cut":
                raise ConnectionResetError
            if way != "cut cleanly":
                yield self._chunk({}, _finish(way))
            if way not in ("cut cleanly", "uncounted"):
                usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
                yield self._line({"choices": [], "usage": usage})
            if way != "cut cleanly":
                yield "data: [DONE]\n\n"
        finally:
            self.ended += 1

    def _deltas(self, way: str, said: tuple[str, ...]) -> Iterator[dict[str, Any]]:
        if way.startswith("call "):
            _, name, arguments = way.split(" ", 2)
            function = {"name": name, "arguments": arguments}
            call = {"index": 0, "id": f"call-{name}", "type": "function", "function": function}
            yield {"tool_calls": [call]}
        elif way == "tool call":
            function = {"name": "search", "arguments": "{}"}
            yield {
                "tool_calls": [{"index": 0, "id": "a", "type": "function", "function": function}]
            }
        elif way == "thoughts only":
            yield {"reasoning_content": "Hm. "}
        elif way == "repetition":
            yield from ({"content": CIRCLE} for _ in range(2000))
        elif way == "slow drip":
            yield from ({"content": "drip "} for _ in range(60))
        elif way.startswith("cut"):
            yield {"content": said[0]}
        elif way not in ("empty", "filtered"):
            yield from ({"content": piece} for piece in said)

    def _whole(self, way: str, said: tuple[str, ...]) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": "".join(said)}
        if way == "tool call":
            message = {"role": "assistant", "content": None, "tool_calls": [TOOL_CALL]}
        if way in ("empty", "filtered", "thoughts only"):
            message["content"] = ""
        choice = {"index": 0, "message": message, "finish_reason": _finish(way)}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        made = {"id": "x", "object": "chat.completion", "created": 1, "model": self.model}
        counted = {} if way == "uncounted" else {"usage": usage}
        return {**made, "choices": [choice], **counted}

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> str:
        return self._line({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def _line(self, data: dict[str, Any]) -> str:
        made = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": self.model}
        return f"data: {json.dumps({**made, **data})}\n\n"


def _finish(way: str) -> str:
    if way == "filtered":
        return "content_filter"
    return "tool_calls" if "call" in way else "stop"


@contextmanager
def model_server(**changes: Any) -> Iterator[ModelServer]:
    """Serve on a free port."""
    server = ModelServer(**changes)
    with running(server.app()) as url:
        server.url = f"{url}/v1"
        yield server


def closed_port() -> str:
    """An address where nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{one.getsockname()[1]}/v1"

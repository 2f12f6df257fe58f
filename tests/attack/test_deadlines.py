"""A chat model that hangs keeps no reader waiting longer than a request may take, at any door."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from ragstone.service.contract import operations
from ragstone.service.wire import OPERATION_HEADER
from ragstone.settings import LlmSettings, ServerSettings
from tests.attack.house import House, a_house
from tests.model_server import model_server

pytestmark = pytest.mark.slow

SECONDS = 15.0
"""What a request may take: the least that a busy machine does without failing."""

QUESTION = "How many hours does the battery of the lamp have?"
MANUALS = {"collection": "manuals"}
CHAT: dict[str, Any] = {
    "model": "ragstone",
    **MANUALS,
    "messages": [{"role": "user", "content": QUESTION}],
}
BEFORE = [{"role": "user", "content": "Which lamp?"}, {"role": "assistant", "content": "This one."}]
FOLLOW_UP = {**CHAT, "messages": [*BEFORE, *CHAT["messages"]]}
RESPONSE = {"model": "ragstone", **MANUALS, "input": QUESTION}
MESSAGE = {"message": QUESTION, "collection_filter": "manuals"}
TOOL = {"name": "ask", "arguments": {"question": QUESTION, **MANUALS}}
RAG = {"query": QUESTION, **MANUALS}
DOORS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat-core, streamed": ("/v2/rag/query", {"query": QUESTION, "collection_name": "manuals"}),
    "pipeline": ("/api/chat/completions", MESSAGE),
    "pipeline, streamed": ("/api/chat/completions", {**MESSAGE, "stream": True}),
    "RAG engine v1": ("/api/v1/rag/generate", RAG),
    "RAG engine v1, streamed": ("/api/v1/rag/generate/stream", RAG),
    "OpenAI chat": ("/v1/chat/completions", CHAT),
    "OpenAI chat, follow-up": ("/v1/chat/completions", FOLLOW_UP),
    "OpenAI chat, streamed": ("/v1/chat/completions", {**CHAT, "stream": True}),
    "OpenAI responses": ("/v1/responses", RESPONSE),
    "OpenAI responses, streamed": ("/v1/responses", {**RESPONSE, "stream": True}),
    "chats, streamed": ("/chat/lamp/stream", {"message": QUESTION}),
    "MCP": ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": TOOL}),
    "our own, streamed": ("/local/call/ask", {"ask": {"question": QUESTION, **MANUALS}}),
}
HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}


async def ask_at(house: House, door: str) -> float:
    """Seconds to the whole answer."""
    path, body = DOORS[door]
    headers = {**HEADERS, OPERATION_HEADER: operations()["ask"].fingerprint}
    started = time.monotonic()
    response = await house.send(headers, "POST", path, body)
    seconds = time.monotonic() - started
    assert response.status_code == 200, (door, response.text)
    assert "40 hours" in response.text, (door, response.text)
    return seconds


@pytest.mark.parametrize("way", ["hang", "hang after headers", "drip"])
async def test_with_a_fallback_every_door_answers_before_a_request_ends(
    way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # What has left for a reader cannot be taken back: a drip that is streamed goes on.
    doors = [door for door in DOORS if way != "drip" or "streamed" not in door]
    with model_server(way=way) as model:
        llm = LlmSettings(base_url=model.url, model="m")
        server = ServerSettings(request_seconds=SECONDS)
        # The documents of three dialects have no fallback.
        async with a_house(tmp_path, llm=llm, server=server, profile="ragstone") as house:
            chat = tmp_path / "lamp.md"
            chat.write_text((tmp_path / "manuals" / "lamp.md").read_text())
            upload = {"files": [("files", ("lamp.md", chat.read_bytes()))]}
            await house.send({}, "POST", "/chat/lamp/documents", **upload)

            seconds = await asyncio.gather(*(ask_at(house, door) for door in doors))

    with capsys.disabled():
        print(f"\nTime to answer when the model does '{way}', of {SECONDS:g} s")
        for door, taken in zip(doors, seconds, strict=True):
            print(f"  {door:28} {taken:5.1f} s")
    assert max(seconds) < SECONDS

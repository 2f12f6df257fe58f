"""What is tried of a chat model, and what is read from its server."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ragstone.core.records import ModelCheck
from ragstone.models.chat import ChatModel
from ragstone.models.configured_chat import WithFallback, check_models, read_windows
from ragstone.models.endpoint import SERVERS, add_address
from ragstone.settings import LlmSettings
from tests.http_server import running
from tests.model_server import closed_port

pytestmark = pytest.mark.slow

CAPITAL = json.dumps({"city": "Oslo", "country": "Norway"})
CALL = {"name": "get_weather", "arguments": '{"city": "Oslo"}'}
SHOWS: dict[str, dict[str, Any]] = {
    "llama.cpp": {"/props": {"default_generation_settings": {"n_ctx": 6144}}},
    "vLLM": {"/v1/models": {"data": [{"id": "m", "max_model_len": 6144}]}},
    "Ollama": {"/api/show": {"parameters": "stop x\nnum_ctx    6144", "model_info": {}}},
    "LM Studio": {"/api/v0/models/m": {"loaded_context_length": 6144}},
}
"""Where each server tells that its window has 6,144 tokens."""


@contextmanager
def serving(
    told: dict[str, Any], call: dict[str, str] | None = CALL, text: str = CAPITAL
) -> Iterator[str]:
    """A model's server that tells this by address, calls this tool, and writes this JSON."""

    async def complete(request: Request) -> Response:
        body = await request.json()
        if not body.get("tools"):
            pieces = [text] if "response_format" in body else ["1 ", "2 ", "3"]
            deltas: list[dict[str, Any]] = [{"content": piece} for piece in pieces]
        elif call:
            deltas = [
                {"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": call}]}
            ]
        else:
            deltas = [{"content": "It is cold."}]

        async def lines() -> AsyncIterator[str]:
            for delta, finish in [*((item, None) for item in deltas), ({}, "stop")]:
                choice = {"index": 0, "delta": delta, "finish_reason": finish}
                chunk = {"id": "1", "created": 1, "model": "m", "choices": [choice]}
                yield f"data: {json.dumps({**chunk, 'object': 'chat.completion.chunk'})}\n\n"
            yield "data: [DONE]\n\n"

        return StreamingResponse(lines(), media_type="text/event-stream")

    async def tell(request: Request) -> Response:
        found = {"/v1/models": {"data": [{"id": "m"}]}, **told}.get(request.url.path)
        return JSONResponse(found or {}, 200 if found else 404)

    routes = [
        Route("/v1/chat/completions", complete, methods=["POST"]),
        Route("/{path:path}", tell, methods=["GET", "POST"]),
    ]
    with running(Starlette(routes=routes)) as url:
        yield f"{url}/v1"


def make_model(url: str, **changes: Any) -> ChatModel:
    return ChatModel(LlmSettings(base_url=url, model="m", retries=0, **changes))


async def run_checks(model: Any) -> dict[str, ModelCheck]:
    try:
        return {item.check: item async for item in check_models(model)}
    finally:
        await model.aclose()


@pytest.mark.parametrize("server", SHOWS)
async def test_the_window_is_the_one_that_the_server_tells(server: str) -> None:
    with serving(SHOWS[server]) as url:
        model = make_model(url)
        await read_windows(model)
        await model.aclose()

    assert model.profile.context_window == 6144


@pytest.mark.parametrize(
    "changes", [{"context_window": 4096}, {"profiles": '{"m": {"context_window": 4096}}'}]
)
async def test_a_window_of_the_settings_counts_more_and_the_check_tells_the_difference(
    changes: dict[str, Any],
) -> None:
    told = {"/props": {"default_generation_settings": {"n_ctx": 2048}}}
    with serving(told) as url:
        model = make_model(url, **changes)
        checks = await run_checks(model)

    assert model.profile.context_window == 4096
    assert checks["context"].state == "failed"
    assert "LLM__CONTEXT_WINDOW=2048" in checks["context"].said


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"/props": {"default_generation_settings": {"n_ctx": 0}}},
        {"/props": []},
        {"/props": "text"},
        {"/api/show": {"model_info": {"x.context_length": "many"}}},
        {"/v1/models": {"data": None}},
        {"/api/v0/models/m": {"loaded_context_length": -5}},
        # What the model could take at most: the table's window is smaller.
        {"/api/show": {"model_info": {"qwen2.context_length": 131_072}}},
    ],
)
async def test_a_server_that_tells_no_window_changes_nothing(told: dict[str, Any]) -> None:
    with serving(told) as url:
        model = make_model(url)
        await read_windows(model)
        await model.aclose()

    assert model.profile.context_window == 8192


async def test_a_model_that_can_do_all_passes_every_check() -> None:
    with serving(SHOWS["llama.cpp"]) as url:
        checks = await run_checks(make_model(url))

    assert {check.state for check in checks.values()} == {"ok"}
    assert list(checks) == ["reached", "models", "streams", "tools", "JSON", "context"]


@pytest.mark.parametrize(
    ("changes", "check", "advice"),
    [
        ({"call": None}, "tools", "--jinja"),
        ({"call": {"name": "get_weather", "arguments": "Oslo"}}, "tools", "wrong arguments"),
        ({"text": "Norway"}, "JSON", "no JSON of the wanted form"),
        ({"text": '{"city": "Oslo"}'}, "JSON", "country"),
    ],
)
async def test_what_a_model_cannot_do_fails_with_what_to_change(
    changes: dict[str, Any], check: str, advice: str
) -> None:
    with serving({}, **changes) as url:
        checks = await run_checks(make_model(url))

    failed = [item for item in checks.values() if item.state == "failed"]
    assert [item.check for item in failed] == [check]
    assert advice in failed[0].said


async def test_a_model_that_is_not_reached_is_not_tried_further() -> None:
    with serving({}) as url:
        both = WithFallback(make_model(closed_port()), make_model(url))
        checks = [model async for model in check_models(both)]
        await both.aclose()

    assert [check.state for check in checks] == ["failed", *["skipped"] * 5, *["ok"] * 6]
    assert "LLM__BASE_URL" in checks[0].said


@pytest.mark.parametrize("server", SERVERS)
def test_a_server_on_this_machine_needs_no_address(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(f"{server.upper()}_BASE_URL", raising=False)

    found = add_address(LlmSettings(model=f"{server}:qwen2.5:7b"))

    assert (found.base_url, found.model) == (SERVERS[server], "qwen2.5:7b")


def test_an_address_that_is_given_counts_more_than_the_usual_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://box:11434/")
    elsewhere = LlmSettings(model="ollama:x", base_url="http://there/v1")

    assert add_address(LlmSettings(model="ollama:x")).base_url == "http://box:11434/v1"
    assert add_address(elsewhere) == elsewhere
    assert add_address(LlmSettings(model="mistral:latest")).base_url == ""

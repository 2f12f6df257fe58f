"""The official client against a real server, and bad input without one."""

import asyncio
import base64
import json
import struct
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from openai import AsyncOpenAI

from ragstone.http.app import create_app
from ragstone.http.dialects.openai.requests import CHAT_MODELS
from ragstone.settings import Settings
from tests.fake_service import EVIL, MODEL, WORDS, FakeService
from tests.http.transcripts import replayed, transcripts
from tests.http_server import running
from tests.patience import PATIENCE, until, wait_for

USER = [{"role": "user", "content": "What is the answer?"}]
EMBED = {"model": MODEL}


@pytest.fixture(scope="module")
def standing() -> FakeService:
    return FakeService()


@pytest.fixture
def service(standing: FakeService) -> FakeService:
    standing.forget()
    return standing


@pytest.fixture(scope="module")
def address(standing: FakeService) -> Iterator[str]:
    with running(create_app(standing, Settings(), "token")) as address:
        yield address


@pytest.fixture
def url(address: str, service: FakeService) -> str:
    return address


@pytest.fixture
async def client(url: str) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0) as client:
        yield client


@pytest.fixture(scope="module")
def without_network(standing: FakeService) -> httpx2.ASGITransport:
    """Another application than that of `address`, which runs in the event loop of a thread."""
    return httpx2.ASGITransport(create_app(standing, Settings(), "token"))


@pytest.fixture
async def http(
    without_network: httpx2.ASGITransport, service: FakeService
) -> AsyncIterator[httpx2.AsyncClient]:
    transport = without_network
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


@pytest.mark.parametrize("file", transcripts("openai"), ids=lambda file: file.stem)
@pytest.mark.usefixtures("service")
def test_transcript(address: str, file: Path) -> None:
    replayed(address, file)


def chat(*messages: Any, **fields: Any) -> dict[str, Any]:
    return {"model": "ragstone", "messages": list(messages) or USER, **fields}


def schema_of(schema: Any) -> dict[str, Any]:
    named = {"name": "answer", "schema": schema}
    return chat(response_format={"type": "json_schema", "json_schema": named})


async def test_whole_answer(client: AsyncOpenAI, url: str) -> None:
    answer = await client.chat.completions.create(
        model="ragstone", messages=USER, extra_body={"trace": True}
    )
    assert answer.choices[0].message.content == "".join(WORDS)
    assert answer.choices[0].message.role == "assistant"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.model == "ragstone"
    assert answer.usage.total_tokens == 12
    ours = answer.model_extra["ragstone"]
    assert ours["confidence"] == 0.88
    assert ours["refused"] is False
    assert [stage["stage"] for stage in ours["trace"]] == ["retrieve", "rerank"]
    assert ours["sources"][0] == {
        "number": 1,
        "document_id": "d1",
        "chunk_id": "c1",
        "title": "Guide",
        "path": "/docs/1.md",
        "page": 1,
        "section": ["Part", "Chapter"],
        "start": 12,
        "end": 20,
        "snippet": "the answer is 42",
        "score": 0.9,
        "similarity": None,
        "confidence": 0.0,
        "spans": [{"start": 12, "end": 20, "page": 1, "snippet": "the answer is 42"}],
        "cited": True,
        "metadata": {"author": "Ünïcode"},
        "url": f"{url}/#/documents/default/d1/12-20/page=1",
    }
    assert ours["sources"][1]["cited"] is False
    assert ours["sources"][1]["number"] is ours["sources"][1]["url"] is None
    assert ours["sources"][1]["title"] == EVIL


async def test_a_citation_has_the_place_and_what_it_says(client: AsyncOpenAI, url: str) -> None:
    answer = await client.chat.completions.create(model="ragstone", messages=USER)
    message = answer.choices[0].message
    (cited,) = message.annotations
    place = cited.url_citation
    assert message.content[place.start_index : place.end_index] == "[1]"
    assert place.url == f"{url}/#/documents/default/d1/12-20/page=1"
    assert place.model_extra == {"content": "the answer is 42"}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("by", ["request", "setting"])
async def test_a_list_of_sources_for_clients_that_show_no_annotations(
    service: FakeService, stream: bool, by: str
) -> None:
    server = {"public_url": "https://docs.example.com/rag/", "list_sources": by == "setting"}
    settings = Settings.model_validate({"server": server})
    body = chat(stream=stream, **({"list_sources": True} if by == "request" else {}))
    transport = httpx2.ASGITransport(create_app(service, settings, "token"))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        response = await http.post("/v1/chat/completions", json=body)
        without = await http.post("/v1/chat/completions", json=chat(list_sources=False))
        listed = "\n\n- \\[1\\] [Guide, p. 1](https://docs.example.com/rag/#/documents/default/d1/12-20/page=1)"
        if stream:
            lines = [json.loads(line[6:]) for line in response.text.split("\n\n")[:-2]]
            said = "".join(item["choices"][0]["delta"].get("content", "") for item in lines)
        else:
            said = response.json()["choices"][0]["message"]["content"]
        assert said == "".join(WORDS) + listed
        assert without.json()["choices"][0]["message"]["content"] == "".join(WORDS)
        # The client sends it back; nobody reads it again.
        before = [*USER, {"role": "assistant", "content": said}, *USER]
        await http.post("/v1/chat/completions", json=chat(*before))
        assert service.asked[-1].history[1].text == "".join(WORDS)


async def test_no_trace_unless_asked(client: AsyncOpenAI) -> None:
    answer = await client.chat.completions.create(model="ragstone", messages=USER)
    assert "trace" not in answer.model_extra["ragstone"]


async def test_refusal(client: AsyncOpenAI) -> None:
    messages = [{"role": "user", "content": "refuse"}]
    answer = await client.chat.completions.create(model="ragstone", messages=messages)
    assert answer.choices[0].finish_reason == "stop"
    assert answer.model_extra["ragstone"]["refused"] is True


async def test_stream(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(
        model="ragstone-basic", messages=USER, stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in stream]
    assert chunks[0].choices[0].delta.role == "assistant"
    assert len(chunks[0].model_extra["ragstone"]["sources"]) == 2
    texts = [chunk.choices[0].delta.content for chunk in chunks[1:-2]]
    assert texts == list(WORDS)
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-2].model_extra["ragstone"]["sources"][0]["cited"] is True
    assert chunks[-1].choices == []
    assert chunks[-1].usage.prompt_tokens == 7
    assert {chunk.id for chunk in chunks} == {chunks[0].id}
    assert all(chunk.usage is None for chunk in chunks[:-1])


async def test_stream_without_usage_ends_with_done(http: httpx2.AsyncClient) -> None:
    response = await http.post("/v1/chat/completions", json=chat(stream=True))
    assert response.headers["content-type"].startswith("text/event-stream")
    lines = [line for line in response.text.split("\n\n") if line]
    assert lines[-1] == "data: [DONE]"
    assert json.loads(lines[-2][6:])["choices"][0]["finish_reason"] == "stop"
    assert "usage" not in json.loads(lines[-2][6:])


async def test_the_clients_stream_helper(client: AsyncOpenAI) -> None:
    async with client.chat.completions.stream(model="ragstone", messages=USER) as stream:
        completion = await stream.get_final_completion()
    assert completion.choices[0].message.content == "".join(WORDS)


async def test_thinking(client: AsyncOpenAI) -> None:
    messages = [{"role": "user", "content": "think"}]
    stream = await client.chat.completions.create(model="ragstone", messages=messages, stream=True)
    chunks = [chunk async for chunk in stream]
    assert chunks[1].choices[0].delta.model_extra["reasoning_content"] == "hm"


async def test_what_the_service_is_asked(client: AsyncOpenAI, service: FakeService) -> None:
    await client.chat.completions.create(
        model="ragstone-maximum",
        messages=[
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "One?"},
            {"role": "assistant", "content": "1"},
            {"role": "tool", "content": "left out", "tool_call_id": "t"},
            {
                "role": "user",
                "content": [{"type": "text", "text": "Two?"}, {"type": "text", "text": "Or 3?"}],
            },
        ],
        temperature=0.5,
        max_completion_tokens=9,
        stop="END",
        user="somebody",
        presence_penalty=0.1,
        extra_body={
            "passages": 3,
            "top_k": 40,
            "cache": False,
            "collection": "default",
            "unknown": [1],
        },
    )
    ask = service.asked[0]
    assert ask.question == "Two?\nOr 3?"
    assert [(m.role, m.text) for m in ask.history] == [("user", "One?"), ("assistant", "1")]
    assert ask.guidance == "Be brief."
    assert (ask.sampling.presence_penalty, ask.sampling.top_k) == (0.1, 40)
    assert (ask.level, ask.temperature, ask.max_tokens) == ("maximum", 0.5, 9)
    assert (ask.stop, ask.top_k, ask.cache) == (("END",), 3, False)
    assert ask.principal.user == "local"


async def test_level_overrides_the_model(http: httpx2.AsyncClient, service: FakeService) -> None:
    await http.post("/v1/chat/completions", json=chat(level="basic"))
    assert service.asked[0].level == "basic"


async def test_models(client: AsyncOpenAI) -> None:
    models = {model.id: model.type async for model in client.models.list()}
    assert models == {**dict.fromkeys(CHAT_MODELS, "chat"), MODEL: "embedding"}
    assert (await client.models.retrieve("ragstone-basic")).owned_by == "ragstone"
    with pytest.raises(openai.NotFoundError) as caught:
        await client.models.retrieve("no/such")
    assert caught.value.code == "model_not_found"


async def test_embeddings(client: AsyncOpenAI) -> None:
    for encoding in (openai.omit, "float", "base64"):
        found = await client.embeddings.create(
            **EMBED, input=["abc", "defgh"], encoding_format=encoding
        )
        vectors = [item.embedding for item in found.data]
        if encoding == "base64":
            vectors = [list(struct.unpack("<4f", base64.b64decode(v))) for v in vectors]
        assert vectors == [[3.0, 0.5, 0.25, 1.0], [5.0, 0.5, 0.25, 1.0]]
        assert [item.index for item in found.data] == [0, 1]
        assert found.model == MODEL
        assert found.usage.prompt_tokens > 0


async def test_embedding_of_one_text(client: AsyncOpenAI) -> None:
    found = await client.embeddings.create(**EMBED, input="abc", dimensions=4)
    assert len(found.data) == 1


async def test_failure_before_the_first_token_has_its_status(client: AsyncOpenAI) -> None:
    for stream in (False, True):
        with pytest.raises(openai.InternalServerError) as caught:
            await client.chat.completions.create(
                model="ragstone", messages=[{"role": "user", "content": "broken"}], stream=stream
            )
        assert caught.value.status_code == 503
        assert caught.value.code == "model_unavailable"
        assert caught.value.body["message"] == "The model does not answer."


async def test_failure_in_the_middle_ends_the_stream(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(
        model="ragstone", messages=[{"role": "user", "content": "breaks later"}], stream=True
    )
    texts = []
    with pytest.raises(openai.APIError, match="went away") as caught:
        await read(stream, texts)
    assert texts == ["", "The "]
    assert caught.value.code == "model_unavailable"


@pytest.mark.parametrize(
    ("body", "status", "code", "words"),
    [
        (chat({"role": "user", "content": ""}), 400, "empty_question", "empty"),
        (chat({"role": "user", "content": None}), 400, "empty_question", "empty"),
        (chat({"role": "user", "content": "x" * 100_000}), 400, "question_too_long", "100,000"),
        (chat(collection="nowhere"), 404, "unknown_collection", "'nowhere'"),
        (chat(model="gpt-5"), 404, "model_not_found", "gpt-5"),
        (chat({"role": "assistant", "content": "a"}), 400, "invalid_request", "last message"),
        ({"model": "ragstone", "messages": []}, 400, "invalid_request", "messages"),
        ({"model": "ragstone"}, 400, "invalid_request", "messages"),
        ({"messages": USER}, 400, "invalid_request", "model"),
        (chat(n=2), 400, "invalid_request", "n: only one answer"),
        (chat(n="1"), 400, "invalid_request", "n:"),
        (chat(stream="yes"), 400, "invalid_request", "stream"),
        (chat(temperature="hot"), 400, "invalid_request", "temperature"),
        (chat(temperature=3), 400, "invalid_request", "temperature"),
        (chat(max_tokens=0), 400, "invalid_request", "max_tokens"),
        (chat(level="huge"), 400, "invalid_request", "level"),
        (chat(passages=101), 400, "invalid_request", "passages"),
        (chat(top_k=-2), 400, "invalid_request", "top_k"),
        (chat(collection="x" * 300), 400, "invalid_request", "collection"),
        (chat({"role": "king", "content": "a"}), 400, "invalid_request", "role"),
        (chat({"role": "user", "content": 7}), 400, "invalid_request", "content"),
        (
            chat({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}),
            400,
            "invalid_request",
            "image_url",
        ),
        (chat(logprobs=True), 400, "invalid_request", "logprobs"),
        (chat(top_logprobs=3), 400, "invalid_request", "top_logprobs"),
        (chat(logit_bias={"50256": -100}), 400, "invalid_request", "logit_bias"),
        (chat(modalities=["text", "audio"]), 400, "invalid_request", "modalities"),
        (chat(store=True), 400, "invalid_request", "store"),
        (chat(functions=[{"name": "a"}]), 400, "invalid_request", "tools"),
        (chat(web_search_options={}), 400, "invalid_request", "web_search_options"),
        (chat(seed=2**63), 400, "invalid_request", "seed"),
        (chat(top_p=1.5), 400, "invalid_request", "top_p"),
        (chat(response_format={"type": "yaml"}), 400, "invalid_request", "response_format"),
        (chat(response_format={"type": "json_schema"}), 400, "invalid_request", "json_schema"),
        (schema_of({"type": "nothing"}), 400, "invalid_request", "not a JSON schema"),
        (schema_of({"patternProperties": {}}), 400, "invalid_request", "patternProperties"),
        ([], 400, "invalid_request", "JSON object"),
        ("text", 400, "invalid_request", "JSON object"),
        (None, 400, "invalid_request", "JSON object"),
    ],
)
async def test_bad_questions(
    http: httpx2.AsyncClient, body: Any, status: int, code: str, words: str
) -> None:
    response = await http.post("/v1/chat/completions", json=body)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (status, code)
    assert words in error["message"]
    assert "\n" not in error["message"]
    assert len(error["message"]) < 400
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert response.headers["x-should-retry"] == "false"


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"model": "none", "input": "a"}, 404, "none"),
        ({**EMBED}, 400, "input"),
        ({**EMBED, "input": ""}, 400, "empty"),
        ({**EMBED, "input": []}, 400, "list of texts"),
        ({**EMBED, "input": ["a", ""]}, 400, "empty"),
        ({**EMBED, "input": [1, "a"]}, 400, "must be a string"),
        ({**EMBED, "input": [[1], ["a"]]}, 400, "whole numbers"),
        ({**EMBED, "input": {"a": 1}}, 400, "list of texts"),
        ({**EMBED, "input": ["a"] * 2049}, 400, "2,048"),
        ({**EMBED, "input": "a", "encoding_format": "int8"}, 400, "encoding_format"),
        ({**EMBED, "input": "a", "dimensions": 3}, 400, "4 dimensions"),
        ({**EMBED, "input": "a", "dimensions": 0}, 400, "dimensions"),
    ],
)
async def test_bad_embeddings(http: httpx2.AsyncClient, body: Any, status: int, words: str) -> None:
    response = await http.post("/v1/embeddings", json=body)
    assert response.status_code == status
    assert words in response.json()["error"]["message"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b'{"model": "ragstone", \xff}',
        b"[" * 100_000,
        b'{"model": "ragstone", "max_tokens": ' + b"9" * 5000 + b"}",
        b'{"model": "ragstone", "messages": [{"role": "user"}], "max_tokens": 1e999}',
        b'{"model": "\\ud800", "messages": [{"role": "user", "content": "a"}]}',
        b'{"model": "ragstone", "messages": NaN}',
    ],
)
async def test_broken_json(http: httpx2.AsyncClient, content: bytes) -> None:
    headers = {"content-type": "application/json"}
    response = await http.post("/v1/chat/completions", content=content, headers=headers)
    assert response.status_code in (400, 404)
    assert len(response.json()["error"]["message"]) < 300


async def test_half_characters_are_replaced(http: httpx2.AsyncClient, service: FakeService) -> None:
    response = await http.post(
        "/v1/chat/completions",
        content=json.dumps(chat({"role": "user", "content": "a\ud800b"})).encode(),
        headers={"content-type": "application/json"},
    )
    assert response.status_code == 200
    assert service.asked[0].question == "a?b"


async def test_only_json_bodies(http: httpx2.AsyncClient) -> None:
    content = json.dumps(chat()).encode()
    for headers in ({"content-type": "text/plain"}, {}):
        response = await http.post("/v1/chat/completions", content=content, headers=headers)
        assert response.status_code == 400
        assert "application/json" in response.json()["error"]["message"]


async def test_unforeseen_errors_say_nothing_about_the_inside(http: httpx2.AsyncClient) -> None:
    body = chat({"role": "user", "content": "bug"})
    for stream in (False, True):
        response = await http.post("/v1/chat/completions", json={**body, "stream": stream})
        assert response.status_code == 500
        assert response.json()["error"]["type"] == "server_error"
        assert "secret" not in response.text


@pytest.mark.parametrize("question", ["endless", "silent"])
@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_closes_the_services_generator(
    url: str, service: FakeService, question: str, stream: bool
) -> None:
    body = chat({"role": "user", "content": question}, stream=stream)
    async with httpx2.AsyncClient(base_url=url, timeout=PATIENCE) as http:
        asking = asyncio.create_task(http.post("/v1/chat/completions", json=body))
        assert await until(lambda: service.yielded > 3)
        asking.cancel()
        await asyncio.wait([asking])
    assert await until(lambda: question in service.closed)


async def test_a_slow_reader_slows_the_service(url: str, service: FakeService) -> None:
    body = chat({"role": "user", "content": "endless"}, stream=True)
    async with (
        httpx2.AsyncClient(base_url=url) as http,
        http.stream("POST", "/v1/chat/completions", json=body) as response,
    ):
        await anext(response.aiter_raw())
        assert wait_for(lambda: stands_still(service))
        assert "endless" not in service.closed
    assert wait_for(lambda: "endless" in service.closed)


async def read(stream: Any, texts: list[str | None]) -> None:
    async for chunk in stream:
        texts.append(chunk.choices[0].delta.content)


def stands_still(service: FakeService) -> bool:
    before = service.yielded
    threading.Event().wait(0.3)
    return service.yielded == before


async def test_a_forbidden_question_is_filtered(http: httpx2.AsyncClient) -> None:
    asked = {"role": "user", "content": "forbidden"}
    whole = (await http.post("/v1/chat/completions", json=chat(asked))).json()
    assert whole["choices"][0]["finish_reason"] == "content_filter"
    assert whole["choices"][0]["message"]["content"] == "Ask HR."
    streamed = await http.post("/v1/chat/completions", json=chat(asked, stream=True))
    lines = [line for line in streamed.text.splitlines() if "finish_reason" in line]
    assert json.loads(lines[-1][6:])["choices"][0]["finish_reason"] == "content_filter"

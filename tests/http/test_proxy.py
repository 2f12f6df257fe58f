"""Streams through a real nginx that waits for 5 s, of a model that thinks for longer."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai import OpenAI

from ragstone.service.contract import operations
from ragstone.service.wire import OPERATION_HEADER
from tests.documents import copied
from tests.e2e.processes import serving
from tests.model_server import ModelServer, model_server
from tests.nginx import nginx

pytestmark = pytest.mark.real

THINKS = 20.0
QUESTION = "How long does a full battery charge last without sun?"
MESSAGES = [{"role": "user", "content": QUESTION}]
STREAMS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat-core": ("/v2/rag/query", {"query": QUESTION}),
    "pipeline": ("/api/chat/completions", {"message": QUESTION, "stream": True}),
    "RAG engine v1, generate": ("/api/v1/rag/generate/stream", {"query": QUESTION}),
    "RAG engine v1, query": ("/api/v1/rag/query-stream", {"query": QUESTION}),
    "OpenAI chat": ("/v1/chat/completions", {"model": "ragstone", "messages": MESSAGES}),
    "OpenAI responses": ("/v1/responses", {"model": "ragstone", "input": QUESTION}),
    "our own": ("/local/call/ask", {"ask": {"question": QUESTION}}),
}


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with model_server(says=("A full charge lasts 31 days ", "[1].")) as model:
        yield model


@pytest.fixture(scope="module")
def site(
    model: ModelServer, tmp_path_factory: pytest.TempPathFactory, indexed_documents: Path
) -> Iterator[str]:
    data = copied(indexed_documents, tmp_path_factory.mktemp("proxy") / "data")
    llm = {"LLM__MODEL": "some", "LLM__BASE_URL": model.url, "CACHE__ENABLED": "false"}
    impatient = {"proxy_read_timeout 75s": "proxy_read_timeout 5s"}
    with (
        serving(data, SERVER__PUBLIC_URL="/ragstone", **llm) as server,
        nginx(server, impatient) as url,
    ):
        yield f"{url}/ragstone"


def read_stream(site: str, name: str) -> str:
    """All that a stream says."""
    path, body = STREAMS[name]
    headers = {OPERATION_HEADER: operations()["ask"].fingerprint}
    sent = body if path.startswith(("/v2", "/api", "/local")) else {**body, "stream": True}
    response = httpx.post(f"{site}{path}", json=sent, headers=headers, timeout=120)
    assert response.status_code == 200, response.text
    return response.text


def test_every_stream_survives_a_model_that_thinks_longer_than_the_proxy_waits(
    site: str, model: ModelServer
) -> None:
    model.delay, model.pause = THINKS, 0.0

    with ThreadPoolExecutor(len(STREAMS)) as pool:
        texts = list(pool.map(lambda name: read_stream(site, name), STREAMS))

    for name, text in zip(STREAMS, texts, strict=True):
        assert "31 days" in text, name
        assert "\n:\n" in f"\n{text}", name


def test_a_stream_survives_a_model_that_pauses_between_words(site: str, model: ModelServer) -> None:
    model.delay, model.pause = 0.0, 8.0

    assert "[DONE]" in read_stream(site, "OpenAI chat")


def test_the_official_client_skips_the_comments(site: str, model: ModelServer) -> None:
    model.delay, model.pause = 8.0, 0.0
    client = OpenAI(base_url=f"{site}/v1", api_key="none", max_retries=0)

    chunks = client.chat.completions.create(model="ragstone", messages=MESSAGES, stream=True)  # type: ignore[call-overload]
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    events = [
        item.type for item in client.responses.create(model="ragstone", input=QUESTION, stream=True)
    ]

    assert "31 days" in said
    assert events[-1] == "response.completed"


def test_a_question_that_cannot_be_asked_still_has_its_status(site: str) -> None:
    body = {"model": "ragstone", "messages": MESSAGES, "collection": "none", "stream": True}

    response = httpx.post(f"{site}/v1/chat/completions", json=body, timeout=60)

    assert response.status_code == 404
    assert json.loads(response.text)["error"]["code"] == "unknown_collection"

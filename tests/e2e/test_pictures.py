"""Images through the official client and a real server process to a real model server."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.documents import copied
from tests.e2e.processes import serving
from tests.model_server import ModelServer, model_server

pytestmark = pytest.mark.slow

URL = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 8).decode()
SHOWN: dict[str, Any] = {
    "role": "user",
    "content": [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": URL, "detail": "auto"}},
    ],
}
BEFORE = [
    {"role": "user", "content": "My name is Ann."},
    {"role": "assistant", "content": "Hello Ann."},
]


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with model_server(says=("A ", "cat.")) as made:
        yield made


@pytest.fixture(scope="module")
def data(indexed_documents: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(indexed_documents, tmp_path_factory.mktemp("pictures") / "data")


@pytest.fixture(scope="module")
def client(model: ModelServer, data: Path) -> Iterator[openai.OpenAI]:
    variables = {"LLM__MODEL": "some", "LLM__BASE_URL": model.url, "LLM__VISION": "true"}
    with (
        serving(data, **variables) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as made,
    ):
        yield made


def said(client: openai.OpenAI, stream: bool, *messages: Any) -> str:
    answer: Any = client.chat.completions.create(
        model="ragstone", messages=list(messages), stream=stream
    )
    if not stream:
        assert answer.model_extra["ragstone"]["sources"] == []
        return answer.choices[0].message.content or ""
    choices = [choice for chunk in answer for choice in chunk.choices]
    assert choices[-1].finish_reason == "stop"
    return "".join(choice.delta.content or "" for choice in choices)


@pytest.mark.parametrize("stream", [False, True])
def test_given_an_image_then_the_model_sees_it_in_its_conversation(
    client: openai.OpenAI, model: ModelServer, stream: bool
) -> None:
    model.calls.clear()
    assert said(client, stream, *BEFORE, SHOWN) == "A cat."
    [call] = model.calls
    *before, asked = call["messages"]
    assert [item["content"] for item in before[1:]] == [item["content"] for item in BEFORE]
    text, image = asked["content"]
    assert text == {"type": "text", "text": "What is this?"}
    assert image["image_url"]["url"] == URL


def test_given_an_earlier_image_then_the_documents_answer_and_no_image_is_sent(
    client: openai.OpenAI, model: ModelServer
) -> None:
    model.calls.clear()
    question = {
        "role": "user",
        "content": "How long does a full battery charge last without sun?",
    }
    answer = client.chat.completions.create(
        model="ragstone",
        messages=[SHOWN, {"role": "assistant", "content": "A cat."}, question],  # type: ignore[list-item]
    )
    assert answer.choices[0].message.content
    assert answer.model_extra["ragstone"]["sources"]  # type: ignore[index]
    sent = str(model.calls)
    assert "<source" in sent
    assert "base64" not in sent

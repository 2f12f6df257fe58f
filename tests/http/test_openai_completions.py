"""Legacy completions as the official client speaks them, before real documents."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.http.open_documents import OpenDocuments, opened
from tests.in_turn import in_turn

QUESTION = "How long does a full battery charge last without sun?"


@pytest.fixture
async def documents(tmp_path: Path, indexed_documents: Path) -> AsyncIterator[OpenDocuments]:
    async with opened(indexed_documents, tmp_path) as documents:
        yield documents


async def test_a_prompt_is_answered_whole_and_streamed(documents: OpenDocuments) -> None:
    create = documents.openai.completions.create
    whole = await create(model="ragstone", prompt=QUESTION)
    chunks = [
        chunk
        async for chunk in await create(
            model="ragstone",
            prompt=[QUESTION],
            stream=True,
            stream_options={"include_usage": True},
        )
    ]

    (choice,) = whole.choices
    assert "31 days" in choice.text
    assert (whole.object, choice.finish_reason, choice.logprobs) == (
        "text_completion",
        "stop",
        None,
    )
    assert whole.id.startswith("cmpl-")
    assert whole.usage is not None
    assert (whole.model_extra or {})["ragstone"]["sources"][0]["number"] == 1
    assert "".join(chunk.choices[0].text for chunk in chunks if chunk.choices) == choice.text
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage is not None


@in_turn(
    ("fields", "words"),
    [
        ({"echo": True}, "echo cannot be had"),
        ({"n": 2}, "n cannot be had"),
        ({"best_of": 3}, "best_of cannot be had"),
        ({"logprobs": 2}, "logprobs cannot be had"),
        ({"suffix": "the end"}, "suffix cannot be had"),
        ({"prompt": ["one", "two"]}, "only one prompt"),
        ({"prompt": []}, "only one prompt"),
        ({"prompt": {"a": 1}}, "only one prompt"),
        ({"prompt": None}, "only one prompt"),
        ({"prompt": [True]}, "only one prompt"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"stream": "yes"}, "stream"),
    ],
)
async def test_bad_requests(documents: OpenDocuments, fields: Any, words: str) -> None:
    body = {"model": "ragstone", "prompt": QUESTION, **fields}
    response = await documents.post("/v1/completions", **body)
    assert response.status_code == 400
    error = response.json()["error"]
    assert words in error["message"]
    assert (error["type"], error["param"]) == ("invalid_request_error", next(iter(fields)))


async def test_an_unknown_model_is_404(documents: OpenDocuments) -> None:
    with pytest.raises(openai.NotFoundError, match="gpt-3"):
        await documents.openai.completions.create(model="gpt-3.5-turbo-instruct", prompt="Why?")

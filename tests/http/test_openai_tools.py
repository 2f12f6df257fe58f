"""Tools and annotations through the official client: the whole of Ragstone, a real model server."""

import re
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from tests.http.conftest import QUESTION, Server
from tests.in_turn import in_turn

TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a town.",
        "parameters": {"type": "object", "properties": {"town": {"type": "string"}}},
    },
}
ASKED: dict[str, Any] = {"role": "user", "content": QUESTION}
CALL = 'call weather {"town": "Ost"}'


@pytest.fixture
async def client(with_model: Server) -> AsyncIterator[AsyncOpenAI]:
    await with_model.start()
    http = DefaultAsyncHttpxClient(transport=with_model.transport)
    async with AsyncOpenAI(
        base_url="http://127.0.0.1/v1", api_key="x", http_client=http, max_retries=0
    ) as made:
        yield made


async def ask(client: AsyncOpenAI, *messages: dict[str, Any], **fields: Any) -> Any:
    return await client.chat.completions.create(
        model="ragstone", messages=list(messages) or [ASKED], tools=[TOOL], **fields
    )


async def test_given_tools_then_the_models_call_reaches_the_client(
    client: AsyncOpenAI, with_model: Server
) -> None:
    assert with_model.model is not None
    with_model.model.ways = [CALL]
    [choice] = (await ask(client)).choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content is None
    [call] = choice.message.tool_calls
    assert (call.function.name, call.function.arguments) == ("weather", '{"town": "Ost"}')
    sent = with_model.model.calls[-1]
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["weather"]
    # The documents are read all the same.
    assert "<source" in str(sent["messages"])


async def test_given_a_stream_then_the_call_comes_in_it(
    client: AsyncOpenAI, with_model: Server
) -> None:
    assert with_model.model is not None
    with_model.model.ways = [CALL]
    calls, finish = [], None
    async for chunk in await ask(client, stream=True):
        for choice in chunk.choices:
            calls += choice.delta.tool_calls or []
            finish = choice.finish_reason or finish
    assert [(call.index, call.function.name) for call in calls] == [(0, "weather")]
    assert finish == "tool_calls"


async def test_given_what_the_call_returned_then_the_answer_follows(
    client: AsyncOpenAI, with_model: Server
) -> None:
    assert with_model.model is not None
    with_model.model.ways = [CALL]
    said = (await ask(client)).choices[0].message
    returned = {"role": "tool", "tool_call_id": said.tool_calls[0].id, "content": "Rain."}
    answer = await ask(client, ASKED, said.model_dump(exclude_none=True), returned)
    assert answer.choices[0].message.content == "It lasts 31 days [1]."
    *_, asked, called, result = with_model.model.calls[-1]["messages"]
    assert (asked["role"], called["role"], result["content"]) == ("user", "assistant", "Rain.")


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("none", None),
        ("auto", "auto"),
        ("required", "required"),
        ({"type": "function", "function": {"name": "weather"}}, "weather"),
    ],
)
async def test_given_a_choice_then_the_model_is_told(
    client: AsyncOpenAI, with_model: Server, choice: Any, sent: str | None
) -> None:
    assert with_model.model is not None
    await ask(client, tool_choice=choice)
    body = with_model.model.calls[-1]
    assert ("tools" in body) == (sent is not None)
    if sent not in (None, "auto"):
        assert body["tool_choice"] == "required"


@in_turn(
    "messages",
    [
        [ASKED, {"role": "tool", "tool_call_id": "x", "content": "Rain."}],
        [{"role": "tool", "tool_call_id": "x", "content": "Rain."}],
        [ASKED, {"role": "assistant", "content": "Hm."}],
        [
            ASKED,
            {
                "role": "assistant",
                "tool_calls": [
                    {"id": i, "type": "function", "function": {"name": "weather", "arguments": ""}}
                    for i in "ab"
                ],
            },
            {"role": "tool", "tool_call_id": "a", "content": "Rain."},
        ],
    ],
)
async def test_given_results_of_no_call_then_a_clear_error(
    client: AsyncOpenAI, messages: list[dict[str, Any]]
) -> None:
    with pytest.raises(openai.BadRequestError):
        await ask(client, *messages)


@in_turn(
    "fields",
    [
        {"tools": [{"type": "function", "function": {"name": "a b"}}]},
        {"tools": [{"type": "web_search"}]},
        {"tools": [TOOL] * 129},
        {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "other"}}},
    ],
)
async def test_given_tools_that_are_none_then_a_clear_error(
    client: AsyncOpenAI, fields: dict[str, Any]
) -> None:
    with pytest.raises(openai.BadRequestError):
        await client.chat.completions.create(model="ragstone", messages=[ASKED], **fields)


OPENS = r"http://[\w.:]+/#/documents/default/[0-9a-f-]{36}/\d+-\d+"
"""Where the web app opens a document at a sentence."""


async def test_given_cited_sources_then_they_are_annotations(client: AsyncOpenAI) -> None:
    whole = await client.chat.completions.create(model="ragstone", messages=[ASKED])
    message = whole.choices[0].message
    text = message.content or ""
    [annotation] = message.annotations or []
    assert annotation.type == "url_citation"
    cited = annotation.url_citation
    assert text[cited.start_index : cited.end_index] == "[1]"
    assert re.fullmatch(OPENS, cited.url)
    assert cited.title


async def test_given_a_stream_then_the_annotations_come_before_its_end(
    client: AsyncOpenAI,
) -> None:
    found, finished = [], False
    stream = await client.chat.completions.create(model="ragstone", messages=[ASKED], stream=True)
    async for chunk in stream:
        for choice in chunk.choices:
            extra = choice.delta.model_extra or {}
            assert not (finished and extra.get("annotations"))
            found += extra.get("annotations") or []
            finished = finished or choice.finish_reason is not None
    (one,) = found
    assert re.fullmatch(OPENS, one["url_citation"]["url"])

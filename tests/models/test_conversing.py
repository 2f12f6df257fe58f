"""The chat model in a conversation: tools, pictures and history over real HTTP."""

import base64
from collections.abc import Iterator

import pytest

from ragstone.core.errors import ModelUnavailable
from ragstone.core.tool import Picture, Tool, ToolCall, ToolResult, ToolStep
from ragstone.core.turn import Ask, Message
from ragstone.models.chat import ChatModel
from ragstone.models.configured_chat import WithFallback
from ragstone.ports import Said
from ragstone.settings import LlmSettings
from tests.model_server import ModelServer, closed_port, model_server

ADD = Tool("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})
CALL = ToolCall("call-add", "add", '{"a": 1}')


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server(says=("Three. ", "a[1]")) as made:
        yield made


def chat(url: str, **changes: object) -> ChatModel:
    return ChatModel(LlmSettings(model="gpt-4o", base_url=url, retries=0, **changes))  # type: ignore[arg-type]


async def said(model: ChatModel | WithFallback, ask: Ask) -> list[Said]:
    try:
        return [item async for item in model.converse(ask, "Be kind.")]
    finally:
        await model.aclose()


async def test_given_a_conversation_then_the_model_reads_it_all(server: ModelServer) -> None:
    before = (Message("user", "Hi."), Message("assistant", "Hello."))
    heard = await said(chat(server.url), Ask("1+2?", history=before, temperature=0.1, stop=("x",)))
    assert "".join(item.text for item in heard) == "Three. a[1]"
    assert heard[-1].usage.prompt_tokens == 100
    [body] = server.calls
    assert [m["role"] for m in body["messages"]] == ["system", "user", "assistant", "user"]
    assert (body["temperature"], body["stop"]) == (0.1, ["x"])
    assert "tools" not in body


async def test_given_tools_then_the_model_may_call_them(server: ModelServer) -> None:
    server.way = 'call add {"a": 1}'
    heard = await said(chat(server.url), Ask("1+2?", tools=(ADD,)))
    assert heard[-1].calls == (CALL,)
    [tool] = server.calls[0]["tools"]
    assert tool["function"]["name"] == "add"
    assert tool["function"]["parameters"]["properties"] == {"a": {"type": "integer"}}


async def test_given_what_a_call_returned_then_the_model_reads_it(server: ModelServer) -> None:
    step = ToolStep((CALL,), (ToolResult("call-add", "add", "3"),), "I add.")
    await said(chat(server.url), Ask("1+2?", tools=(ADD,), steps=(step,)))
    *_, asked, called, returned = server.calls[0]["messages"]
    assert asked["role"] == "user"
    assert called["content"] == "I add."
    assert called["tool_calls"][0]["id"] == returned["tool_call_id"] == "call-add"
    assert returned["content"] == "3"


async def test_given_a_call_of_a_tool_that_was_not_offered_then_it_is_no_reply(
    server: ModelServer,
) -> None:
    server.way = "call rm {}"
    with pytest.raises(ModelUnavailable, match="nobody offered"):
        await said(chat(server.url), Ask("1+2?", tools=(ADD,)))


async def test_given_pictures_then_they_are_parts_of_the_question(server: ModelServer) -> None:
    data = base64.b64encode(b"\x89PNG").decode()
    await said(chat(server.url), Ask("What is it?", pictures=(Picture("image/png", data),)))
    text, image = server.calls[0]["messages"][-1]["content"]
    assert text == {"type": "text", "text": "What is it?"}
    assert image["image_url"]["url"] == f"data:image/png;base64,{data}"


async def test_given_a_model_that_is_gone_then_the_other_one_converses(server: ModelServer) -> None:
    both = WithFallback(chat(closed_port()), chat(server.url))
    heard = await said(both, Ask("1+2?"))
    assert "".join(item.text for item in heard) == "Three. a[1]"
    assert "fallback" in heard[0].reason


@pytest.mark.parametrize(
    ("name", "sees"),
    [("gpt-4o", True), ("gpt-4", False), ("llava:7b", True), ("qwen2.5-vl-7b", True), ("x", False)],
)
def test_given_a_model_then_its_name_says_whether_it_sees(name: str, sees: bool) -> None:
    def profile(vision: bool | None) -> bool:
        settings = LlmSettings(model=name, base_url="http://127.0.0.1:1/v1", vision=vision)
        return ChatModel(settings).profile.vision

    assert profile(None) is sees
    assert profile(not sees) is not sees

"""Function calling: what the model's server is sent, and what comes of its reply."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from ragstone import build
from ragstone.core.errors import InputError, ModelUnavailable
from ragstone.core.events import Token
from ragstone.core.tool import Tool, ToolCall
from ragstone.core.turn import Ask, Turn
from ragstone.local import Ragstone
from ragstone.service import IngestRequest
from ragstone.settings import LlmSettings, Settings
from tests.model_server import closed_port, model_server

pytestmark = pytest.mark.slow

SEARCH = Tool("search", "Finds things.", {"type": "object", "properties": {"q": {}}})
CALL = 'call search {"q": "Ost"}'
QUESTION = Ask("When was the lighthouse of Ost built?", tools=(SEARCH,))


def llm(url: str) -> LlmSettings:
    return LlmSettings(model="m", base_url=url, api_key=SecretStr("k"), retries=0)


@asynccontextmanager
async def ost(data: Path, model: LlmSettings, **settings: Any) -> AsyncIterator[Ragstone]:
    """A Ragstone with one document."""
    (data / "ost.txt").write_text("The lighthouse of Ost was built in 1871.")
    made = Settings(ragstone_data=data / "data", llm=model, **settings)
    async with build.open(made) as ragstone:
        async for _ in ragstone.ingest(IngestRequest((str(data / "ost.txt"),))):
            pass
        yield ragstone


async def replied(data: Path, url: str, ask: Ask = QUESTION, **settings: Any) -> Turn:
    async with ost(data, llm(url), **settings) as ragstone:
        return await ragstone.function_calling(ask)


@pytest.mark.conforms(
    "RAG engine v1", "Answer generator", "generate_with_functions returns the call"
)
async def test_given_a_model_that_calls_then_the_call_and_its_usage(tmp_path: Path) -> None:
    with model_server(way=CALL) as server:
        turn = await replied(tmp_path, server.url)
    assert turn.answer is not None
    assert (turn.answer.text, turn.answer.citations) == ("", ())
    assert turn.answer.calls == (ToolCall("call-search", "search", '{"q": "Ost"}'),)
    assert turn.usage.completion_tokens == 10
    [sent] = server.calls
    assert sent["tools"][0]["function"]["name"] == "search"
    assert sent["tools"][0]["function"]["description"] == "Finds things."
    assert "1871" in sent["messages"][0]["content"]


async def test_given_a_model_that_answers_then_the_answer_cites_the_documents(
    tmp_path: Path,
) -> None:
    with model_server() as server:
        turn = await replied(tmp_path, server.url)
    assert turn.answer is not None
    assert (turn.answer.model, turn.answer.text, turn.answer.calls) == ("m", "In 1871. [1]", ())
    assert [citation.path for citation in turn.answer.citations] == ["/ost.txt"]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("", "auto"),
        ("required", "required"),
        ("search", {"type": "function", "function": {"name": "search"}}),
    ],
)
async def test_given_a_choice_then_the_server_is_told(
    tmp_path: Path, choice: str, sent: object
) -> None:
    with model_server(way=CALL) as server:
        await replied(
            tmp_path, server.url, Ask("When?", tools=(SEARCH, Tool("add")), tool_choice=choice)
        )
    assert server.calls[0]["tool_choice"] == sent


async def test_given_the_first_model_is_away_then_the_second_calls(tmp_path: Path) -> None:
    with model_server(way=CALL) as server:
        turn = await replied(tmp_path, closed_port(), llm_fallback=llm(server.url))
    assert turn.answer is not None
    assert [call.name for call in turn.answer.calls] == ["search"]


async def test_given_no_model_is_there_then_its_error_is_told(tmp_path: Path) -> None:
    async with ost(tmp_path, llm(closed_port())) as ragstone:
        # The documents' own sentences stand by for answers, and call nothing.
        said = [event async for event in ragstone.ask(QUESTION)]
        assert "1871" in "".join(event.text for event in said if isinstance(event, Token))
        with pytest.raises(ModelUnavailable):
            await ragstone.function_calling(QUESTION)


async def test_given_a_call_of_a_tool_that_was_not_offered_then_it_is_no_reply(
    tmp_path: Path,
) -> None:
    with (
        model_server(way="call rm {}") as server,
        pytest.raises(ModelUnavailable, match="nobody offered"),
    ):
        await replied(tmp_path, server.url)


async def test_given_no_chat_model_then_a_clear_error(tmp_path: Path) -> None:
    async with build.open(Settings(ragstone_data=tmp_path / "data")) as ragstone:
        with pytest.raises(InputError, match="LLM__MODEL"):
            await ragstone.function_calling(QUESTION)

"""Function calling: what the model's server is sent, and what comes of its reply."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from ragstone import build
from ragstone.answer import Instructions
from ragstone.errors import InputError, ModelUnavailable
from ragstone.models.chat import ChatModel
from ragstone.models.extractive import Extractive
from ragstone.models.fallback import WithFallback
from ragstone.ports import Chosen, Function, FunctionCall, FunctionCaller
from ragstone.service import IngestRequest
from ragstone.settings import LlmSettings, Settings
from ragstone.turn import Ask
from tests.model_server import closed_port, model_server
from tests.stages.samples import a_passage

SEARCH = Function("search", "Finds things.", {"type": "object", "properties": {"q": {}}})
PASSAGES = [a_passage(1, "The lighthouse of Ost was built in 1871.")]
TOLD = Instructions("Answer from the sources.", "The documents do not say.")


def a_model(url: str) -> ChatModel:
    key = SecretStr("k")
    return ChatModel(LlmSettings(model="m", base_url=url, api_key=key, retries=0))


async def chosen(model: FunctionCaller, choice: str = "auto") -> Chosen:
    return await model.choose(Ask("When?"), PASSAGES, TOLD, [SEARCH], choice)


async def test_given_a_model_that_calls_then_the_call_and_its_usage() -> None:
    with model_server(way="tool call") as server:
        model = a_model(server.url)
        found = await chosen(model)
        await model.aclose()
    assert found.call == FunctionCall("search", "{}")
    assert found.said.usage.completion_tokens == 10
    [sent] = server.calls
    assert sent["tools"][0]["function"]["name"] == "search"
    assert sent["tools"][0]["function"]["description"] == "Finds things."
    assert "1871" in sent["messages"][0]["content"]


async def test_given_a_model_that_answers_then_no_call() -> None:
    with model_server() as server:
        model = a_model(server.url)
        found = await chosen(model, "auto")
        await model.aclose()
    assert (found.call, found.said.text) == (None, "In 1871. [1]")


@pytest.mark.parametrize("choice", ["required", "search"])
async def test_given_a_choice_then_the_server_is_told(choice: str) -> None:
    with model_server(way="tool call") as server:
        model = a_model(server.url)
        await chosen(model, choice)
        await model.aclose()
    assert server.calls[0]["tool_choice"] in (
        "required",
        {"type": "function", "function": {"name": "search"}},
    )


async def test_given_the_first_model_is_away_then_the_second_chooses() -> None:
    with model_server(way="tool call") as server:
        model = WithFallback(a_model(closed_port()), a_model(server.url))
        assert (await chosen(model)).call == FunctionCall("search", "{}")
        await model.aclose()


async def test_given_only_one_model_calls_functions_then_its_error_is_told() -> None:
    extractive = Extractive.__new__(Extractive)
    model = WithFallback(a_model(closed_port()), extractive)
    with pytest.raises(ModelUnavailable):
        await chosen(model)


async def test_given_documents_then_the_answer_cites_them(tmp_path: Path) -> None:
    (tmp_path / "ost.txt").write_text("The lighthouse of Ost was built in 1871.")
    with model_server() as server:
        llm = LlmSettings(model="m", base_url=server.url, api_key=SecretStr("k"))
        settings = Settings(ragstone_data=tmp_path / "data", llm=llm)
        async with build.open(settings) as ragstone:
            async for _ in ragstone.ingest(IngestRequest((str(tmp_path / "ost.txt"),))):
                pass
            ask = Ask("When was the lighthouse of Ost built?")
            answered = await ragstone.functions.answer(ask, [SEARCH])
            server.way = "tool call"
            called = await ragstone.functions.answer(ask, [SEARCH])
    answer = answered.turn.answer
    assert answer is not None
    assert [citation.path for citation in answer.citations] == ["/ost.txt"]
    assert (answer.model, answered.call) == ("m", None)
    assert called.call == FunctionCall("search", "{}")
    assert called.turn.answer is not None
    assert called.turn.answer.text == ""


async def test_given_no_chat_model_then_a_clear_error(tmp_path: Path) -> None:
    async with build.open(Settings(ragstone_data=tmp_path / "data")) as ragstone:
        with pytest.raises(InputError, match="LLM__MODEL"):
            await ragstone.functions.answer(Ask("q"), [SEARCH])

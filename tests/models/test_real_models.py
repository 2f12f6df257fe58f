"""Small real chat models behind everything that asks one: they break rules, and nothing breaks."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from ragstone import build
from ragstone.core.errors import ModelUnavailable
from ragstone.core.events import Done, Failed, Token
from ragstone.core.tool import Tool
from ragstone.core.turn import Ask, JsonFormat, Message, Turn
from ragstone.language.json_answer import validation_error
from ragstone.local import Ragstone
from ragstone.service import IngestRequest
from ragstone.settings import LlmSettings, Settings
from tests.chat_models import MODELS, chat_model_file
from tests.llama import llama_server

pytestmark = [pytest.mark.real, pytest.mark.slow]

KEY = "secret"
TEXTS = {
    "lighthouse.md": "# The lighthouse of Ost\n\nThe lighthouse of Ost was built in 1871. It is 34 "
    "metres high, and its light is seen for 20 kilometres.\n",
    "bahn.md": "# Die Seilbahn von Trum\n\nDie Seilbahn von Trum fährt seit 1958. Eine Fahrt "
    "dauert 11 Minuten und kostet 9 Euro.\n",
    "图书馆.md": "# 东湖图书馆\n\n东湖图书馆于1996年开放, 每天上午九点开门, 藏书四十万册。\n",
}
QUESTIONS = {
    "English": ("When was the lighthouse of Ost built?", "1871"),
    "German": ("Wie lange dauert eine Fahrt mit der Seilbahn von Trum?", "11"),
    "Chinese": ("东湖图书馆是哪一年开放的?", "1996"),
}
SCHEMA = {
    "type": "object",
    "properties": {"year": {"type": "integer"}, "metres": {"type": "integer"}},
    "required": ["year", "metres"],
}
SMALLEST = next(iter(MODELS))
with_the_smallest = pytest.mark.parametrize("model", [SMALLEST], indirect=True, scope="module")
"""For what takes long, and does not depend on how good the model is."""

SEARCH = Tool(
    "search",
    "Searches the documents.",
    {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> Iterator[LlmSettings]:
    with llama_server(KEY, chat_model_file(request.param)) as url:
        yield LlmSettings(
            base_url=f"{url}/v1",
            model=request.param,
            api_key=SecretStr(KEY),
            temperature=0.0,
            max_tokens=60,
            timeout=300,
        )


@pytest.fixture
async def ragstone(tmp_path: Path, model: LlmSettings) -> AsyncIterator[Ragstone]:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    async with build.open(Settings(ragstone_data=tmp_path / "data", llm=model)) as service:
        async for _ in service.ingest(IngestRequest((str(folder),))):
            pass
        yield service


async def answer(service: Ragstone, ask: Ask) -> Turn:
    """The turn of an answer that came to its end, whose text is that of the stream."""
    events = [event async for event in service.ask(ask)]
    end = events[-1]
    assert isinstance(end, Done), end.error if isinstance(end, Failed) else end
    assert end.turn.answer is not None
    assert end.turn.answer.text == "".join(e.text for e in events if isinstance(e, Token))
    return end.turn


def check_text(turn: Turn) -> str:
    """What no reader may see is in no answer, and every number in it is a source's."""
    assert turn.answer is not None
    text = turn.answer.text
    assert text.strip()
    assert not re.search(r"</?think|SOURCES_USED|<\|im_|tool_call", text)
    numbers = {passage.number for passage in turn.passages}
    assert {int(number) for number in re.findall(r"\[(\d+)\]", text)} <= numbers
    return text


@pytest.mark.parametrize("language", QUESTIONS)
async def test_a_small_model_answers_with_the_fact_of_the_source(
    ragstone: Ragstone, language: str
) -> None:
    question, fact = QUESTIONS[language]

    turn = await answer(ragstone, Ask(question, top_k=2))

    assert fact in check_text(turn)
    assert turn.answer is not None
    assert turn.answer.note == ""
    assert turn.usage.calls >= 1


@with_the_smallest
async def test_what_no_document_says_is_refused_or_carries_no_confidence(
    ragstone: Ragstone,
) -> None:
    turn = await answer(ragstone, Ask("Who was the architect of the lighthouse of Ost?", top_k=2))

    check_text(turn)
    assert turn.answer is not None
    assert turn.answer.refused or turn.answer.confidence_level != "high"


@with_the_smallest
async def test_a_follow_up_is_searched_as_a_question_of_its_own(ragstone: Ragstone) -> None:
    before = (
        Message("user", "When was the lighthouse of Ost built?"),
        Message("assistant", "It was built in 1871 [1]."),
    )

    turn = await answer(ragstone, Ask("And how high is it?", history=before, top_k=2))

    check_text(turn)
    assert any("lighthouse" in passage.text for passage in turn.passages)


async def test_json_is_of_the_wanted_form_or_an_error_that_says_so(ragstone: Ragstone) -> None:
    ask = Ask(
        "When was the lighthouse of Ost built, and how high is it?",
        json=JsonFormat("lighthouse", SCHEMA),
        top_k=2,
    )

    events = [event async for event in ragstone.ask(ask)]

    end: Any = events[-1]
    if isinstance(end, Failed):
        assert isinstance(end.error, ModelUnavailable)
        assert "JSON" in end.error.message
    elif not end.turn.answer.refused:
        assert validation_error(json.loads(end.turn.answer.text), SCHEMA) == ""


async def test_a_call_of_a_tool_is_one_even_if_it_is_written_as_text(ragstone: Ragstone) -> None:
    turn = await ragstone.function_calling(
        Ask(
            "Call the tool search with the query: opening hours of the harbour museum.",
            tools=(SEARCH,),
            top_k=1,
        )
    )

    assert turn.answer is not None
    assert {call.name for call in turn.answer.calls} <= {"search"}
    assert '"arguments"' not in turn.answer.text


@with_the_smallest
async def test_every_check_of_a_small_model_comes_to_its_end(ragstone: Ragstone) -> None:
    checks = [check async for check in ragstone.check_models()]

    assert checks[0].state == "ok"
    assert [check.check for check in checks][1:] == [
        "models",
        "streams",
        "tools",
        "JSON",
        "context",
    ]
    assert all(check.said for check in checks)

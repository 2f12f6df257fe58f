"""Who stands by for a chat model that does not answer: from the settings to the events."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ragstone import build
from ragstone.core.errors import ConfigError
from ragstone.core.events import Done, Event, Failed, Note, Token
from ragstone.core.turn import Ask
from ragstone.http.app import create_app
from ragstone.local import Ragstone
from ragstone.service import IngestRequest
from ragstone.settings import LlmSettings, Settings
from tests.model_server import ModelServer, closed_port, model_server

pytestmark = pytest.mark.slow

QUESTION = "When was the lighthouse of Ost built?"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server(model="gpt-4") as one:
        yield one


@asynccontextmanager
async def opened(folder: Path, **llm: LlmSettings) -> AsyncIterator[Ragstone]:
    (folder / "docs").mkdir()
    (folder / "docs" / "ost.txt").write_text("The lighthouse of Ost was built in 1871.")
    settings = Settings(ragstone_data=folder / "data", **llm)  # type: ignore[arg-type]
    async with build.open(settings) as ragstone:
        await ragstone.start_jobs()
        async for _ in ragstone.ingest(IngestRequest((str(folder / "docs"),))):
            pass
        yield ragstone


async def asked(ragstone: Ragstone, question: str = QUESTION) -> list[Event]:
    return [event async for event in ragstone.ask(Ask(question))]


def generated(event: Event) -> Any:
    """The trace of `generate`."""
    assert isinstance(event, Done | Failed)
    return next(traced for traced in event.turn.trace if traced.stage == "generate")


async def test_given_a_spare_model_then_the_trace_says_who_answered_and_why(
    tmp_path: Path, server: ModelServer
) -> None:
    llm = LlmSettings(base_url=closed_port(), model="first", retries=0)
    spare = LlmSettings(base_url=server.url, model="gpt-4")
    async with opened(tmp_path, llm=llm, llm_fallback=spare) as ragstone:
        done = (await asked(ragstone))[-1]
        assert isinstance(done, Done)
        assert done.turn.answer is not None
        assert (done.turn.answer.text, done.turn.answer.model) == ("In 1871. [1]", "gpt-4")
        assert "fallback, as first failed" in generated(done).reason
        usage = done.turn.usage
        assert usage.cost == pytest.approx(usage.calls * (100 * 30 + 10 * 60) / 1e6)
        ready = await ragstone.ready()
        assert ready["models"].startswith("ok: ")
        assert "cannot be reached" in ready["models"]
        assert f"gpt-4 at {server.url} (breaker closed)" in ready["models"]


async def test_given_the_extractive_answerer_then_it_answers_and_the_reader_is_told(
    tmp_path: Path,
) -> None:
    llm = LlmSettings(base_url=closed_port(), model="first", retries=0)
    async with opened(tmp_path, llm=llm) as ragstone:
        events = await asked(ragstone)
        done = events[-1]
        assert isinstance(done, Done)
        assert done.turn.answer is not None
        assert "1871" in done.turn.answer.text
        assert done.turn.answer.model == "extractive"
        assert any(isinstance(e, Note) and "own sentences" in e.text for e in events)


async def test_given_nobody_then_it_fails_and_a_partial_answer_is_kept(
    tmp_path: Path, server: ModelServer
) -> None:
    server.way = "cut"
    llm = LlmSettings(base_url=server.url, model="gpt-4", retries=0)
    async with opened(tmp_path, llm=llm) as ragstone:
        events = await asked(ragstone)
        failed = events[-1]
        assert isinstance(failed, Failed)
        assert failed.error.code == "model_unavailable"
        assert failed.turn.answer is not None
        assert (failed.turn.answer.text, failed.turn.answer.finish) == ("In 1871.", "error")
        assert "".join(e.text for e in events if isinstance(e, Token)) == "In 1871."


async def test_given_a_model_that_asks_for_patience_then_http_says_retry_after(
    tmp_path: Path, server: ModelServer
) -> None:
    server.way = "429 60"
    llm = LlmSettings(base_url=server.url, model="gpt-4", fallback="none")
    async with opened(tmp_path, llm=llm) as ragstone:
        transport = httpx2.ASGITransport(create_app(ragstone, Settings(), "secret-token"))
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            body = {"model": "ragstone", "messages": [{"role": "user", "content": QUESTION}]}
            response = await http.post("/v1/chat/completions", json=body)
        assert response.status_code == 503
        assert response.headers["retry-after"] == "60"
        assert response.json()["error"]["code"] == "model_unavailable"


async def test_given_a_spare_model_without_a_first_then_a_clear_error(tmp_path: Path) -> None:
    settings = Settings(ragstone_data=tmp_path, llm_fallback=LlmSettings(model="openai:x"))
    with pytest.raises(ConfigError, match="LLM__MODEL"):
        async with build.open(settings):
            raise AssertionError("it must not open")

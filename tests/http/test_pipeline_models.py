"""What the pipeline document says of the chat model over HTTP: memory, budget, and failures."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from ragstone.language.tokens import count
from ragstone.service import IngestRequest
from ragstone.settings import LlmSettings, RagSettings, Settings, StandbySettings
from tests.http.conftest import QUESTION, Server
from tests.model_server import ModelServer, model_server
from tests.models.test_profiles import PRINTED

PATH = "/api/v1/chat/completions"


async def ask(http: httpx2.AsyncClient, message: str, **fields: Any) -> httpx2.Response:
    return await http.post(PATH, json={"message": message, **fields})


def a_model(server: Server) -> ModelServer:
    assert server.model is not None
    return server.model


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "turns"),
    [("qwen2.5:1.5b", 3), ("llama3.1:8b", 6), ("qwen2.5:14b", 10), ("llama3.1:70b", 15)],
)
@pytest.mark.conforms("Query pipeline", "Step 8", "3, 6, 10 and 15 turns by the model's size")
async def test_given_a_long_session_then_a_model_is_told_the_turns_of_its_size(
    with_model: Server, name: str, turns: int
) -> None:
    http, model = await with_model.start(name=name), a_model(with_model)
    for number in range(17):
        await ask(http, f"Remember number {number}.", mode="general", session_id="s")
        await with_model.settled()
    told = [item["content"] for item in model.calls[-1]["messages"] if item["role"] == "user"]
    assert len(told) == turns + 1
    assert f"number {16 - turns}." in told[0]


@pytest.mark.conforms("Query pipeline", "Step 9", "Sampling of the printed models, in their calls")
@pytest.mark.parametrize(("name", "printed"), PRINTED.items())
async def test_given_a_printed_model_then_it_is_called_with_its_temperature_and_top_p(
    with_model: Server, name: str, printed: tuple[int, float, float]
) -> None:
    http = await with_model.start(name=name)
    await ask(http, QUESTION)
    call = a_model(with_model).calls[-1]
    assert (call["temperature"], call["top_p"]) == printed[1:]


LONG = "The keeper of the lamp wrote this down for those who come after him. " * 8


@pytest.mark.slow
@pytest.mark.conforms("Query pipeline", "Step 8", "Shares of the window over HTTP")
async def test_given_more_than_fits_then_passages_and_history_have_their_shares(
    with_model: Server, tmp_path: Path
) -> None:
    model = a_model(with_model)
    model.says = (LONG * 2,)
    http = await with_model.start(name="llama3.2:latest", rag=RagSettings(top_k=60))
    (tmp_path / "log").mkdir()
    for day in range(60):
        seen = " ".join(f"Ship {100 * day + hour} passed at {hour} o'clock." for hour in range(20))
        text = f"# Lamp on day {day}\n\nOn day {day} the lamp burnt {day + 2} hours. {seen}"
        (tmp_path / "log" / f"{day}.md").write_text(text, encoding="utf-8")
    assert with_model.service is not None
    async for _ in with_model.service.ingest(IngestRequest((str(tmp_path / "log"),))):
        pass
    for _ in range(8):
        await ask(http, "What else is there?", mode="general", session_id="s")
        await with_model.settled()
    await ask(http, "How many hours did the lamp burn?", strategy="HYBRID", session_id="s")
    call = model.calls[-1]
    told = [count(item["content"]) / 8000 for item in call["messages"]]
    assert 0.5 < told[0] < 0.7
    assert 0.08 < sum(told[1:-1]) <= 0.15
    assert sum(told) + call["max_tokens"] / 8000 <= 1


async def with_spare(server: Server, spare: ModelServer, **changes: Any) -> httpx2.AsyncClient:
    """A client of a server whose model has a spare one."""
    llm = LlmSettings(model="first", base_url=a_model(server).url, **changes)
    second = StandbySettings(model="spare", base_url=spare.url)
    return await server.start_with(
        Settings(ragstone_data=server._data, llm=llm, llm_fallback=second)
    )


@pytest.mark.slow
@pytest.mark.conforms("Query pipeline", "Step 9", "Retries, then an error, over HTTP")
@pytest.mark.parametrize(("way", "changes"), [("503", {}), ("hang", {"timeout": 0.3})])
async def test_given_a_model_that_goes_on_failing_then_it_is_retried_and_then_an_error(
    with_model: Server, way: str, changes: dict[str, Any]
) -> None:
    model = a_model(with_model)
    model.way = way
    llm = LlmSettings(model="first", base_url=model.url, retries=2, **changes)
    http = await with_model.start_with(Settings(ragstone_data=with_model._data, llm=llm))
    response = await ask(http, QUESTION)
    assert response.status_code == 503
    assert len(model.calls) == 3


@pytest.mark.slow
@pytest.mark.conforms("Query pipeline", "Step 9", "Breaker and spare model over HTTP")
async def test_given_an_open_circuit_then_the_spare_model_answers_without_a_call_of_the_first(
    with_model: Server,
) -> None:
    model = a_model(with_model)
    model.way = "503"
    with model_server(says=("It lasts 31 days [1].",)) as spare:
        http = await with_spare(with_model, spare, retries=0)
        for _ in range(6):
            response = await ask(http, QUESTION)
            assert response.json()["content"] == "It lasts 31 days [Source 1]."
    assert len(model.calls) == 5
    assert len(spare.calls) == 6

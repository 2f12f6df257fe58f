"""What the query pipeline finds, and how its prompt asks, over HTTP before real documents."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from ragstone.service import IngestRequest
from tests.http.conftest import QUESTION, Server

STATIONS = (
    *("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Ginkgo", "Hazel", "Ironwood"),
    *("Juniper", "Kapok", "Larch", "Maple", "Nutmeg", "Oak", "Pine", "Quince", "Rowan"),
)
CONTENTS = "- How long a battery charge lasts 3\n- A full charge without sun 20\n- The battery 34"
ROUTE = "/api/v1/chat/completions"


async def with_stations(server: Server, folder: Path) -> httpx2.AsyncClient:
    """A client of a server that knows 18 stations, each from a document of its own."""
    http = await server.start()
    folder.mkdir()
    for number, name in enumerate(STATIONS):
        text = f"# Station {name}\n\nStation {name} stands {number + 3} km from the harbour.\n"
        (folder / f"{name.lower()}.md").write_text(text, encoding="utf-8")
    assert server.service is not None
    async for _ in server.service.ingest(IngestRequest((str(folder),))):
        pass
    return http


async def ask(http: httpx2.AsyncClient, message: str) -> Any:
    return (await http.post(ROUTE, json={"message": message})).json()


@pytest.mark.conforms("Query pipeline", "Step 4", "Short LIST questions keep their 15 passages")
@pytest.mark.parametrize(
    "question", ["List all stations", "Which stations are there?", "What are the stations?"]
)
async def test_given_a_short_list_question_then_15_sources(
    server: Server, tmp_path: Path, question: str
) -> None:
    http = await with_stations(server, tmp_path / "stations")
    assert len((await ask(http, question))["sources"]) == 15


@pytest.mark.conforms("Query pipeline", "Step 9", "The template of each intent is in the prompt")
@pytest.mark.parametrize(
    ("question", "rule"),
    [
        ("List all stations", "List ALL items"),
        ("Summarise the travel policy", "two or three sentences, then list the key points"),
        ("Compare Station Alder and Station Oak", "what is alike, what differs"),
        ("How far is Station Oak from the harbour?", "Give the answer itself first"),
        (
            "Why was the launch of Lantern 4 delayed, and what does it mean?",
            "what follows from it, then the conclusion",
        ),
    ],
)
async def test_given_an_intent_then_its_template(
    with_model: Server, tmp_path: Path, question: str, rule: str
) -> None:
    http = await with_stations(with_model, tmp_path / "stations")
    await ask(http, question)
    assert with_model.model is not None
    tasks = [call["messages"][-1]["content"] for call in with_model.model.calls]
    assert any(rule in task for task in tasks)


@pytest.mark.conforms("Query pipeline", "Step 10", "Relevance is absolute, not that of the rank")
async def test_given_a_question_about_nothing_then_its_sources_are_not_relevant(
    server: Server,
) -> None:
    http = await server.start()
    known, unknown = await ask(http, QUESTION), await ask(http, "What is the capital of Mongolia?")
    best = max(source["relevance_score"] for source in known["sources"])
    assert best > 0.6
    assert all(source["relevance_score"] < 0.5 for source in unknown["sources"])


@pytest.mark.conforms("Query pipeline", "Step 7", "Penalties of -30, -50 and -40 % over HTTP")
async def test_given_kinds_that_rarely_answer_then_their_relevance_is_less(
    server: Server, tmp_path: Path
) -> None:
    http = await server.start()
    said = "A full battery charge lasts 31 days without sun."
    (tmp_path / "book").mkdir()
    for heading in ("Glossary", "Table of contents", "Image credits", "Power"):
        body = CONTENTS if heading.startswith("Table") else said
        text = f"# {heading}\n\n{body}\n"
        (tmp_path / "book" / f"{heading}.md").write_text(text, encoding="utf-8")
    assert server.service is not None
    request = IngestRequest((str(tmp_path / "book"),), collection="book")
    async for _ in server.service.ingest(request):
        pass
    asked = {"message": QUESTION, "collection_filter": "book", "strategy": "DENSE_ONLY"}
    found = (await http.post(ROUTE, json=asked)).json()["sources"]
    kept = {
        source["snippet"].partition("\n")[0]: source["relevance_score"] / source["similarity_score"]
        for source in found
    }
    printed = {"Glossary": 0.7, "Table of contents": 0.5, "Image credits": 0.6, "Power": 1.0}
    assert kept == pytest.approx(printed, abs=1e-3)

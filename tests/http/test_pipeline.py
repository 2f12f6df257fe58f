"""The query pipeline's chat completions over real HTTP."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ragstone.core.events import Done, Sources, Token
from ragstone.core.filters import path_filter
from ragstone.core.turn import Ask, Turn
from ragstone.http.app import create_app
from ragstone.plugins.pipeline.routes import RagStream
from ragstone.settings import Settings
from ragstone.settings.server import DialectSettings
from tests.engine.samples import a_passage
from tests.fake_service import FakeService
from tests.http.sse_client import heard
from tests.http.transcripts import replayed, transcripts
from tests.http_server import running

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 8).decode()
SOURCE = {
    "document_id": "d1",
    "document_name": "1.md",
    "chunk_id": "c1",
    "page_number": 1,
    "snippet": "Passage 1: the answer is 42, as everyone knows.",
    "relevance_score": 0.8,
    "similarity_score": 0.8,
}


@pytest.fixture(scope="module")
def standing() -> FakeService:
    return FakeService()


@pytest.fixture
def service(standing: FakeService) -> FakeService:
    standing.forget()
    return standing


@pytest.fixture(scope="module")
def address(standing: FakeService) -> Iterator[str]:
    with running(create_app(standing, Settings(), "token")) as address:
        yield address


@pytest.fixture
def url(address: str, service: FakeService) -> str:
    return f"{address}/api/v1/chat/completions"


@pytest.mark.parametrize("file", transcripts("pipeline"), ids=lambda file: file.stem)
@pytest.mark.usefixtures("service")
def test_transcript(address: str, file: Path) -> None:
    replayed(address, file)


def chat(message: str = "What is the answer?", **fields: Any) -> dict[str, Any]:
    return {"message": message, **fields}


@pytest.mark.conforms(
    "Query pipeline",
    "Step 10",
    "RAGResponse: fields as printed, snippets of 200 characters",
)
@pytest.mark.conforms("Query pipeline", "Step 10", "RAGResponse has confidence and groundedness")
def test_given_a_message_then_the_documents_structure(url: str) -> None:
    found = httpx.post(url, json=chat()).json()
    assert list(found) == [
        "content",
        "sources",
        "confidence_score",
        "confidence_level",
        "suggested_questions",
        "context_sufficiency",
        "is_grounded",
        "groundedness_score",
        "supported",
        "answers",
    ]
    assert found["content"] == "The answer is 42 [Source 1]."
    assert list(found["sources"][0].items()) == list(SOURCE.items())
    assert (found["confidence_score"], found["confidence_level"]) == (0.88, "high")
    assert (found["is_grounded"], found["groundedness_score"]) == (None, None)
    assert found["supported"] == {"holds": True, "confidence": 0.95, "level": "high"}
    assert found["answers"] == {"holds": True, "confidence": 0.92, "level": "high"}
    assert found["suggested_questions"] == []


@pytest.mark.conforms("Query pipeline", "Step 1", "POST /api/chat/completions answers")
def test_given_the_documents_route_then_it_is_the_same(url: str) -> None:
    other = url.replace("/api/v1/", "/api/")
    assert httpx.post(other, json=chat()).json() == httpx.post(url, json=chat()).json()


@pytest.mark.conforms("Query pipeline", "Step 1", "Every field of ChatRequest counts")
def test_given_every_field_then_the_question_is_what_it_says(
    url: str, service: FakeService
) -> None:
    body = chat(
        session_id="s1",
        mode="chat",
        collection_filter="default",
        folder_id="/hr",
        intelligence_level="maximum",
        temperature_override=0.9,
        enable_cot=True,
        enable_verification=False,
        ensemble_voting=True,
    )
    assert httpx.post(url, json=body).status_code == 200
    [asked] = service.asked
    assert (asked.room, asked.collection, asked.level) == ("s1", "default", "maximum")
    assert asked.one_session
    assert (asked.where, asked.temperature, asked.search_type) == (path_filter("/hr"), 0.9, "rag")
    assert (asked.reasons, asked.verifies, asked.votes) == (True, False, True)


def test_given_only_a_message_then_the_defaults(url: str, service: FakeService) -> None:
    httpx.post(url, json=chat(session_id=None, mode=None, intelligence_level=None, stream=None))
    [asked] = service.asked
    assert (asked.room, asked.collection, asked.level) == (None, "default", "standard")
    assert (asked.where, asked.temperature) == (None, None)
    assert (asked.reasons, asked.verifies, asked.votes) == (None, None, None)


@pytest.mark.parametrize(
    ("mode", "search_type"), [("chat", "rag"), ("general", "gpt"), ("agent", "pa")]
)
@pytest.mark.conforms("Query pipeline", "Step 1", "mode: chat, general, agent")
def test_given_a_mode_then_it_decides_what_answers(
    url: str, service: FakeService, mode: str, search_type: str
) -> None:
    httpx.post(url, json=chat(mode=mode))
    assert service.asked[0].search_type == search_type


@pytest.mark.conforms("Query pipeline", "Step 5", "Every strategy by request")
@pytest.mark.parametrize("name", ["DENSE_ONLY", "HYBRID", "FUSION", "TWO_STAGE", "HIERARCHICAL"])
def test_given_a_strategy_then_it_is_searched_so(url: str, service: FakeService, name: str) -> None:
    httpx.post(url, json=chat(strategy=name))
    assert service.asked[0].strategy == name.lower().removesuffix("_only")


@pytest.mark.conforms("Query pipeline", "Step 1", "mode: vision")
def test_given_the_mode_vision_then_the_images_are_looked_at(
    url: str, service: FakeService
) -> None:
    httpx.post(url, json=chat(mode="vision", images=[PNG]))
    [asked] = service.asked
    assert (asked.search_type, len(asked.pictures)) == ("gpt", 1)


def test_given_a_stream_then_sources_tokens_and_the_structure(url: str) -> None:
    events = heard(url, chat("think", stream=True))
    assert [event["type"] for event in events] == [
        "sources",
        "thinking",
        "status",
        *["token"] * 5,
        "done",
    ]
    assert events[0]["sources"][0] == SOURCE
    text = "".join(event["content"] for event in events if event["type"] == "token")
    assert text == events[-1]["content"] == "The answer is 42 [Source 1]."
    assert {k: v for k, v in events[-1].items() if k != "type"} == httpx.post(
        url, json=chat()
    ).json()


@pytest.mark.conforms("Query pipeline", "Step 9", "A stream that breaks ends with an error")
def test_given_a_stream_that_breaks_then_its_last_event_says_so(url: str) -> None:
    assert heard(url, chat("breaks later", stream=True))[-1] == {
        "type": "error",
        "content": "The model went away.",
        "code": "model_unavailable",
    }


def test_given_no_sources_then_brackets_are_left_alone() -> None:
    stream = RagStream()
    assert stream.encode(Sources(())) == [{"type": "sources", "sources": []}]
    assert stream.encode(Token("a[1]")) == [{"type": "token", "content": "a[1]"}]


@pytest.mark.parametrize("cut", range(1, 8))
def test_given_a_marker_in_two_pieces_then_it_comes_whole(cut: int) -> None:
    stream, text = RagStream(), "Yes [1]. "
    stream.encode(Sources((a_passage(1, "Yes."),)))
    pieces = [stream.encode(Token(part)) for part in (text[:cut], text[cut:])]
    pieces.append(stream.encode(Done(Turn(Ask("q"))))[:-1])
    assert "".join(item["content"] for some in pieces for item in some) == "Yes [Source 1]. "


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        (chat(""), 400),
        (chat("x" * 20_001), 400),
        (chat(mode="sql"), 422),
        (chat(intelligence_level="genius"), 422),
        (chat(temperature_override=3), 422),
        (chat(strategy="magic"), 422),
        (chat(collection_filter=["a", "b"]), 400),
        (chat(collection_filter="nowhere"), 404),
        (chat(session_id="x" * 256), 422),
        (chat(mode="vision"), 400),
        (chat(images=[PNG]), 400),
        (chat("broken"), 503),
        (chat(folder_id="\ud800"), 200),
        ([], 400),
    ],
)
@pytest.mark.conforms("Query pipeline", "Step 1", "Wrong input is refused")
def test_given_wrong_input_then_a_clear_error(url: str, body: Any, status: int) -> None:
    headers = {"content-type": "application/json"}
    response = httpx.post(url, content=json.dumps(body), headers=headers)
    assert response.status_code == status
    if status != 200:
        assert response.json()["error"]["message"]


def test_given_the_switch_then_the_routes_are_not_there() -> None:
    off = Settings(dialects=DialectSettings(off=("pipeline",)))
    with running(create_app(FakeService(), off, "token")) as address:
        assert httpx.post(f"{address}/api/chat/completions", json=chat()).status_code == 404

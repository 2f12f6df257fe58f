"""chat-core's API over real HTTP, read by a client of somebody else's."""

import base64
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ragstone.core.filters import AnyOf
from ragstone.core.turn import Principal
from ragstone.http.app import create_app
from ragstone.settings import Settings
from ragstone.settings.profiles import PROFILES
from ragstone.settings.server import DialectSettings
from tests.fake_service import FakeService
from tests.http.sse_client import UUID, heard
from tests.http.transcripts import replayed, transcripts
from tests.http_server import running
from tests.patience import wait_for

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
DATA_URL = "data:image/png;base64," + base64.b64encode(PNG).decode()
EXAMPLE = {
    "collection_name": "default",
    "query": "What is Article 1 of the Aviation Act?",
    "room_id": "room_123",
    "user_id": "user_456",
    "search_type": "rag",
    "metadata_filter_key": "class",
    "metadata_filter_values": ["Law", "Regulation"],
    "top_k": 100,
    "temperature": 0.2,
}
USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


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
    return f"{address}/v2"


@pytest.mark.parametrize("file", transcripts("chat_core"), ids=lambda file: file.stem)
@pytest.mark.usefixtures("service")
def test_transcript(address: str, file: Path) -> None:
    replayed(address, file)


def ask(query: str = "What is the answer?", **fields: Any) -> dict[str, Any]:
    return {"query": query, **fields}


def without_ids(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in event.items() if k != "id"} for event in events]


@pytest.mark.conforms("chat-core", "12.1", "POST /v2/rag/query: the events of the printed request")
@pytest.mark.conforms("chat-core", "4.5", "Results as p_id, context, score, metadatas")
def test_given_the_documents_request_then_the_events_are_the_documents(
    url: str, service: FakeService
) -> None:
    events = heard(f"{url}/rag/query", EXAMPLE)
    *before, done = events
    assert without_ids(before) == [
        {"type": "step", "content": "Searching for relevant documents..."},
        {"type": "debug", "content": "retrieve: hybrid; the default"},
        {"type": "debug", "content": f'Query rewriting complete: "standalone {EXAMPLE["query"]}"'},
        {"type": "step", "content": "A note."},
        {"type": "step", "content": "Generating an answer..."},
        {"type": "token", "content": "The "},
        {"type": "token", "content": "answer "},
        {"type": "token", "content": "is "},
        {"type": "token", "content": "42 "},
        {"type": "token", "content": "[1]."},
    ]
    for event in before:
        assert ("id" in event) == (event["type"] != "token")
        assert re.fullmatch(UUID, event.get("id", "0" * 8 + "-0000" * 3 + "-" + "0" * 12))
    documented = ["type", "search_type", "final_response", "usage", "references"]
    assert list(done) == [*documented, "supported", "answers"]
    assert done["search_type"] == "rag"
    assert done["final_response"] == "The answer is 42 [1]."
    assert done["usage"] == USAGE
    [reference] = done["references"]
    assert (
        reference.items()
        >= {
            "p_id": "c1",
            "context": "Passage 1: the answer is 42, as everyone knows.",
            "score": 0.9,
            "metadatas": {"author": "Ünïcode", "file_name": "1.md", "paragraph_type": "normal"},
            "number": 1,
            "document_id": "d1",
            "title": "Guide",
            "page": 1,
            "snippet": "the answer is 42",
        }.items()
    )


@pytest.mark.conforms("chat-core", "5.1", "Every field of SessionChatRequest counts")
def test_given_the_documents_request_then_the_question_is_what_it_says(
    url: str, service: FakeService
) -> None:
    heard(f"{url}/rag/query", EXAMPLE)
    [asked] = service.asked
    assert asked.question == EXAMPLE["query"]
    assert (asked.room, asked.user_id, asked.search_type) == ("room_123", "user_456", "rag")
    assert asked.where == AnyOf("metadata.class", ("Law", "Regulation"))
    assert asked.classes == ("Law", "Regulation")
    assert (asked.top_k, asked.temperature, asked.keeps) == (100, 0.2, True)
    assert asked.principal == Principal()
    assert re.fullmatch(UUID, asked.id)


@pytest.mark.conforms("chat-core", "5.1", "Defaults: top_k 100, temperature .2, GO_RAG")
def test_given_only_a_query_then_the_defaults_are_the_documents(
    url: str, service: FakeService
) -> None:
    heard(f"{url}/pa/query", {**ask(), "room_id": None, "top_k": None, "mcp_org": None})
    [asked] = service.asked
    assert (asked.collection, asked.room, asked.user_id) == ("default", None, "")
    assert (asked.top_k, asked.temperature, asked.organisation) == (100, None, "GO_RAG")
    assert asked.profile == "chat_core"
    assert PROFILES["chat_core"]["llm.temperature"] == 0.2
    assert (asked.where, asked.classes, asked.wanted.unit) == (None, (), None)
    assert asked.keeps


@pytest.mark.parametrize("search_type", ["rag", "gpt", "pa", "voc"])
@pytest.mark.conforms("chat-core", "12.2", "rag, gpt and pa take the same request")
def test_given_an_address_then_it_decides_what_answers(
    url: str, service: FakeService, search_type: str
) -> None:
    done = heard(f"{url}/{search_type}/query", ask(search_type="rag"))[-1]
    assert service.asked[0].search_type == done["search_type"] == search_type


@pytest.mark.conforms("chat-core", "5.1", "is_test and use_paragraph")
def test_given_a_test_then_nothing_is_kept(url: str, service: FakeService) -> None:
    heard(f"{url}/rag/query", ask(is_test=True, use_paragraph=True))
    [asked] = service.asked
    assert (asked.keeps, asked.cache, asked.wanted.unit) == (False, False, "paragraph")


def test_given_a_forbidden_question_then_the_guidance_is_the_answer(url: str) -> None:
    *_, token, done = heard(f"{url}/rag/query", ask("forbidden"))
    assert token == {"type": "token", "content": "Ask HR."}
    assert (done["final_response"], done["references"]) == ("Ask HR.", [])


@pytest.mark.conforms("chat-core", "6.1", "think: what the model thinks")
def test_given_thoughts_then_they_are_events_of_one_id(url: str) -> None:
    events = heard(f"{url}/rag/query", ask("think"))
    [thought] = [event for event in events if event["type"] == "think"]
    assert thought["content"] == "hm"
    assert re.fullmatch(UUID, thought["id"])


@pytest.mark.conforms("chat-core", "6.1", "error: content and detail")
def test_given_a_failure_in_the_stream_then_what_was_said_is_in_the_error(url: str) -> None:
    assert heard(f"{url}/rag/query", ask("breaks later"))[-1] == {
        "type": "error",
        "content": "An error occurred: The model went away.",
        "detail": "model_unavailable",
        "final_response": "The ",
        "usage": USAGE,
    }


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        (ask(""), 400, "empty_question"),
        (ask("x" * 20_001), 400, "question_too_long"),
        (ask(collection_name="nowhere"), 404, "unknown_collection"),
        (ask(collection_name="x" * 256), 422, "invalid_request"),
        (ask(room_id="x" * 10_000), 422, "invalid_request"),
        (ask(top_k=0), 422, "invalid_request"),
        (ask(top_k=1001), 422, "invalid_request"),
        (ask(temperature=2.1), 422, "invalid_request"),
        (ask(mcp_org="../x"), 422, "invalid_request"),
        (ask(search_type="sql"), 422, "invalid_request"),
        (ask(metadata_filter_key="k", metadata_filter_values="x"), 422, "invalid_request"),
        ({}, 422, "invalid_request"),
        ([], 400, "invalid_request"),
        (ask("root"), 500, "error"),
    ],
)
@pytest.mark.conforms(
    "chat-core", "11.2", "Error before streaming; detail is a code, a traceback only in the log"
)
def test_given_an_error_before_the_stream_then_its_status_and_the_documents_shape(
    url: str, body: Any, status: int, detail: str
) -> None:
    response = httpx.post(f"{url}/rag/query", json=body)
    assert response.status_code == status
    found = response.json()
    assert list(found) == ["type", "content", "detail"]
    assert found["type"] == "error"
    assert found["content"].startswith("A server error occurred: ")
    assert found["detail"] == detail
    assert "Traceback" not in response.text


def test_given_a_failure_right_after_the_first_steps_then_it_is_a_status_too(url: str) -> None:
    response = httpx.post(f"{url}/rag/query", json=ask("broken"))
    # The sources were out already, so this one is an event.
    assert response.status_code == 200
    assert '"type":"error"' in response.text


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'{"query": "\\ud800"}', b"null", b"3"])
def test_given_bytes_that_are_no_request_then_no_5xx(url: str, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    for name in ("rag", "vision"):
        response = httpx.post(f"{url}/{name}/query", content=body, headers=headers)
        assert response.status_code < 500


@pytest.mark.conforms("chat-core", "13.3", "Events leave one by one")
def test_given_a_slow_answer_then_the_steps_do_not_wait_for_it(url: str) -> None:
    [step] = heard(f"{url}/rag/query", ask("silent"), most=1)
    assert step["type"] == "step"


def test_given_a_client_that_leaves_then_the_answer_ends(url: str, service: FakeService) -> None:
    heard(f"{url}/rag/query", ask("endless"), most=5)
    assert wait_for(lambda: "endless" in service.closed)


@pytest.mark.conforms("chat-core", "12.4", 'GET /v2/{search_type}/query: {"tokens": n}')
def test_given_a_room_then_its_tokens(url: str) -> None:
    found = httpx.get(f"{url}/rag/query", params={"room_id": "room_123", "user_id": "u"})
    assert (found.status_code, found.json()) == (200, {"tokens": 8})
    assert httpx.get(f"{url}/sql/query", params={"room_id": "r"}).status_code == 422
    assert httpx.get(f"{url}/rag/query").status_code == 422


@pytest.mark.conforms("chat-core", "15.2", "Questions about images, at an address of their own")
def test_given_images_as_data_urls_then_they_are_looked_at(url: str, service: FakeService) -> None:
    bare = base64.b64encode(PNG).decode()
    heard(f"{url}/vision/query", ask(images=[DATA_URL, bare]))
    [asked] = service.asked
    assert [picture.media_type for picture in asked.pictures] == ["image/png", "image/png"]
    assert asked.search_type == "gpt"


def test_given_images_as_files_then_they_are_looked_at(url: str, service: FakeService) -> None:
    files = [("images", ("a.svg", PNG, "image/svg+xml")), ("images", ("b.png", PNG, "image/png"))]
    data = {"query": "What is this?", "room_id": "r", "top_k": "7"}
    response = httpx.post(f"{url}/vision/query", data=data, files=files)
    assert response.status_code == 200
    [asked] = service.asked
    assert (asked.room, asked.top_k, len(asked.pictures)) == ("r", 7, 2)
    assert asked.pictures[0].media_type == "image/png"


@pytest.mark.parametrize(
    ("images", "status"),
    [
        ([], 422),
        (None, 422),
        (["data:image/png;base64,!!!"], 400),
        (["data:image/png;base64," + base64.b64encode(b"<svg>").decode()], 400),
        (["http://127.0.0.1/secret.png"], 400),
        (["x"], 400),
        ([DATA_URL] * 9, 400),
        ([3], 422),
    ],
)
def test_given_images_that_are_none_then_a_clear_error(url: str, images: Any, status: int) -> None:
    response = httpx.post(f"{url}/vision/query", json=ask(images=images))
    assert response.status_code == status
    assert response.json()["type"] == "error"


def test_given_a_form_without_images_then_a_clear_error(url: str) -> None:
    files = {"images": ("a.png", b"no image", "image/png")}
    assert httpx.post(f"{url}/vision/query", data={"query": "x"}).status_code in (400, 422)
    response = httpx.post(f"{url}/vision/query", data={"query": "x"}, files=files)
    assert (response.status_code, response.json()["detail"]) == (400, "invalid_request")


def test_given_the_switch_then_the_routes_are_not_there() -> None:
    off = Settings(dialects=DialectSettings(off=("chat_core",)))
    with running(create_app(FakeService(), off, "token")) as address:
        assert httpx.post(f"{address}/v2/rag/query", json=ask()).status_code == 404

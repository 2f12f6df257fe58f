"""The documents' requests, as they print them, against a whole Ragstone with a scripted chat model:
what a client reads that knows the text of its document alone."""

import ast
import sys
from pathlib import Path
from typing import Any

import pytest

from ragstone.settings import IndexSettings
from ragstone.settings.rag import SelfRagSettings
from tests.http.conftest import QUESTION, KnowledgeBase, Server
from tests.http.documents_client import STREAMS, posted

ANSWER = "It lasts 31 days "
NOTHING = "I couldn't find relevant information to answer your question."

CHAT_CORE = {
    "collection_name": "default",
    "query": QUESTION,
    "room_id": "room_123",
    "user_id": "user_456",
    "search_type": "rag",
    "top_k": 100,
    "temperature": 0.2,
}


async def heard(server: Server, path: str, body: Any) -> list[Any]:
    """The events of a stream, as a client of its document reads them."""
    return STREAMS[path](await posted(await server.listen(), path, body))


def kinds(found: list[Any]) -> list[str]:
    """The types in order, each once."""
    return list(dict.fromkeys(event["type"] for event in found))


def text(found: list[Any], kind: str = "token") -> str:
    return "".join(event["content"] for event in found if event["type"] == kind)


def test_the_client_knows_nothing_but_the_language() -> None:
    """So it cannot agree with the server by sharing its code or its library."""
    text = Path(__file__).with_name("documents_client.py").read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            assert {name.name.partition(".")[0] for name in node.names} <= sys.stdlib_module_names
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").partition(".")[0] in sys.stdlib_module_names


async def test_every_address_that_streams_has_such_a_client(with_model: Server) -> None:
    http = await with_model.start()
    paths = (await http.get("/openapi.json")).json()["paths"]
    # The pipeline's document prints no stream; the others are no document's.
    ours = ("/v1/", "/api/v1/jobs", "/mcp", "/local", "/api/chat", "/api/v1/chat")
    streaming = {
        path.replace("{chat_id}", "c1").replace("{search_type}", "rag")
        for path, methods in paths.items()
        for method in methods.values()
        if isinstance(method, dict)
        and "text/event-stream" in method.get("responses", {}).get("200", {}).get("content", {})
        and not path.startswith(ours)
    }
    assert streaming <= STREAMS.keys(), streaming - STREAMS.keys()
    assert len(streaming) >= 4


@pytest.mark.conforms("chat-core", "12.2", "A client by the document's text reads gpt's stream")
async def test_gpt(with_model: Server) -> None:
    await with_model.start()
    found = await heard(with_model, "/v2/gpt/query", {**CHAT_CORE, "search_type": "gpt"})
    assert found[-1]["search_type"] == "gpt"
    assert found[-1]["final_response"].startswith(ANSWER.strip())


async def test_voc_without_a_table_of_comments(with_model: Server) -> None:
    await with_model.start()
    found = await heard(with_model, "/v2/voc/query", {**CHAT_CORE, "search_type": "voc"})
    assert found[-1]["type"] == "done"
    assert found[-1]["search_type"] == "voc"
    assert found[-1]["final_response"] == text(found)


@pytest.mark.conforms("chat-core", "11.2", "Error during streaming, read by the document's text")
@pytest.mark.conforms("RAG engine v1", "Streaming", "error: read by the document's text")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v2/rag/query", CHAT_CORE),
        ("/api/v1/rag/generate/stream", {"query": QUESTION}),
        ("/api/v1/rag/query-stream", {"query": QUESTION}),
    ],
)
@pytest.mark.parametrize("way", ["500", "cut"])
async def test_given_a_model_that_fails_then_the_stream_ends_as_the_document_has_it(
    with_model: Server, path: str, body: Any, way: str
) -> None:
    await with_model.start()
    assert with_model.model is not None
    with_model.model.way = way
    answer = await posted(await with_model.listen(), path, body)
    if answer.status != 200:
        assert way == "500", "nothing was said yet, so the status says it"
        return
    found = STREAMS[path](answer)
    assert found[-1]["type"] == "error", found[-1]
    if path.startswith("/v2") and way == "cut":
        assert found[-1]["final_response"].startswith("It lasts")


@pytest.mark.conforms("chat-core", "6.2", "A client by the document's text alone reads the stream")
async def test_chat_core(with_model: Server) -> None:
    http = await with_model.start()
    found = await heard(with_model, "/v2/rag/query", CHAT_CORE)
    assert set(kinds(found)) <= {"step", "debug", "think", "token", "done"}
    assert found[-1]["type"] == "done"
    assert text(found) == found[-1]["final_response"]
    assert found[-1]["final_response"].startswith(ANSWER)
    assert found[-1]["references"]
    assert found[-1]["usage"]["total_tokens"] == 110
    tokens = await http.get("/v2/rag/query", params={"room_id": "room_123", "user_id": "user_456"})
    assert tokens.json() == {"tokens": 110}


@pytest.mark.conforms(
    "RAG engine v1", "Streaming", "A client by the document's text alone reads it"
)
@pytest.mark.parametrize("path", ["/api/v1/rag/generate/stream", "/api/v1/rag/generate"])
async def test_rag_v1_generate(with_model: Server, path: str) -> None:
    await with_model.start()
    body = {"query": QUESTION, "tenant_id": "default", "stream": True}
    found = await heard(with_model, path, body)
    assert kinds(found) == ["context", "chunk", "citations", "done"]
    assert found[0]["chunks_count"] == found[-1]["metadata"]["chunks_found"] == 10
    assert text(found, "chunk") == f"{ANSWER}[Source 1]."
    assert found[-2]["citations"][0]["source_id"] == 1


@pytest.mark.conforms("RAG engine v1", "API 2 query-stream", "A client by its text alone reads it")
async def test_rag_v1_query(with_model: Server) -> None:
    await with_model.start()
    body = {"query": QUESTION, "mode": "advanced", "top_k": 5}
    found = await heard(with_model, "/api/v1/rag/query-stream", body)
    assert kinds(found) == [
        "query_rewritten",
        "documents_retrieved",
        "generation_start",
        "token",
        "generation_complete",
    ]
    assert text(found) == f"{ANSWER}[1]."
    assert [item["citation_num"] for item in found[-1]["citations"]] == [1]
    assert found[-1]["sources"]


@pytest.mark.conforms("V5", "API Endpoints", "A client by the document's text alone reads both")
async def test_v5(with_model: Server) -> None:
    http = await with_model.start()
    file = ("guide.md", b"# Lamp\n\nA full battery charge lasts 31 days without sun.\n")
    sent = await http.post("/chat/c1/documents", files=[("files", file)])
    assert [item["name"] for item in sent.json()["uploaded"]] == ["guide.md"]
    assert sent.json()["failed"] == []
    body = {"message": QUESTION, "session_id": "optional-session-id"}
    found = await heard(with_model, "/chat/c1/stream", body)
    assert kinds(found) == ["token", "sources", "done"]
    assert text(found).startswith(ANSWER)
    assert found[-1]["is_grounded"] in (True, False)


@pytest.mark.conforms("Query pipeline", "Step 1", "The request's fields as printed are answered")
async def test_pipeline(with_model: Server) -> None:
    http = await with_model.start()
    body = {
        "message": QUESTION,
        "session_id": "s1",
        "mode": "chat",
        "collection_filter": "default",
        "intelligence_level": "basic",
        "temperature_override": 0.2,
    }
    found = (await http.post("/api/v1/chat/completions", json=body)).json()
    assert found["content"] == f"{ANSWER}[Source 1]."
    assert found["sources"][0]["chunk_id"]
    assert found["context_sufficiency"]["coverage_score"] > 0


@pytest.mark.conforms("Query pipeline", "Step 8", "What was said in one mode is known in another")
async def test_given_one_session_then_every_mode_knows_what_was_said(with_model: Server) -> None:
    http = await with_model.start()
    for mode in ("chat", "general"):
        body = {"message": QUESTION, "session_id": "s1", "mode": mode}
        assert (await http.post("/api/chat/completions", json=body)).status_code == 200
    assert with_model.model is not None
    said = [call["content"] for call in with_model.model.calls[-1]["messages"]]
    assert any(str(item).startswith(ANSWER) for item in said[:-1])


@pytest.mark.conforms("chat-core", "9.1", "Usage that the model does not tell is null")
@pytest.mark.conforms("RAG engine v1", "LLM client", "Usage that the model does not tell is null")
async def test_given_a_model_that_does_not_count_then_usage_is_null(with_model: Server) -> None:
    http = await with_model.start()
    assert with_model.model is not None
    with_model.model.way = "uncounted"
    whole = await http.post("/api/v1/rag/generate", json={"query": QUESTION})
    assert whole.json()["metadata"]["usage"] is None
    assert (await heard(with_model, "/v2/rag/query", CHAT_CORE))[-1]["usage"] is None


@pytest.mark.conforms(
    "RAG engine v1", "Self-RAG", "An answer that is not good enough is made again"
)
async def test_given_self_rag_then_the_answer_is_judged(with_model: Server) -> None:
    http = await with_model.start(self_rag=SelfRagSettings(max_iterations=2))
    body = {"query": QUESTION, "rewrite_method": "none", "self_rag": True}
    found = (await http.post("/api/v1/rag/generate", json=body)).json()
    assert found["answer"].startswith(ANSWER)
    assert with_model.model is not None
    rules = [call["messages"][0]["content"] for call in with_model.model.calls]
    assert any(rule.startswith("You grade passages") for rule in rules)
    assert any("You judge an answer" in rule for rule in rules)


@pytest.mark.conforms("RAG engine v1", "Nacos file", "self_rag.evaluation_model")
async def test_given_an_evaluation_model_then_it_judges_and_the_chat_model_answers(
    with_model: Server,
) -> None:
    settings = SelfRagSettings(max_iterations=2, evaluation_model="gpt-4")
    http = await with_model.start(self_rag=settings)
    body = {"query": QUESTION, "rewrite_method": "none", "self_rag": True}
    found = await http.post("/api/v1/rag/generate", json=body)
    assert found.status_code == 200
    assert with_model.model is not None
    works = ("You grade passages", "You judge an answer")
    asked = [
        (work, call["model"])
        for call in with_model.model.calls
        for work in works
        if work in call["messages"][0]["content"]
    ]
    assert set(asked) == {(work, "gpt-4") for work in works}
    answering = [call["model"] for call in with_model.model.calls if call.get("stream")]
    assert set(answering) == {"some"}


@pytest.mark.conforms("RAG engine v1", "Failure paths", "Nothing found: the printed sentence")
async def test_given_nothing_is_found_then_the_printed_sentence(
    with_model: Server, kdb: KnowledgeBase
) -> None:
    kdb.found = []
    http = await with_model.start(index=IndexSettings(url=f"kdb+{kdb.url}"))
    for path in ("/api/v1/rag/generate", "/api/v1/rag/query"):
        found = (await http.post(path, json={"query": QUESTION})).json()
        assert found["answer"] == NOTHING
        assert found.get("retrieved_count", found["metadata"].get("chunks_found")) == 0
        german = {"query": "Wie lange hält der Akku ohne Sonne?"}
        said = (await http.post(path, json=german)).json()["answer"]
        assert said == "Die Dokumente enthalten keine Antwort auf diese Frage."


@pytest.mark.conforms("RAG engine v1", "Failure paths", "A model that goes on failing: 500, detail")
async def test_given_a_model_that_goes_on_failing_then_500(with_model: Server) -> None:
    http = await with_model.start()
    assert with_model.model is not None
    with_model.model.way = "500"
    for path in ("/api/v1/rag/generate", "/api/v1/rag/query"):
        response = await http.post(path, json={"query": QUESTION})
        assert response.status_code == 500
        assert "answered 500" in response.json()["detail"]


@pytest.mark.conforms("chat-core", "9.1", "Tokens of rewriting and answering add up")
async def test_given_a_follow_up_then_the_tokens_of_both_calls_are_told(
    with_model: Server,
) -> None:
    await with_model.start(name="openai/gpt-oss-120b")
    await heard(with_model, "/v2/rag/query", CHAT_CORE)
    await with_model.settled()
    follow_up = {**CHAT_CORE, "query": "And how long does it last in winter?"}
    [*_, done] = await heard(with_model, "/v2/rag/query", follow_up)
    assert with_model.model is not None
    assert len(with_model.model.calls) >= 3
    assert done["usage"]["total_tokens"] == 110 * (len(with_model.model.calls) - 1)

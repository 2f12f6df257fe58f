"""The RAG engine's dialect, by the VoiceHelper document: golden transcripts, bounds, leaving."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from httpx_sse import aconnect_sse
from hypothesis import given
from hypothesis import strategies as st

from ragstone.answer.citation_list import SpeltOut, spell_out_markers
from ragstone.core.answer import Citation, GeneratedAnswer, Verdict
from ragstone.core.caller import LOCAL, Caller
from ragstone.core.errors import Forbidden, UnknownCollection
from ragstone.core.intent import Analysis, Intent
from ragstone.core.tool import Tool
from ragstone.core.turn import Ask, Plan, Principal, StageTrace, Turn
from ragstone.http.app import create_app
from ragstone.local.configured import Configured
from ragstone.plugins.rag_v1.answers import metadata, query_citations
from ragstone.plugins.rag_v1.requests import QueryRequest, RagRequest
from ragstone.plugins.rag_v1.routes import AT_ONCE
from ragstone.settings import DialectSettings, Origin, Settings, load
from ragstone.settings.profiles import PROFILES
from tests.fake_service import FakeService
from tests.http.transcripts import replayed, transcripts
from tests.http_server import running
from tests.patience import PATIENCE, until

BASE = "/api/v1/rag"


@pytest.fixture(scope="module")
def service() -> FakeService:
    return FakeService()


@pytest.fixture(scope="module")
def url(service: FakeService) -> Iterator[str]:
    with running(create_app(service, Settings(), "token")) as address:
        yield address


@pytest.fixture
async def http(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=url + BASE, trust_env=False, timeout=PATIENCE) as client:
        yield client


@pytest.mark.parametrize("file", transcripts("rag_v1"), ids=lambda file: file.stem)
@pytest.mark.conforms(
    "RAG engine v1", "API 1 and 2", "Answers, streams and errors in the printed shapes"
)
def test_transcript(url: str, file: Path) -> None:
    replayed(url, file)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/generate", {}),
        ("/generate", {"query": "x" * 5001}),
        ("/generate", {"query": "  \n "}),
        ("/generate", {"query": 7}),
        ("/generate", {"query": None}),
        ("/generate", {"query": "q", "top_k": 0}),
        ("/generate", {"query": "q", "top_k": 51}),
        ("/generate", {"query": "q", "top_k": "10"}),
        ("/generate", {"query": "q", "rewrite_method": 1}),
        ("/generate", {"query": "q", "stream": "perhaps"}),
        ("/generate", {"query": "q", "strategy": "magic"}),
        ("/query", {"query": "q", "strategy": "magic"}),
        ("/query", {"query": "q", "level": "genius"}),
        ("/batch", {"queries": ["q"], "strategy": "magic"}),
        ("/generate", {"query": "q", "functions": [{"name": "no name!"}]}),
        ("/generate", {"query": "q", "functions": [{"name": "f", "parameters": []}]}),
        ("/generate/stream", {"query": "x" * 5001}),
        ("/generate", {"query": "q", "functions": [{"name": "f"}], "function_call": "g"}),
        ("/generate/stream", {"query": "q", "functions": [{"name": "f"}]}),
        ("/batch", {"queries": []}),
        ("/batch", {"queries": ["q"] * 51}),
        ("/batch", {"queries": "q"}),
        ("/batch", {"queries": ["q"], "top_k": 51}),
        ("/query", {"query": "x" * 2001}),
        ("/query", {"query": "q", "conversation_id": ""}),
        ("/query", {"query": "q", "conversation_id": "x" * 65}),
        ("/query", {"query": "q", "tenant_id": "x" * 65}),
        ("/query", {"query": "q", "mode": "magic"}),
        ("/query", {"query": "q", "top_k": 0}),
        ("/query", {"query": "q", "top_k": 21}),
        ("/query", {"query": "q", "temperature": -0.1}),
        ("/query", {"query": "q", "temperature": 2.1}),
        ("/query-stream", {"query": "q", "mode": None}),
    ],
)
@pytest.mark.conforms("RAG engine v1", "Validation", "Bounds of every field, else 422 with details")
async def test_given_what_is_out_of_bounds_then_422_with_details(
    http: httpx.AsyncClient, path: str, body: dict[str, Any]
) -> None:
    response = await http.post(path, json=body)
    assert response.status_code == 422
    assert response.json()["detail"]
    assert response.json()["error"]["code"] == "invalid_request"


@pytest.mark.parametrize("path", ["/generate", "/generate/stream", "/batch", "/query-stream"])
@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"{", "application/json"),
        (b"[]", "application/json"),
        (b'{"query":"q"}', "text/plain"),
        (b"", "application/json"),
        (b"\xff\xfe", "application/json"),
        (b'{"query":' + b"[" * 3000, "application/json"),
    ],
)
async def test_given_no_json_object_then_422(
    http: httpx.AsyncClient, path: str, content: bytes, kind: str
) -> None:
    response = await http.post(path, content=content, headers={"content-type": kind})
    assert response.status_code == 422, response.text


@pytest.mark.conforms("RAG engine v1", "Validation", "Queries of 1 to 5,000 characters")
async def test_given_the_longest_query_and_the_edges_then_it_is_answered(
    http: httpx.AsyncClient,
) -> None:
    for body in ({"query": "x" * 5000, "top_k": 50}, {"query": "\ud800 x", "top_k": 1}):
        sent = json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        assert (await http.post("/generate", content=sent, headers=headers)).status_code == 200
    body = {"query": "x" * 2000, "conversation_id": "c" * 64, "top_k": 20, "temperature": 2}
    assert (await http.post("/query", json=body)).status_code == 200


async def test_given_a_busy_service_then_when_to_come_back(http: httpx.AsyncClient) -> None:
    response = await http.post("/generate", json={"query": "too many"})
    assert (response.status_code, response.headers["retry-after"]) == (503, "7")


@pytest.mark.conforms("RAG engine v1", "API layer", "GET /api/v1/rag/health")
async def test_given_a_failing_part_then_health_says_which(
    http: httpx.AsyncClient, service: FakeService
) -> None:
    before, service.health = service.health, {"index": "It is gone.", "models": "ok"}
    response = await http.get("/health")
    service.health = before
    assert response.status_code == 503
    assert response.json()["status"] == "unhealthy"
    assert response.json()["checks"]["index"] == "It is gone."


@pytest.mark.conforms(
    "RAG engine v1", "API layer", "batch: at most 50 queries, one failure spoils no other"
)
async def test_given_fifty_queries_then_all_in_order_and_some_at_a_time(
    http: httpx.AsyncClient, service: FakeService
) -> None:
    queries = [f"number {n}" for n in range(50)]
    queries[7] = "bug"
    queries[8] = "broken"
    results = (await http.post("/batch", json={"queries": queries})).json()["results"]
    assert [result["query"] for result in results] == queries
    failed = [result["query"] for result in results if "error" in result]
    assert failed == ["bug", "broken"]
    assert "secret" not in json.dumps(results)
    assert AT_ONCE < 50


@pytest.mark.parametrize("path", ["/generate/stream", "/query-stream"])
async def test_given_a_client_that_leaves_a_stream_then_the_answer_ends(
    http: httpx.AsyncClient, service: FakeService, path: str
) -> None:
    service.closed.clear()
    async with aconnect_sse(http, "POST", path, json={"query": "endless"}) as source:
        async for _ in source.aiter_sse():
            break
    assert await until(lambda: service.closed == ["endless"])


async def test_given_a_client_that_leaves_a_batch_then_every_query_ends(
    http: httpx.AsyncClient, service: FakeService
) -> None:
    service.closed.clear()
    body = {"queries": ["silent"] * 3}
    service.asked.clear()
    leaving = asyncio.create_task(http.post("/batch", json=body))
    assert await until(lambda: len(service.asked) == 3)
    leaving.cancel()
    assert await until(lambda: service.closed == ["silent"] * 3)


@pytest.mark.conforms("RAG engine v1", "Streaming", "The lines of a stream as printed")
async def test_given_a_plain_reader_then_the_lines_are_those_of_the_document(
    http: httpx.AsyncClient,
) -> None:
    async with http.stream("POST", "/query-stream", json={"query": "q"}) as response:
        text = (await response.aread()).decode("ascii")
    lines = text.split("\n\n")
    assert lines.pop() == ""
    assert lines.pop() == "data: [DONE]"
    assert all(line.startswith('data: {"type":') for line in lines)


def test_given_a_request_then_what_is_asked() -> None:
    ask = RagRequest(query="q").ask(LOCAL, "id")
    assert (ask.top_k, ask.wanted.rewrite, ask.collection) == (10, "multi", "default")
    assert RagRequest(query="q", rewrite_method="hyde").ask(LOCAL, "").wanted.rewrite == "hyde"
    streamed = RagRequest(query="q").ask(LOCAL, "", streamed=True)
    assert streamed.wanted.rewrite == "none"
    named = RagRequest(query="q", rewrite_method="multi").ask(LOCAL, "", streamed=True)
    assert named.wanted.rewrite == "multi"


@pytest.mark.conforms(
    "RAG engine v1", "Versions", "An unknown rewrite method: warning, no rewriting"
)
def test_given_an_unknown_method_then_none_and_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    ask = RagRequest(query="q", rewrite_method="magic").ask(LOCAL, "id")
    assert ask.wanted.rewrite == "none"
    assert "magic" in caplog.text


@pytest.mark.parametrize("mode", ["simple", "advanced", "precise"])
def test_given_a_mode_then_how_it_is_answered(mode: Any) -> None:
    ask = QueryRequest(query="q", mode=mode, conversation_id="room 1").ask(LOCAL, "id")
    assert (ask.mode, ask.wanted.rewrite, ask.room) == (mode, None, "room 1")
    assert (ask.temperature, ask.top_k, ask.profile) == (None, None, "rag_v1")


@pytest.mark.conforms("RAG engine v1", "API 1 query", "Defaults of mode, top_k and temperature")
def test_given_what_a_query_leaves_out_then_the_settings_of_its_dialect_hold() -> None:
    plain = QueryRequest(query="q").ask(LOCAL, "id")
    assert (plain.mode, plain.temperature, plain.top_k) == (None, None, None)
    said = QueryRequest(query="q", mode="simple", temperature=0, top_k=3).ask(LOCAL, "id")
    assert (said.mode, said.temperature, said.top_k) == ("simple", 0, 3)
    assert PROFILES["rag_v1"]["rag.top_k"] == QueryRequest(query="q").top_k
    assert PROFILES["rag_v1"]["llm.temperature"] == QueryRequest(query="q").temperature


@pytest.mark.parametrize(
    ("fields", "strategy", "rewrite", "verifies"),
    [
        ({}, None, "multi", None),
        ({"strategy": "DIRECT"}, "hybrid", "none", None),
        ({"strategy": "HYDE"}, "hybrid", "hyde", None),
        ({"strategy": "QUERY_DECOMPOSITION"}, "hybrid", "decompose", None),
        ({"strategy": "ITERATIVE"}, "iterative", None, None),
        ({"strategy": "HYBRID", "rewrite_method": "expand"}, "hybrid", "keywords", None),
        ({"strategy": "self_rag"}, None, None, True),
        ({"self_rag": True, "rewrite_method": "decompose"}, None, "decompose", True),
    ],
)
@pytest.mark.conforms("RAG engine v1", "Adaptive RAG", "Every strategy by request")
@pytest.mark.conforms("RAG engine v1", "Self-RAG", "Self-RAG by request")
def test_given_a_strategy_then_how_it_is_searched(
    fields: Any, strategy: str | None, rewrite: str | None, verifies: bool | None
) -> None:
    ask = RagRequest(query="q", level="enhanced", prefer="accuracy", **fields).ask(LOCAL, "id")
    assert (ask.strategy, ask.wanted.rewrite, ask.verifies) == (strategy, rewrite, verifies)
    assert (ask.level, ask.prefer) == ("enhanced", "accuracy")
    asked = QueryRequest(query="q", mode="advanced", strategy="HYDE").ask(LOCAL, "id")
    assert (asked.strategy, asked.wanted.rewrite) == ("hybrid", "hyde")


@pytest.mark.conforms("RAG engine v1", "Environment", "ENABLE_SELF_RAG judges every answer")
def test_given_self_rag_is_on_then_every_query_is_judged() -> None:
    def stages(**settings: Any) -> list[str]:
        configured = Configured(load(None, Origin("program"), **settings))
        recipe = configured.answer_recipe(QueryRequest(query="q").ask(LOCAL, "id"))
        return [stage.name for stage in recipe.stages]

    assert "rounds" not in stages()
    assert "rounds" in stages(ENABLE_SELF_RAG=True)


@pytest.mark.conforms("RAG engine v1", "API 1 query", "tenant_id isolates")
def test_given_a_credential_then_the_body_never_widens_it() -> None:
    caller = Caller(Principal("acme", "ann"), "reader", ("handbook",), "k1")
    with pytest.raises(Forbidden):
        RagRequest(query="q", tenant_id="other", collection="handbook").ask(caller, "")
    with pytest.raises(UnknownCollection):
        RagRequest(query="q").ask(caller, "")
    ask = QueryRequest(query="q", tenant_id="acme", collection="handbook").ask(caller, "")
    assert ask.principal == caller.principal


@pytest.mark.conforms("RAG engine v1", "Answer generator", "Function calling")
async def test_given_functions_then_the_model_is_offered_them(
    http: httpx.AsyncClient, service: FakeService
) -> None:
    body = {"query": "q", "functions": [{"name": "f"}], "function_call": {"name": "f"}}
    assert (await http.post("/generate", json=body)).status_code == 200
    asked = service.asked[-1]
    assert asked.tools == (Tool("f", "", {"type": "object", "properties": {}}),)
    assert asked.tool_choice == "f"


async def test_given_the_dialect_is_off_then_it_is_not_there() -> None:
    settings = Settings(dialects=DialectSettings(off=("rag_v1",)))
    transport = httpx.ASGITransport(create_app(FakeService(), settings, "token"))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        assert (await client.get(f"{BASE}/health")).status_code == 404


async def test_given_an_unknown_collection_then_404_only_if_it_was_named(
    http: httpx.AsyncClient,
) -> None:
    missing = await http.post("/generate", json={"query": "q", "collection": "nowhere"})
    assert missing.status_code == 404
    assert missing.json()["error"]["code"] == "unknown_collection"


@given(st.lists(st.text("[]0123 x", max_size=5)))
def test_given_a_text_in_pieces_then_its_markers_as_in_one(pieces: list[str]) -> None:
    markers = SpeltOut()
    said = "".join([*(markers.feed(piece) for piece in pieces), markers.end()])
    assert said == spell_out_markers("".join(pieces))


def test_markers_are_spelt_out() -> None:
    assert spell_out_markers("a [1][12], b[0] [1234]") == "a [Source 1][Source 12], b[0] [1234]"


@pytest.mark.conforms("RAG engine v1", "Citation tracker", "Sentences without support are listed")
def test_given_verdicts_then_what_no_source_supports_is_listed() -> None:
    verdicts = tuple(
        Verdict(f"{label}.", label, 0.9, reason="no source says it")
        for label in ("supported", "partly", "contradicted", "unsupported", "no_claim")
    )
    found = metadata(Turn(Ask("q"), verdicts=verdicts), 0.0)["hallucinations"]
    assert [(item["sentence"], item["risk"]) for item in found] == [
        ("partly.", "medium"),
        ("contradicted.", "high"),
        ("unsupported.", "high"),
    ]
    assert found[0]["reason"] == "no source says it"


@pytest.mark.conforms("RAG engine v1", "Adaptive RAG", "query_type, complexity, strategy_used")
@pytest.mark.parametrize(
    ("turn", "query_type", "strategy"),
    [
        (Turn(Ask("q"), intent=Intent("factual")), "SIMPLE_FACT", "HYBRID"),
        (Turn(Ask("q"), plan=Plan(rewrite="none")), "SIMPLE_FACT", "DIRECT"),
        (Turn(Ask("q"), plan=Plan(strategy="dense")), "SIMPLE_FACT", "DIRECT"),
        (Turn(Ask("q"), analysis=Analysis(7)), "COMPLEX_REASONING", "HYBRID"),
        (Turn(Ask("q"), imagined=("It is red.",)), "SIMPLE_FACT", "HYDE"),
        (
            Turn(Ask("q"), intent=Intent("comparison"), plan=Plan(rewrite="decompose")),
            "COMPARISON",
            "QUERY_DECOMPOSITION",
        ),
        (
            Turn(Ask("q"), intent=Intent("multi_hop"), plan=Plan(strategy="iterative")),
            "MULTI_HOP",
            "ITERATIVE",
        ),
    ],
)
def test_given_a_plan_then_metadata_has_the_names_of_the_adaptive_service(
    turn: Turn, query_type: str, strategy: str
) -> None:
    found = metadata(turn, 0.0)
    assert (found["query_type"], found["strategy_used"]) == (query_type, strategy)


@pytest.mark.conforms("RAG engine v1", "Metadata", "Times of the stages add up to total_time")
def test_given_stages_then_their_times_add_up() -> None:
    took = {"contextualize": 0.1, "retrieve": 0.2, "generate": 0.4, "check": 0.3}
    trace = tuple(StageTrace(stage, seconds, "done") for stage, seconds in took.items())
    found = metadata(Turn(Ask("q"), trace=trace), 1.05)
    names = ("rewrite_time", "retrieve_time", "generate_time", "other_time")
    assert [found[name] for name in names] == pytest.approx([0.1, 0.2, 0.4, 0.35])


@pytest.mark.conforms("RAG engine v1", "Self-RAG", "quality_score, iterations, iteration_details")
def test_given_rounds_then_metadata_has_the_quality_of_each() -> None:
    found = metadata(Turn(Ask("q"), scores=(0.65, 0.82)), 0.0)
    assert (found["quality_score"], found["iterations"]) == (8.2, 2)
    assert [item["quality_score"] for item in found["iteration_details"]] == [6.5, 8.2]


CITED = Citation(1, "d", "c", "Paint", "/paint.md", None, (), 0, 10, "It is red.", 0.9)


@pytest.mark.conforms("RAG engine v1", "Citation tracker", "position and answer_segment")
def test_given_several_markers_then_each_has_its_place_and_its_sentence() -> None:
    text = "It is red [1]. It was blue before [1][2]. Nobody knows why."
    turn = Turn(Ask("q"), answer=GeneratedAnswer(text, citations=(CITED, replace(CITED, number=2))))
    found = query_citations(turn)
    assert [text[item["position"] :][:3] for item in found] == ["[1]", "[1]", "[2]"]
    assert [item["answer_segment"] for item in found] == [
        "It is red.",
        *["It was blue before."] * 2,
    ]

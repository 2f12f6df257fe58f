"""The retrieval service: the shapes of both documents, and their clients against it."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ragstone import build
from ragstone.core.errors import (
    IndexUnavailable,
    InvalidFilter,
    RetrievalUnavailable,
)
from ragstone.core.events import Note
from ragstone.core.filters import And, AnyOf, Not, Or, Range, eq, path_filter
from ragstone.core.turn import Ask, Plan, Principal, Turn
from ragstone.http.app import create_app
from ragstone.plugins.retrieval.external_retriever import (
    ExternalRetriever,
    KnowledgeBase,
    RetrievalService,
)
from ragstone.plugins.retrieval.routes import RetrieveRequest, SearchRerankRequest
from ragstone.retrieve.retrieve import Retrieve
from ragstone.settings import IndexSettings, Settings
from tests.engine.adapters import a_kit, ran
from tests.fake_service import HITS, FakeService
from tests.http_server import running


@pytest.fixture(scope="module")
def standing() -> FakeService:
    return FakeService()


@pytest.fixture
def service(standing: FakeService) -> FakeService:
    standing.forget()
    return standing


@pytest.fixture(scope="module")
def transport(standing: FakeService) -> httpx2.ASGITransport:
    return httpx2.ASGITransport(create_app(standing, Settings(), "secret-token"))


@pytest.fixture
async def http(
    transport: httpx2.ASGITransport, service: FakeService
) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


@pytest.mark.parametrize("path", ["retrieve", "hybrid_search"])
async def test_given_a_query_then_documents_with_content_score_and_metadata(
    http: httpx2.AsyncClient, path: str
) -> None:
    body = {"query": "What is the answer?", "top_k": 1, "mode": "hybrid", "rerank": True}
    response = await http.post(f"/api/v1/retrieval/{path}", json=body)
    assert response.status_code == 200
    [document] = response.json()["documents"]
    assert document["chunk_id"] == "c1"
    assert document["content"] == HITS[0].chunk.text
    assert document["score"] == 0.9
    assert document["metadata"]["filename"] == "1.md"
    assert document["metadata"]["author"] == "Ünïcode"


async def test_given_a_knowledge_base_search_then_the_list_that_chat_core_reads(
    http: httpx2.AsyncClient,
) -> None:
    body = {
        "collection_name": "default",
        "query": "q",
        "use_paragraph": True,
        "metadata_filter_key": "class",
        "match_values": ["Law"],
        "top_k": 1,
    }
    response = await http.post("/api/v1/document/search_rerank", json=body)
    assert response.json() == [
        {
            "p_id": "c1",
            "context": HITS[0].chunk.text,
            "score": 0.9,
            "metadatas": {"author": "Ünïcode", "file_name": "1.md", "paragraph_type": "normal"},
        }
    ]


@pytest.mark.parametrize(
    ("filters", "where"),
    [
        ({"author": "Ann"}, AnyOf("metadata.author", ("Ann",))),
        ({"year": [1, 2]}, AnyOf("metadata.year", (1, 2))),
        ({"document_id": "d1"}, eq("document_id", "d1")),
        ({"folder": "/a"}, Or((eq("path", "/a"), eq("folders", "/a")))),
        ({"modified_after": 5}, Range("modified", 5.0, None)),
        ({"modified_before": "1970-01-02"}, Range("modified", None, 86400.0)),
    ],
)
def test_given_filters_then_the_index_gets_them(filters: dict[str, Any], where: Any) -> None:
    asked = RetrieveRequest(query="q", filters=filters).ask()
    assert asked.where == And((where,))


@pytest.mark.conforms("RAG engine v1", "Versions", "The mode graph")
async def test_given_the_mode_graph_then_the_entity_graph_is_searched(
    http: httpx2.AsyncClient, service: FakeService
) -> None:
    response = await http.post("/api/v1/retrieval/retrieve", json={"query": "q", "mode": "graph"})
    assert response.status_code == 200
    assert service.searched[-1].strategy == "graph"


def test_given_a_tenant_then_it_only_narrows_and_the_mode_is_ours() -> None:
    ask = RetrieveRequest(query="q", tenant_id="other", mode="vector", rerank=False).ask()
    assert ask.principal == Principal()
    assert ask.where == And((eq("tenant", "other"),))
    assert (ask.strategy, ask.wanted.rerank) == ("dense", False)
    kdb = SearchRerankRequest(
        collection_name="c", query="q", metadata_filter_key="class", match_values=["Law"]
    ).ask()
    assert (kdb.collection, kdb.top_k, kdb.where) == ("c", 100, AnyOf("metadata.class", ("Law",)))


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("retrieval/retrieve", {}, 422),
        ("retrieval/retrieve", {"query": ""}, 422),
        ("retrieval/retrieve", {"query": "q", "top_k": 0}, 422),
        ("retrieval/retrieve", {"query": "q", "top_k": 10**9}, 422),
        ("retrieval/retrieve", {"query": "q", "mode": "magic"}, 422),
        ("retrieval/retrieve", {"query": "q", "filters": {"modified_after": "soon"}}, 400),
        ("retrieval/retrieve", {"query": "q", "filters": {"a": {"b": 1}}}, 422),
        ("retrieval/retrieve", {"query": "q", "collection": "nowhere"}, 404),
        ("document/search_rerank", {"query": "q"}, 422),
        ("document/search_rerank", {"collection_name": "nowhere", "query": "q"}, 404),
    ],
)
async def test_given_bad_input_then_a_clear_error(
    http: httpx2.AsyncClient, path: str, body: dict[str, Any], status: int
) -> None:
    response = await http.post(f"/api/v1/{path}", json=body)
    assert response.status_code == status
    assert response.json()["error"]["message"]


@pytest.mark.parametrize("scheme", ["retrieval", "kdb"])
async def test_given_another_ragstone_then_its_passages_come_over_http(
    service: FakeService, scheme: str
) -> None:
    with running(create_app(service, Settings(), "secret-token")) as url:
        client = a_client(scheme, url)
        hits = await client.search(Ask("q"), Plan(top_k=2))
        assert [hit.chunk.text for hit in hits] == [hit.chunk.text for hit in HITS]
        assert [hit.score for hit in hits] == [0.9, 0.5]
        assert hits[0].chunk.path.endswith("1.md")
        assert await client.search(Ask("q", collection="nowhere"), Plan()) == []
        await client.aclose()


def a_client(scheme: str, url: str, **changes: Any) -> ExternalRetriever:
    if scheme == "retrieval":
        where = f"retrieval+{url}/api/v1/retrieval"
        return ExternalRetriever(IndexSettings(url=where, **changes), RetrievalService())
    return ExternalRetriever(IndexSettings(url=f"kdb+{url}", **changes), KnowledgeBase())


def answering(response: Callable[[], Response]) -> Starlette:
    async def any_path(request: Any) -> Response:
        return response()

    return Starlette(routes=[Route("/{path:path}", any_path, methods=["POST", "GET"])])


@pytest.mark.parametrize("scheme", ["retrieval", "kdb"])
@pytest.mark.parametrize(
    "response",
    [
        Response("<html>"),
        Response("no", 500),
        JSONResponse({"documents": "x"}),
        JSONResponse([1]),
        JSONResponse([{"p_id": 1}]),
        JSONResponse({"documents": [{"chunk_id": "c", "content": "x", "score": None}]}),
    ],
)
async def test_given_a_service_that_answers_nonsense_then_a_clear_error(
    scheme: str, response: Response
) -> None:
    with running(answering(lambda: response)) as url:
        client = a_client(scheme, url)
        failure = IndexUnavailable if scheme == "kdb" else RetrievalUnavailable
        with pytest.raises(failure, match="retrieval service at 127"):
            await client.search(Ask("q"), Plan())
        await client.aclose()


async def test_given_a_service_that_is_down_then_the_local_index_is_asked_and_it_says_so() -> None:
    class Empty:
        async def collection(self, tenant: str, name: str) -> None:
            return None

    client = a_client("kdb", "http://127.0.0.1:9")
    said: list[Any] = []

    async def emit(event: Any) -> None:
        said.append(event)

    turn = Turn(Ask("q"), queries=("q",))
    step = await Retrieve().run(turn, a_kit(external_retriever=client, catalog=Empty()), emit)
    assert (step.turn.hits, step.reason) == ((), "the collection is the service's alone")
    assert "local index" in said[0].text
    await client.aclose()


async def test_given_passages_from_elsewhere_then_they_go_on_as_they_came() -> None:
    with running(create_app(FakeService(), Settings(), "t")) as url:
        client = a_client("kdb", url)
        step, events = await ran(
            Retrieve(), Turn(Ask("q"), queries=("q",)), external_retriever=client
        )
        await client.aclose()
    assert [s.chunk_id for s in step.turn.lists[0].found] == ["c1", "c2"]
    assert not [event for event in events if isinstance(event, Note)]


async def test_given_a_forbidden_query_then_an_error_and_not_an_empty_list(
    http: httpx2.AsyncClient,
) -> None:
    response = await http.post("/api/v1/retrieval/retrieve", json={"query": "forbidden"})
    assert response.status_code == 403
    assert response.json()["error"]["code"] == "question_blocked"


class Noting:
    """A retrieval service that keeps what it is asked, and finds one passage for every query."""

    def __init__(self, **scores: float) -> None:
        self.scores = scores
        self.asked: list[dict[str, Any]] = []
        self.well = True

    async def retrieve(self, request: Any) -> Response:
        body = await request.json()
        self.asked.append(body)
        if not self.well:
            return JSONResponse({}, 500)
        row = {"chunk_id": "c", "content": "x", "score": self.scores[body["query"]]}
        return JSONResponse({"documents": [{**row, "metadata": {}}]})

    async def health(self, request: Any) -> Response:
        return JSONResponse({}, 200 if self.well else 503)

    def app(self) -> Starlette:
        path = "/api/v1/retrieval/retrieve"
        return Starlette(
            routes=[Route(path, self.retrieve, methods=["POST"]), Route("/health", self.health)]
        )


async def test_given_an_address_that_another_query_finds_meanwhile_then_both_are_answered() -> None:
    service = Noting(a=0.3, b=0.7)
    arrived, found = threading.Event(), threading.Event()

    async def wrong_address(request: Any) -> Response:
        if (await request.json())["query"] == "b":
            arrived.set()
            await asyncio.to_thread(found.wait)
        return Response(status_code=404)

    routes = [
        Route("/retrieve", wrong_address, methods=["POST"]),
        Route("/api/v1/retrieval/retrieve", service.retrieve, methods=["POST"]),
    ]
    with running(Starlette(routes=routes)) as url:
        client = ExternalRetriever(IndexSettings(url=f"retrieval+{url}"), RetrievalService())
        late = asyncio.create_task(client.search(Ask("b"), Plan()))
        await asyncio.to_thread(arrived.wait)
        early = await client.search(Ask("a"), Plan())
        found.set()
        hits = [*early, *await late]
        await client.aclose()
    assert [hit.score for hit in hits] == [0.3, 0.7]


@pytest.mark.conforms("RAG engine v1", "RAG service", "Every query is searched")
@pytest.mark.conforms("RAG engine v1", "RAG service", "Of two rows with one id the better stays")
@pytest.mark.conforms("RAG engine v1", "Retrieval client", "Filters and folders are sent")
async def test_given_a_retrieval_service_then_it_gets_every_query_and_filter() -> None:
    service = Noting(a=0.3, b=0.7, c=0.5)
    with running(service.app()) as url:
        client = ExternalRetriever(IndexSettings(url=f"retrieval+{url}"), RetrievalService())
        where = And((path_filter("/hr"), eq("metadata.year", 2024), Range("modified", 1.0, None)))
        turn = Turn(Ask("a", where=where), queries=("a", "b"), imagined=("c",))
        step, _ = await ran(Retrieve(), turn, external_retriever=client)
        await client.aclose()
    assert [(hit.chunk.chunk_id, hit.score) for hit in step.turn.hits] == [("c", 0.7)]
    assert sorted(item["query"] for item in service.asked) == ["a", "b", "c"]
    for asked in service.asked:
        assert asked["filters"] == {"folder": ["/hr"], "year": [2024], "modified_after": 1.0}


async def test_given_a_filter_that_it_cannot_take_then_a_clear_error() -> None:
    client = ExternalRetriever(IndexSettings(url="retrieval+http://h"), RetrievalService())
    with pytest.raises(InvalidFilter):
        await client.search(Ask("q", where=Not(eq("metadata.year", 2024))), Plan())
    await client.aclose()


@pytest.mark.conforms("RAG engine v1", "Failure paths", "A failing retrieval service: 503, detail")
@pytest.mark.conforms("RAG engine v1", "Retrieval client", "health_check makes /health unhealthy")
async def test_given_a_failing_retrieval_service_then_503_and_unhealthy(tmp_path: Path) -> None:
    service = Noting()
    service.well = False
    with running(service.app()) as there:
        settings = Settings(
            ragstone_data=tmp_path, index=IndexSettings(url=f"retrieval+{there}", timeout=5)
        )
        async with build.open(settings) as ragstone:
            transport = httpx2.ASGITransport(create_app(ragstone, settings, "t"))
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
                asked = await http.post("/api/v1/rag/generate", json={"query": "q"})
                health = await http.get("/api/v1/rag/health")
    assert asked.status_code == 503
    assert "retrieval service" in asked.json()["detail"]
    assert (health.status_code, health.json()["status"]) == (503, "unhealthy")
    assert "503" in health.json()["checks"]["retrieval"]

"""Guests of a server without keys: they ask, search and open what an answer cites, nothing else."""

import json
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from mcp import Client

from ragstone import __version__
from ragstone.core.turn import Principal
from ragstone.http.app import create_app
from ragstone.local.keys import LocalKeys
from ragstone.service import IngestRequest
from ragstone.service.contract import operations
from ragstone.service.reading import PASSAGE_CONTEXT
from ragstone.service.wire import OPERATION_HEADER, VERSION_HEADER
from ragstone.settings import Settings
from tests.attack.house import LOCAL, House, a_house
from tests.credentials import MemoryKeys, bearer
from tests.fake_service import FakeService
from tests.http_server import running
from tests.in_turn import in_turn
from tests.memory_store import MemoryNames
from tests.wire_values import as_service, example, recorder

OPERATIONS = {"ask", "stop", "search", "suggest", "reading.passage", "reading.picture"}
ASKING = {
    "POST /v1/chat/completions",
    "POST /v1/completions",
    "POST /v1/responses",
    "GET /v1/models",
    "GET /v1/models/{name}",
    "POST /v1/vector_stores/{store}/search",
    "POST /api/v1/rag/generate",
    "POST /api/v1/rag/generate/stream",
    "POST /api/v1/rag/batch",
    "POST /api/v1/rag/query",
    "POST /api/v1/rag/query-stream",
    "POST /v2/rag/query",
    "POST /v2/gpt/query",
    "POST /v2/pa/query",
    "POST /v2/voc/query",
    "POST /v2/vision/query",
    "POST /api/v1/chat/completions",
    "POST /api/chat/completions",
    "POST /api/v1/retrieval/retrieve",
    "POST /api/v1/retrieval/hybrid_search",
    "POST /api/v1/document/search_rerank",
    "POST /chat/{chat_id}/stream",
    "POST /@rag-ask",
    "POST /{path}/@rag-ask",
    "GET /@rag-ask",
    "GET /{path}/@rag-ask",
}
CITED = {"GET /api/v1/collections/{name}/documents/{document}/pictures/{picture}"}
PROTOCOLS = {"POST /mcp", "POST /local/call/{name}", "GET /local/operations"}
"""These ask again what each tool and operation allows."""
OPEN = {
    "GET /health",
    "GET /ready",
    "GET /api/v1/retrieval/health",
    "GET /api/v1/rag/health",
}
"""What is for everybody, whatever credentials there are."""
FIGURES = {"GET /metrics"}
"""For whoever is on this machine, until there are credentials."""
LONG = "".join(
    f"Section {n} tells that lantern number {n} hangs in hall {n}.\n\n" for n in range(999)
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    folder = tmp_path_factory.mktemp("guests")
    async with a_house(folder, documents=False, token=LOCAL) as house:
        (folder / "long.md").write_text(f"# Lanterns\n\n{LONG}")
        async for progress in house.service.ingest(IngestRequest((str(folder / "long.md"),))):
            assert not progress.failed
        yield house


async def call(
    http: httpx2.AsyncClient,
    called: str,
    headers: Mapping[str, str] | None = None,
    /,
    **given: Any,
) -> httpx2.Response:
    operation = operations()[called]
    versions = {VERSION_HEADER: __version__, OPERATION_HEADER: operation.fingerprint}
    sent = {**versions, **(headers or {}), "content-type": "application/json"}
    content = json.dumps(operation.dump(given)).encode()
    return await http.post(f"/local/call/{called}", content=content, headers=sent)


async def test_guests_may_call_exactly_what_the_contract_lets_them() -> None:
    recorded = recorder()
    recorded.keys = LocalKeys(MemoryKeys(), MemoryNames())
    app = create_app(as_service(recorded), Settings(), "token", local_token=LOCAL)
    transport = httpx2.ASGITransport(app)
    answered = set()
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        for name, operation in operations().items():
            given = {name: example(kind) for name, kind in operation.types.items()}
            for headers in ({}, bearer("sk-any"), {"x-api-key": "ragstone_key"}):
                response = await call(http, name, headers, **given)
                assert response.status_code in (200, 401), (name, response.text)
                answered |= {name} if response.status_code == 200 else set()
        listed = (await http.get("/local/operations")).json()["operations"]
    assert answered == set(listed) == OPERATIONS
    assert {name for name, _ in recorded.calls} == OPERATIONS


async def test_guests_reach_exactly_the_addresses_that_ask_search_and_show_what_is_cited() -> None:
    app = create_app(FakeService(), Settings(), "token", local_token=LOCAL)
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        described = (await http.get("/openapi.json")).json()["paths"]
        routes = {f"{method.upper()} {path}" for path in described for method in described[path]}
        routes |= PROTOCOLS | {"POST /local/upload", "POST /local/status"} | FIGURES
        reached = set()
        for route in routes:
            method, path = re.sub(r"\{[^}]*\}", "x", route).split()
            response = await http.request(method, path)
            reached |= {route} if response.status_code != 401 else set()
    assert len(routes) > 100
    assert reached == (ASKING | CITED | PROTOCOLS | OPEN | FIGURES) & routes
    assert not (ASKING | CITED | OPEN) - routes


async def test_guests_have_the_tools_that_ask_and_search() -> None:
    app = create_app(FakeService(), Settings(), "token", local_token=LOCAL)
    with running(app) as url:
        async with Client(f"{url}/mcp") as client:
            for name, given in (
                ("search", {"query": "What is the answer?"}),
                ("ask", {"question": "What is the answer?"}),
            ):
                assert not (await client.call_tool(name, given)).is_error
            for name, given in (
                ("list_collections", {}),
                ("read_document", {"path": "/docs/1.md"}),
            ):
                refused = await client.call_tool(name, given)
                assert refused.is_error
                assert "ragstone token" in str(refused.content)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_guest_opens_a_cited_passage_and_what_stands_around_it_and_no_more(
    house: House,
) -> None:
    body = {"query": "In which hall does lantern number 500 hang?", "top_k": 1}
    found = (await house.http.post("/api/v1/retrieval/retrieve", json=body)).json()
    [cited] = found["documents"]

    shown = await call(
        house.http, "reading.passage", principal=Principal(), collection="default",
        passage=cited["chunk_id"],
    )  # fmt: skip

    read = shown.json()
    assert cited["content"] in read["text"]
    assert len(read["text"]) <= len(cited["content"]) + 2 * PASSAGE_CONTEXT
    assert read["total"] > 3 * PASSAGE_CONTEXT
    assert read["document"]["source"] == ""


@pytest.mark.asyncio(loop_scope="module")
@in_turn("passage", ["", "x", "../token", "1" * 255])
async def test_no_passage_is_opened_by_another_name(house: House, passage: str) -> None:
    refused = await call(
        house.http, "reading.passage", principal=Principal(), collection="default", passage=passage
    )
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "unknown_passage")


@pytest.mark.asyncio(loop_scope="module")
async def test_the_owner_keeps_everything(house: House) -> None:
    for path in ("/api/v1/collections", "/api/v1/jobs", "/v1/vector_stores", "/api/v1/keys/self"):
        assert (await house.http.get(path)).status_code == 401
        assert (await house.http.get(path, headers=bearer(LOCAL))).status_code == 200


@pytest.mark.asyncio(loop_scope="module")
async def test_a_passage_that_is_not_for_everyone_is_unknown(house: House, tmp_path: Path) -> None:
    (tmp_path / "pay.md").write_text("# Pay\n\nThe pay of Bob Zebra is 71234 euros.\n")
    request = IngestRequest((str(tmp_path / "pay.md"),), "hr", allowed=("user:local",))
    async for progress in house.service.ingest(request):
        assert not progress.failed
    own = operations()["reading.read"].dump(
        {"principal": Principal(), "collection": "hr", "path": "/pay.md", "offset": 0, "limit": 9}
    )
    read = await call(house.http, "reading.read", bearer(LOCAL), **own)
    [chunk] = read.json()["chunks"]

    refused = await call(
        house.http,
        "reading.passage",
        principal=Principal(),
        collection="hr",
        passage=chunk["chunk_id"],
    )

    assert refused.json()["error"]["code"] == "unknown_passage"

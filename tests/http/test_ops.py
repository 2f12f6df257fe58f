"""Health, readiness and figures."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from ragstone.http.app import create_app
from ragstone.service.wire import INSTANCE_HEADER, instance
from ragstone.settings import Settings
from tests.fake_service import FakeService, limited_app


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
async def http(service: FakeService) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(limited_app(service, Settings()))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


@pytest.mark.conforms("RAG engine v1", "API layer", "GET /health")
async def test_health(http: httpx2.AsyncClient) -> None:
    response = await http.get("/health")
    assert response.json() == {"status": "ok", "service": "ragstone"}
    assert response.headers[INSTANCE_HEADER] == instance("token")
    assert "token" not in response.headers[INSTANCE_HEADER]


async def test_ready(http: httpx2.AsyncClient, service: FakeService) -> None:
    response = await http.get("/ready")
    assert response.status_code == 200
    assert response.json()["checks"] == {"index": "ok", "state": "ok", "models": "ok"}
    service.health = {**service.health, "models": "It does not answer."}
    response = await http.get("/ready")
    assert response.status_code == 503
    assert response.json()["status"] == "unavailable"
    assert response.json()["checks"]["models"] == "It does not answer."


async def ask(http: httpx2.AsyncClient, question: str) -> None:
    body = {"model": "ragstone", "messages": [{"role": "user", "content": question}]}
    await http.post("/v1/chat/completions", json=body)


@pytest.mark.conforms("RAG engine v1", "API layer", "GET /metrics")
async def test_metrics(http: httpx2.AsyncClient) -> None:
    for question in ("What?", "refuse", "broken", "bug", ""):
        await ask(http, question)
    await http.get("/v1/models/none")
    await http.get("/random/address")
    response = await http.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = set(response.text.splitlines())
    chat = 'method="POST",route="/v1/chat/completions"'
    expected = {
        f'ragstone_requests_total{{{chat},status="200"}} 2.0',
        f'ragstone_requests_total{{{chat},status="503"}} 1.0',
        f'ragstone_requests_total{{{chat},status="500"}} 1.0',
        f'ragstone_requests_total{{{chat},status="400"}} 1.0',
        'ragstone_requests_total{method="GET",route="/v1/models/{name:path}",status="404"} 1.0',
        'ragstone_requests_total{method="GET",route="unmatched",status="404"} 1.0',
        'ragstone_questions_total{finish="stop",level="standard"} 1.0',
        'ragstone_questions_total{finish="refused",level="standard"} 1.0',
        'ragstone_questions_total{finish="error",level="standard"} 3.0',
        'ragstone_stage_seconds_count{stage="retrieve",status="done"} 4.0',
        'ragstone_tokens_total{kind="prompt",model="fake"} 7.0',
        'ragstone_tokens_total{kind="completion",model=""} 10.0',
        'ragstone_cost_usd_total{model=""} 1.0',
        'ragstone_first_token_seconds_count{level="standard"} 2.0',
        "ragstone_questions_running 0.0",
        'ragstone_answers_total{answers="high",supported="high"} 1.0',
        'ragstone_refused_total{level="standard"} 1.0',
        'ragstone_cache{what="entries"} 3.0',
        'ragstone_cache{what="hits"} 2.0',
    }
    assert expected <= lines, expected - lines


async def test_each_application_counts_for_itself(http: httpx2.AsyncClient) -> None:
    await ask(http, "What?")
    transport = httpx2.ASGITransport(create_app(FakeService(), Settings(), "token"))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as other:
        assert "questions_total{" not in (await other.get("/metrics")).text

"""Health, readiness and figures."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from ragstone.core.answer import Usage
from ragstone.core.turn import Ask, Turn
from ragstone.http.app import create_app
from ragstone.ports import CacheFigures
from ragstone.service.wire import INSTANCE_HEADER, instance
from ragstone.settings import Settings
from ragstone.telemetry.metrics import MAX_KEYS, Metrics
from tests.credentials import a_key
from tests.fake_service import FakeService, limited_app
from tests.in_turn import in_turn


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


@in_turn(
    "path", ["/health", "/ready", "/api/v1/rag/health", "/metrics", "/", "/docs", "/v1/models"]
)
async def test_monitors_may_ask_with_head(http: httpx2.AsyncClient, path: str) -> None:
    whole, head = await http.get(path), await http.head(path)
    assert (head.status_code, head.content) == (whole.status_code, b"")
    assert head.headers["content-type"] == whole.headers["content-type"]


async def test_head_does_not_wait_for_the_end_of_a_stream(
    http: httpx2.AsyncClient, service: FakeService
) -> None:
    assert (await http.head("/api/v1/jobs/none/events")).status_code == 404
    service.health = {**service.health, "models": "It does not answer."}
    assert (await http.head("/ready")).status_code == 503


@in_turn("method", ["GET", "HEAD", "POST"])
@in_turn(
    "path", ["/.well-known/openid-configuration", "/.well-known/a/b", "/nothing", "/web/no.js"]
)
async def test_what_is_not_there_is_404_also_with_keys(
    http: httpx2.AsyncClient, service: FakeService, path: str, method: str
) -> None:
    await a_key(service)
    assert (await http.get("/v1/models")).status_code == 401
    expected = 405 if (path, method) == ("/web/no.js", "POST") else 404
    assert (await http.request(method, path)).status_code == expected


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
        "ragstone_state_available 1.0",
        'ragstone_documents{status="failed"} 1.0',
        'ragstone_chunks{status="ready"} 40.0',
        'ragstone_jobs{kind="ingest",state="done"} 1.0',
        'ragstone_jobs{kind="ask",state="queued"} 0.0',
        'ragstone_pool_connections{pool="state",what="used"} 2.0',
        'ragstone_pool_connections{pool="state",what="waiting"} 1.0',
    }
    assert expected <= lines, expected - lines


async def test_given_no_state_store_then_what_is_counted_here_is_shown_all_the_same(
    http: httpx2.AsyncClient, service: FakeService
) -> None:
    await ask(http, "What?")
    await http.get("/metrics")
    service.health = {**service.health, "state": "It does not answer."}
    response = await http.get("/metrics")
    assert response.status_code == 200
    assert "ragstone_state_available 0.0" in response.text
    assert 'ragstone_questions_total{finish="stop",level="standard"} 1.0' in response.text
    assert "ragstone_documents{" not in response.text
    assert "ragstone_jobs{" not in response.text


def test_given_a_cache_that_all_share_then_it_is_no_figure_of_one_process() -> None:
    metrics = Metrics()
    metrics.cache(CacheFigures("Redis", True, 3, 2, 1, 4.5, shared=True))
    shown = metrics.render().decode()
    assert 'ragstone_shared_cache{what="hits"} 2.0' in shown
    assert 'ragstone_cache{what="hits"}' not in shown


def test_what_keys_use_is_told_apart_for_so_many_and_without_naming_users() -> None:
    metrics = Metrics()
    turn = Turn(Ask("What?"), usage=Usage(3, 4, 1, 0.5))
    for number in range(MAX_KEYS + 50):
        metrics.count_use(f"key:{number}", turn)
    metrics.count_use("key:0", turn)
    metrics.count_use("token:acme:ann", turn)
    metrics.count_use("", turn)
    shown = metrics.render().decode()
    assert 'ragstone_key_questions_total{key="key:0"} 2.0' in shown
    assert 'ragstone_key_tokens_total{key="key:0"} 14.0' in shown
    assert 'ragstone_key_cost_usd_total{key="key:0"} 1.0' in shown
    assert 'ragstone_key_questions_total{key="others"} 51.0' in shown
    assert shown.count("ragstone_key_questions_total{") == MAX_KEYS + 1
    assert "ann" not in shown


async def test_each_application_counts_for_itself(http: httpx2.AsyncClient) -> None:
    await ask(http, "What?")
    transport = httpx2.ASGITransport(create_app(FakeService(), Settings(), "token"))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as other:
        assert "questions_total{" not in (await other.get("/metrics")).text

"""The figures and traces over HTTP."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from ragstone.http.app import create_app
from ragstone.settings import Settings
from tests.fake_service import FakeService
from tests.in_turn import in_turn


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(create_app(FakeService(), Settings(), "token"))
    headers = {"authorization": "Bearer token"}
    async with httpx2.AsyncClient(
        transport=transport, base_url="http://127.0.0.1", headers=headers
    ) as client:
        yield client


async def test_sums_by_day_user_room_or_model(http: httpx2.AsyncClient) -> None:
    [day] = (await http.get("/api/v1/stats")).json()["use"]
    assert (day["name"], day["questions"], day["prompt_tokens"]) == ("2026-01-02", 3, 10)
    [user] = (await http.get("/api/v1/stats?by=user&days=7")).json()["use"]
    assert user["name"] == "ann"


async def test_the_times_of_stages(http: httpx2.AsyncClient) -> None:
    [stage] = (await http.get("/api/v1/stats/stages")).json()["stages"]
    assert stage == {"stage": "retrieve", "runs": 2, "failed": 1, "mean": 0.5, "p95": 0.7}


async def test_the_newest_questions_and_one(http: httpx2.AsyncClient) -> None:
    [found] = (await http.get("/api/v1/traces?limit=1")).json()["traces"]
    assert (await http.get(f"/api/v1/traces/{found['id']}")).json() == found
    missing = await http.get("/api/v1/traces/none")
    assert missing.status_code == 404
    assert missing.json()["error"]["code"] == "unknown_trace"


@in_turn(
    "query",
    ["stats?by=hour", "stats?days=0", "stats?days=99999", "traces?limit=0", "traces?limit=x"],
)
async def test_what_is_out_of_range_is_refused(http: httpx2.AsyncClient, query: str) -> None:
    assert (await http.get(f"/api/v1/{query}")).status_code == 422


async def test_without_the_token_nothing_is_shown() -> None:
    transport = httpx2.ASGITransport(create_app(FakeService(), Settings(), "token"))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        for path in ("stats", "stats/stages", "traces", "traces/one"):
            assert (await client.get(f"/api/v1/{path}")).status_code == 401


async def test_an_address_says_which_methods_it_takes(http: httpx2.AsyncClient) -> None:
    refused = await http.delete("/api/v1/topics")
    assert refused.status_code == 405
    assert refused.headers["allow"] == "GET, POST"

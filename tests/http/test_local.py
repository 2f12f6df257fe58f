"""The command line's own API: only with the token, and no input breaks it."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from ragstone.http.app import create_app
from ragstone.settings import Settings
from tests.fake_service import FakeService

KEY = {"authorization": "Bearer secret-token"}


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
async def http(service: FakeService) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(create_app(service, Settings(), "secret-token"))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/local/ask"),
        ("POST", "/local/search"),
        ("POST", "/local/ingest"),
        ("POST", "/local/rebuild"),
        ("POST", "/local/delete"),
        ("POST", "/local/embed"),
        ("GET", "/local/collections"),
        ("GET", "/local/documents"),
        ("GET", "/local/overview"),
        ("GET", "/local/report"),
        ("GET", "/local/cache"),
        ("POST", "/local/cache/clear"),
        ("POST", "/local/cache/rebuild"),
    ],
)
async def test_everything_needs_the_token(
    http: httpx2.AsyncClient, service: FakeService, method: str, path: str
) -> None:
    for headers in (
        {},
        {"authorization": "secret-token"},
        {"authorization": "Bearer secret-tokem"},
        {"authorization": "Bearer ü".encode()},
    ):
        response = await http.request(method, path, headers=headers, json={"question": "q"})
        assert response.status_code == 401
        assert response.headers["www-authenticate"] == "Bearer"
        assert response.json()["error"]["code"] == "unauthorized"
    assert not service.asked
    assert not service.ingested


async def test_events(http: httpx2.AsyncClient) -> None:
    response = await http.post("/local/ask", json={"question": "q"}, headers=KEY)
    events = [json.loads(line[6:]) for line in response.text.split("\n\n") if line]
    names = [event["event"] for event in events]
    assert names[:4] == ["stage_started", "stage_ended", "rewritten", "sources"]
    assert names[-2:] == ["token", "done"]
    assert events[-1]["data"]["turn"]["answer"]["finish"] == "stop"


async def test_what_fails_at_once_has_its_status(http: httpx2.AsyncClient) -> None:
    response = await http.post("/local/ask", json={"question": " "}, headers=KEY)
    assert (response.status_code, response.json()["error"]["code"]) == (400, "empty_question")


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/local/ask", {}, 400),
        ("/local/ask", [], 400),
        ("/local/ask", {"question": "q", "level": "huge"}, 400),
        ("/local/ask", {"question": "q", "where": {"xor": []}}, 400),
        ("/local/search", {"question": 7}, 400),
        ("/local/search", {"question": "q", "collection": "nowhere"}, 404),
        ("/local/ingest", {"paths": "/etc"}, 400),
        ("/local/rebuild", {"tenant": "default"}, 400),
        ("/local/rebuild", {"tenant": "default", "collection": "nowhere"}, 404),
        ("/local/delete", {"principal": {}, "collection": "default", "paths": [1]}, 400),
        ("/local/delete", {"principal": 1, "collection": "default", "paths": []}, 400),
        ("/local/delete", {"principal": {}, "collection": "default", "paths": ["/nowhere"]}, 404),
        ("/local/embed", {"texts": [], "model": ""}, 400),
        ("/local/embed", {"texts": ["a"], "model": "none"}, 404),
    ],
)
async def test_wrong_bodies(http: httpx2.AsyncClient, path: str, body: Any, status: int) -> None:
    response = await http.post(path, json=body, headers=KEY)
    assert response.status_code == status
    assert set(response.json()["error"]) == {"code", "message", "retry"}


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 422),
        ("collection=nowhere", 404),
        ("collection=default&limit=x", 422),
        ("collection=default&offset=-1", 422),
        ("collection=default&offset=99999999999999999999", 422),
        ("collection=default&limit=1", 200),
    ],
)
async def test_queries(http: httpx2.AsyncClient, query: str, status: int) -> None:
    response = await http.get(f"/local/documents?{query}", headers=KEY)
    assert response.status_code == status

"""The operator's API of topics: only with the token, and no input breaks it."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from ragstone.http.app import create_app
from ragstone.settings import Settings
from tests.fake_service import FakeService
from tests.in_turn import in_turn

KEY = {"authorization": "Bearer secret-token"}
PATH = "/api/v1/topics"


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
async def http(service: FakeService) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(create_app(service, Settings(), "secret-token"))
    async with httpx2.AsyncClient(
        transport=transport, base_url="http://127.0.0.1", headers=KEY
    ) as client:
        yield client


@in_turn(
    ("method", "path"),
    [
        ("GET", PATH),
        ("POST", PATH),
        ("POST", f"{PATH}/import"),
        ("POST", f"{PATH}/remove"),
        ("GET", f"{PATH}/blocked"),
        ("GET", f"{PATH}/export"),
        ("POST", f"{PATH}/check"),
    ],
)
async def test_without_the_token_nothing(http: httpx2.AsyncClient, method: str, path: str) -> None:
    response = await http.request(method, path, headers={"authorization": "Bearer wrong"})
    assert response.status_code == 401


async def test_a_list_lives(http: httpx2.AsyncClient) -> None:
    csv = "term,synonyms,examples\nsalary,wage;pay,How much?\nexecutive,,\n"
    response = await http.post(f"{PATH}/import", content=csv.encode("utf-8-sig"))
    assert response.json() == {"added": 2, "replaced": 0}
    body = {"topics": [{"term": "salary", "synonyms": ["wage"]}]}
    assert (await http.post(PATH, json=body)).json() == {"added": 0, "replaced": 1}
    listed = (await http.get(PATH)).json()["topics"]
    assert [(item["term"], item["synonyms"]) for item in listed] == [
        ("salary", ["wage"]),
        ("executive", []),
    ]
    assert (await http.get(f"{PATH}/export")).text.startswith("term,synonyms,examples")
    check = (await http.post(f"{PATH}/check", json={"question": "the salary"})).json()
    assert (check["blocked"], check["match"]["topic"]["term"]) == (True, "salary")
    assert (await http.post(f"{PATH}/remove", json={"terms": ["salary"]})).json() == {"removed": 1}
    assert (await http.post(f"{PATH}/remove", json={"terms": ["salary"]})).status_code == 404
    assert len((await http.get(f"{PATH}/blocked", params={"limit": 1})).json()["blocked"]) == 1


@in_turn(
    ("path", "content"),
    [
        (f"{PATH}/import", b"\xff\xfe"),
        (f"{PATH}/import", b""),
        (f"{PATH}/import", b"term\nx,y"),
        (PATH, b"[]"),
        (PATH, b'{"topics": [{"term": ""}]}'),
        (PATH, b'{"topics": "salary"}'),
        (f"{PATH}/check", b"{}"),
        (f"{PATH}/remove", b'{"terms": [1]}'),
    ],
)
async def test_bad_input_is_refused(http: httpx2.AsyncClient, path: str, content: bytes) -> None:
    response = await http.post(path, content=content, headers={"content-type": "application/json"})
    assert response.status_code in (400, 422)
    assert response.json()["error"]["message"]

"""Collections over HTTP: who sees which, and who may give one another name."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from ragstone.http.app import create_app
from ragstone.plugins.comments.contract import CommentsWanted
from ragstone.settings import Settings
from tests.credentials import a_key, bearer
from tests.fake_service import FakeService
from tests.in_turn import in_turn

PATH = "/api/v1/collections"


@pytest.fixture
def service() -> FakeService:
    return FakeService(has_site=True)


@pytest.fixture
async def http(service: FakeService) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(create_app(service, Settings(), "token"))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


async def test_given_collections_then_those_in_reach_are_listed(
    http: httpx2.AsyncClient, service: FakeService
) -> None:
    every = (await http.get(PATH)).json()["collections"]
    assert [item["name"] for item in every] == ["default", "plone"]
    assert every[0] | {"model": ""} == {
        "name": "default",
        "documents": 2,
        "chunks": 20,
        "failed": 0,
        "note": "",
        "pending": 0,
        "language": "en",
        "model": "",
    }
    headers = bearer(await a_key(service, "reader", "acme", collections=("plone",)))
    some = (await http.get(PATH, headers=headers)).json()["collections"]
    assert [item["name"] for item in some] == ["plone"]


async def test_given_metadata_then_its_facets_are_shown_to_who_reaches_the_collection(
    http: httpx2.AsyncClient, service: FakeService
) -> None:
    found = (await http.get(f"{PATH}/default/facets", params={"limit": 1})).json()["facets"]
    assert found[0] == {"key": "year", "values": [{"value": 2023, "documents": 12}], "different": 5}
    headers = bearer(await a_key(service, "reader", "acme", collections=("plone",)))
    hidden = await http.get(f"{PATH}/default/facets", headers=headers)
    assert (hidden.status_code, hidden.json()["error"]["code"]) == (404, "unknown_collection")
    headers = bearer(await a_key(service, "reader", "acme"))
    wrong = await http.get(f"{PATH}/default/facets", params={"limit": 0}, headers=headers)
    assert wrong.status_code == 422


async def test_given_folders_then_they_are_shown_to_who_reaches_the_collection(
    http: httpx2.AsyncClient, service: FakeService
) -> None:
    found = (await http.get(f"{PATH}/default/folders")).json()
    assert found == {"folders": [{"path": "/docs", "documents": 2}]}
    within = await http.get(f"{PATH}/default/folders", params={"below": "/docs"})
    assert within.json() == {"folders": []}
    headers = bearer(await a_key(service, "reader", "acme", collections=("plone",)))
    hidden = await http.get(f"{PATH}/default/folders", headers=headers)
    assert (hidden.status_code, hidden.json()["error"]["code"]) == (404, "unknown_collection")
    wrong = await http.get(f"{PATH}/plone/folders", params={"below": "x" * 5000}, headers=headers)
    assert wrong.status_code == 422


async def test_given_names_then_their_graph_is_shown_to_who_reaches_the_collection(
    http: httpx2.AsyncClient, service: FakeService
) -> None:
    found = (await http.get(f"{PATH}/default/graph", params={"limit": 1})).json()
    assert found["named"] == [{"entity": "bergen", "name": "Bergen", "chunks": 3}]
    assert (found["entity"], found["waiting"]) == ("", 1)
    one = (await http.get(f"{PATH}/default/graph", params={"entity": "ada"})).json()
    assert one["places"][0]["path"] == "/docs/1.md"
    gone = await http.get(f"{PATH}/default/graph", params={"entity": "nobody"})
    assert (gone.status_code, gone.json()["error"]["code"]) == (404, "unknown_entity")
    headers = bearer(await a_key(service, "reader", "acme", collections=("plone",)))
    hidden = await http.get(f"{PATH}/default/graph", headers=headers)
    assert (hidden.status_code, hidden.json()["error"]["code"]) == (404, "unknown_collection")
    headers = bearer(await a_key(service, "reader", "acme"))
    wrong = await http.get(f"{PATH}/default/graph", params={"limit": 0}, headers=headers)
    assert wrong.status_code == 422


async def test_given_comments_then_they_are_counted_for_who_reaches_the_collection(
    http: httpx2.AsyncClient, service: FakeService
) -> None:
    path = f"{PATH}/default/comments"
    asked = {"about": "delivery", "tone": "negative", "where": ["Product=Echo", "Shop=A=B"]}
    found = (await http.get(path, params={**asked, "since": "2024-05-01", "limit": 5})).json()
    assert (found["counted"]["negative"], found["comments"][0]["at"]) == (1, "2024-05-01")
    [wanted] = service.comments.wanted
    assert wanted == CommentsWanted(
        "delivery", "negative", "2024-05-01", "", {"Product": "Echo", "Shop": "A=B"}, 5
    )
    headers = bearer(await a_key(service, "reader", "acme", collections=("plone",)))
    assert (await http.get(path, headers=headers)).status_code == 404
    headers = bearer(await a_key(service, "reader", "acme"))
    for wrong in ({"tone": "angry"}, {"limit": 0}, {"since": "May"}, {"where": "Echo"}):
        refused = await http.get(path, params=wrong, headers=headers)
        assert refused.status_code in (400, 422), wrong


async def test_given_an_admin_then_a_collection_gets_another_name(
    http: httpx2.AsyncClient, service: FakeService
) -> None:
    headers = bearer(await a_key(service, "admin", "acme"))
    response = await http.patch(f"{PATH}/default", json={"name": "a/b c"}, headers=headers)
    assert (response.status_code, response.json()) == (200, {"name": "a/b c"})
    assert service.renamed == [("acme", "default", "a/b c")]


@in_turn(
    ("name", "body", "status", "code"),
    [
        ("no/where", {"name": "x"}, 404, "unknown_collection"),
        ("default", {"name": "default"}, 409, "conflict"),
        ("default", {"name": ""}, 422, "invalid_request"),
        ("default", {"name": "x" * 256}, 422, "invalid_request"),
        ("default", {"name": 5}, 422, "invalid_request"),
        ("default", {"title": "x"}, 422, "invalid_request"),
        ("default", [], 400, "invalid_request"),
    ],
)
async def test_given_what_cannot_be_then_an_error_says_why(
    http: httpx2.AsyncClient,
    service: FakeService,
    name: str,
    body: object,
    status: int,
    code: str,
) -> None:
    response = await http.patch(f"{PATH}/{name}", json=body)
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)
    assert service.renamed == []


@pytest.mark.parametrize(
    ("role", "collections", "status"),
    [("editor", None, 403), ("reader", None, 403), ("admin", ("plone",), 404)],
)
async def test_given_a_credential_that_does_not_allow_it_then_nothing_changes(
    http: httpx2.AsyncClient,
    service: FakeService,
    role: str,
    collections: tuple[str, ...] | None,
    status: int,
) -> None:
    headers = bearer(await a_key(service, role, "acme", collections=collections))
    response = await http.patch(f"{PATH}/default", json={"name": "x"}, headers=headers)
    assert response.status_code == status
    assert service.renamed == []
    assert (await http.patch(f"{PATH}/default", json={"name": "x"})).status_code == 401

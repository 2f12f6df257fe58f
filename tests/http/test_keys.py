"""Keys over HTTP: an admin has those of the own tenant, the operator all, nobody else any."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from ragstone.http.app import create_app
from ragstone.settings import Settings
from tests.credentials import a_key, bearer
from tests.fake_service import FakeService
from tests.in_turn import in_turn

PATH = "/api/v1/keys"
OPERATOR = bearer("token")


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
async def http(service: FakeService) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(create_app(service, Settings(), "token"))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


async def test_given_an_admin_then_keys_of_the_own_tenant_are_made_used_and_revoked(
    http: httpx2.AsyncClient, service: FakeService
) -> None:
    admin = bearer(await a_key(service, "admin", "acme"))
    body = {"name": "n", "user": "otto", "groups": ["g"], "collections": ["default"]}
    made = await http.post(PATH, json=body, headers=admin)
    assert made.status_code == 201
    key, secret = made.json()["key"], made.json()["secret"]
    assert (key["tenant"], key["role"], key["expires_at"]) == ("acme", "reader", None)
    assert made.headers["cache-control"] == "no-store"
    said = (await http.get(f"{PATH}/self", headers=bearer(secret))).json()
    assert said == {
        "key": f"key:{key['id']}",
        "tenant": "acme",
        "user": "otto",
        "groups": ["g"],
        "role": "reader",
        "collections": ["default"],
        "operator": False,
    }
    listed = await http.get(PATH, headers=admin)
    assert [item["user"] for item in listed.json()["keys"]] == ["eva", "otto"]
    assert secret not in listed.text
    assert "digest" not in listed.text
    rotated = await http.post(f"{PATH}/{key['id']}/rotate", headers=admin)
    assert rotated.json()["secret"] != secret
    assert (await http.get(f"{PATH}/self", headers=bearer(secret))).status_code == 200
    for _ in range(2):
        gone = await http.delete(f"{PATH}/{key['id']}", headers=admin)
        assert gone.json()["key"]["revoked_at"]
    for held in (secret, rotated.json()["secret"]):
        refused = await http.get(f"{PATH}/self", headers=bearer(held))
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
    again = await http.post(f"{PATH}/{key['id']}/rotate", headers=admin)
    assert (again.status_code, again.json()["error"]["code"]) == (400, "invalid_request")


async def test_given_an_admin_then_keys_of_other_tenants_do_not_exist(
    http: httpx2.AsyncClient, service: FakeService
) -> None:
    admin = bearer(await a_key(service, "admin", "acme"))
    await a_key(service, "admin", "other")
    theirs = (await service.keys.list_all("other"))[0].id
    assert theirs not in (await http.get(PATH, headers=admin)).text
    assert (await http.get(PATH, headers=admin, params={"tenant": "other"})).status_code == 403
    made = await http.post(PATH, json={"name": "n", "tenant": "other"}, headers=admin)
    assert made.status_code == 403
    for method, path in (("DELETE", ""), ("POST", "/rotate")):
        real = await http.request(method, f"{PATH}/{theirs}{path}", headers=admin)
        none = await http.request(method, f"{PATH}/{'0' * 16}{path}", headers=admin)
        assert real.status_code == none.status_code == 404
        assert real.text.replace(theirs, "") == none.text.replace("0" * 16, "")
    everyone = await http.get(PATH, headers=OPERATOR)
    assert {key["tenant"] for key in everyone.json()["keys"]} == {"acme", "other"}
    made = await http.post(PATH, json={"name": "n", "tenant": "third"}, headers=OPERATOR)
    assert made.json()["key"]["tenant"] == "third"


async def test_given_an_admin_of_some_collections_then_no_key_reaches_further(
    http: httpx2.AsyncClient, service: FakeService
) -> None:
    everywhere = await a_key(service, "admin")
    admin = bearer(await a_key(service, "admin", collections=["a", "b"]))
    wide = (await service.keys.list_all(None))[0].id
    assert (await http.delete(f"{PATH}/{wide}", headers=admin)).status_code == 404
    assert (await http.post(f"{PATH}/{wide}/rotate", headers=admin)).status_code == 404
    listed = (await http.get(PATH, headers=admin)).json()["keys"]
    assert [key["collections"] for key in listed] == [["a", "b"]]
    body = {"name": "n", "collections": ["a", "c"]}
    assert (await http.post(PATH, json=body, headers=admin)).status_code == 403
    inherited = (await http.post(PATH, json={"name": "n"}, headers=admin)).json()
    assert inherited["key"]["collections"] == ["a", "b"]
    narrow = await http.post(PATH, json={"name": "n", "collections": ["a"]}, headers=admin)
    id = narrow.json()["key"]["id"]
    assert (await http.delete(f"{PATH}/{id}", headers=admin)).status_code == 200
    assert (await http.get(PATH, headers=bearer(everywhere))).status_code == 200


@pytest.mark.parametrize("role", ["reader", "editor"])
async def test_given_a_lesser_role_then_no_key_is_seen_or_made(
    http: httpx2.AsyncClient, service: FakeService, role: Any
) -> None:
    mine = bearer(await a_key(service, role))
    id = (await service.keys.list_all(None))[0].id
    for method, path in (
        ("GET", ""),
        ("POST", ""),
        ("POST", f"/{id}/rotate"),
        ("DELETE", f"/{id}"),
    ):
        refused = await http.request(method, PATH + path, json={"name": "n"}, headers=mine)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    assert (await http.get(f"{PATH}/self", headers=mine)).json()["role"] == role


async def test_given_the_local_user_then_keys_need_the_operators_token(
    http: httpx2.AsyncClient,
) -> None:
    assert (await http.post(PATH, json={"name": "n"})).status_code == 401
    assert (await http.post(PATH, json={"name": "n"}, headers=OPERATOR)).status_code == 201


@in_turn(
    "body",
    [
        {},
        [],
        {"name": ""},
        {"name": 7},
        {"name": "n", "role": "king"},
        {"name": "n", "role": None},
        {"name": "n", "expires_in": 0},
        {"name": "n", "expires_in": -5},
        {"name": "n", "expires_in": 1e300},
        {"name": "n", "groups": "g"},
        {"name": "n", "groups": [""]},
        {"name": "n", "collections": [7]},
        {"name": "n" * 300},
        {"name": " "},
        {"name": "n", "unknown": 1},
    ],
)
async def test_given_a_bad_body_then_no_key_is_made(
    http: httpx2.AsyncClient, service: FakeService, body: Any
) -> None:
    refused = await http.post(PATH, json=body, headers=OPERATOR)
    assert refused.status_code in (400, 422)
    assert await service.keys.list_all(None) == []

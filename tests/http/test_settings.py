"""The administrator's API of settings and prompts: roles, shapes, and no input breaks it."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from fastapi import Request

from ragstone.core.caller import LOCAL, Caller
from ragstone.core.turn import Principal
from ragstone.http.app import create_app
from ragstone.http.identity import current_caller
from ragstone.settings import Settings
from tests.fake_service import FakeService
from tests.in_turn import in_turn

PATH = "/api/v1/settings"
PROMPTS = "/api/v1/prompts"


class As:
    """Who the requests of a test are from."""

    caller: Caller = LOCAL


@pytest.fixture
def who() -> As:
    return As()


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
async def http(service: FakeService, who: As) -> AsyncIterator[httpx2.AsyncClient]:
    app = create_app(service, Settings(), "secret-token")

    def caller(request: Request) -> Caller:
        return who.caller

    app.dependency_overrides[current_caller] = caller
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


@pytest.mark.conforms("Query pipeline", "Settings", "Settings are stored and change at run time")
async def test_a_setting_lives(http: httpx2.AsyncClient) -> None:
    sections = (await http.get(PATH)).json()["sections"]
    rag = next(section for section in sections if section["name"] == "rag")
    top_k = next(item for item in rag["settings"] if item["key"] == "rag.top_k")
    assert (top_k["value"], top_k["source"], top_k["restart"]) == (10, "default", False)
    changed = await http.put(f"{PATH}/rag.top_k", json={"value": 5})
    assert (changed.status_code, changed.json()["value"]) == (200, 5)
    several = {"values": {"rag.top_k": 6, "rag.mode": "precise"}, "scope": "tenant:acme"}
    assert [item["value"] for item in (await http.put(PATH, json=several)).json()["settings"]] == [
        6,
        "precise",
    ]
    one = (await http.get(f"{PATH}/rag.top_k", params={"tenant": "acme"})).json()
    assert (one["value"], one["where"]) == (6, "tenant:acme")
    assert [layer["value"] for layer in one["layers"]] == [10, 5, 6]
    gone = await http.delete(f"{PATH}/rag.top_k", params={"scope": "tenant:acme"})
    assert gone.json()["value"] == 5
    assert (await http.delete(f"{PATH}/rag.top_k")).json()["value"] == 10
    audit = (await http.get(f"{PATH}/audit", params={"key": "rag.top_k"})).json()["changes"]
    assert [(line["scope"], line["action"], line["old"]) for line in audit] == [
        ("global", "unset", 5),
        ("tenant:acme", "unset", 6),
        ("tenant:acme", "set", None),
        ("global", "set", None),
    ]
    assert audit[0]["who"] == "local"


@in_turn(
    ("method", "path", "body", "status"),
    [
        ("PUT", PATH, {"values": {"rag.top_k": 5, "rag.candidates": 1}}, 400),
        ("PUT", PATH, {"values": {"no.such": 5}}, 404),
        ("PUT", PATH, {"values": {}}, 400),
        ("PUT", PATH, {"values": [1]}, 422),
        ("PUT", PATH, {}, 422),
        ("PUT", PATH, {"values": {"rag.top_k": 5}, "scope": "everything"}, 400),
        ("PUT", PATH, {"values": {"rag.top_k": 5}, "scope": "tenant:\ud800"}, 422),
        ("PUT", PATH, {"values": {"rag.top_k": 5}, "scope": "tenant:\0"}, 400),
        ("PUT", f"{PATH}/rag.top_k", {"value": {"a": [1]}}, 400),
        ("PUT", f"{PATH}/rag.top_k", {"valu": 1}, 422),
        ("PUT", f"{PATH}/index.url", {"value": "x"}, 400),
        ("GET", f"{PATH}/no.such", None, 404),
        ("GET", f"{PATH}/%00", None, 404),
        ("GET", f"{PATH}/audit?limit=0", None, 422),
        ("DELETE", f"{PATH}/no.such", None, 404),
        ("DELETE", f"{PATH}/rag.top_k?scope=x", None, 400),
        ("POST", f"{PATH}/unset", {"keys": []}, 422),
        ("PUT", f"{PROMPTS}/answer", {"text": "No place."}, 400),
        ("PUT", f"{PROMPTS}/nonsense", {"text": "x"}, 404),
        ("PUT", f"{PROMPTS}/answer", {"text": ""}, 422),
        ("PUT", f"{PROMPTS}/rewrite.hyde", {"text": "half \ud800"}, 422),
        ("GET", f"{PROMPTS}/nonsense", None, 404),
        ("GET", f"{PROMPTS}/answer?version=7", None, 404),
        ("GET", f"{PROMPTS}/answer/diff?old=x&new=1", None, 422),
        ("POST", f"{PROMPTS}/answer/rollback", {"version": 3}, 404),
        ("POST", f"{PROMPTS}/answer/check", {"text": "No place."}, 400),
    ],
)
async def test_given_a_mistake_then_a_clear_error_and_nothing_changes(
    http: httpx2.AsyncClient, method: str, path: str, body: Any, status: int
) -> None:
    # Not json=, which cannot spell half characters.
    content = None if body is None else json.dumps(body)
    sent = {"content-type": "application/json"}
    response = await http.request(method, path, content=content, headers=sent)
    assert response.status_code == status, response.text
    assert response.json()["error"]["message"].endswith((".", "?"))
    assert (await http.get(f"{PATH}/audit")).json()["changes"] == []
    assert (await http.get(f"{PATH}/rag.top_k")).json()["value"] == 10


async def test_a_prompt_lives(http: httpx2.AsyncClient) -> None:
    first = (await http.put(f"{PROMPTS}/mode.simple", json={"text": "- One."})).json()
    assert (first["version"], first["source"]) == (1, "store")
    await http.put(f"{PROMPTS}/mode.simple", json={"text": "- Two."})
    diff = (await http.get(f"{PROMPTS}/mode.simple/diff", params={"old": 1, "new": 2})).json()
    assert "-- One." in diff["diff"]
    back = await http.post(f"{PROMPTS}/mode.simple/rollback", json={"version": 1})
    assert (back.json()["version"], back.json()["text"]) == (3, "- One.")
    versions = (await http.get(f"{PROMPTS}/mode.simple/versions")).json()["versions"]
    assert [version["version"] for version in versions] == [3, 2, 1]
    assert (await http.delete(f"{PROMPTS}/mode.simple")).json()["source"] == "shipped"
    valid = await http.post(f"{PROMPTS}/answer/check", json={"text": "Say {no_answer}"})
    assert valid.json() == {"valid": True}
    names = {item["name"] for item in (await http.get(PROMPTS)).json()["prompts"]}
    assert {"rewrite_query", "forbidden_guidance", "add_room_system_prompt", "answer"} <= names


@in_turn("role", ["reader", "editor"])
@in_turn(
    ("method", "path"),
    [
        ("GET", PATH),
        ("PUT", PATH),
        ("GET", f"{PATH}/audit"),
        ("DELETE", f"{PATH}/rag.top_k"),
        ("GET", PROMPTS),
        ("PUT", f"{PROMPTS}/answer"),
        ("POST", f"{PROMPTS}/answer/rollback"),
    ],
)
async def test_given_a_lesser_role_then_nothing(
    http: httpx2.AsyncClient, who: As, role: Any, method: str, path: str
) -> None:
    who.caller = Caller(role=role, key="k1")
    assert (await http.request(method, path, json={"values": {}})).status_code == 403


async def test_given_an_administrator_of_a_tenant_then_only_that_tenant(
    http: httpx2.AsyncClient, who: As
) -> None:
    who.caller = Caller(Principal("acme", "eva"), "admin", key="k1")
    own = {"values": {"rag.top_k": 5}, "scope": "tenant:acme"}
    assert (await http.put(PATH, json=own)).status_code == 200
    for scope in ("global", "tenant:other", "collection:other/law"):
        assert (await http.put(PATH, json={**own, "scope": scope})).status_code == 403
    assert (await http.get(PATH, params={"tenant": "other"})).status_code == 403
    assert (await http.get(f"{PATH}/audit")).status_code == 403
    audit = await http.get(f"{PATH}/audit", params={"scope": "tenant:acme"})
    assert [line["who"] for line in audit.json()["changes"]] == ["k1"]
    text = {"text": "- Mine.", "tenant": "acme"}
    assert (await http.put(f"{PROMPTS}/mode.simple", json=text)).status_code == 200
    assert (await http.put(f"{PROMPTS}/mode.simple", json={"text": "x"})).status_code == 403


async def test_given_a_credential_of_collections_then_only_those(
    http: httpx2.AsyncClient, who: As
) -> None:
    who.caller = Caller(role="admin", collections=("law",), key="k1")
    put = {"values": {"rag.top_k": 5}}
    inside = {**put, "scope": "collection:default/law"}
    assert (await http.put(PATH, json=inside)).status_code == 200
    outside = {**put, "scope": "collection:default/hr"}
    assert (await http.put(PATH, json=outside)).status_code == 404
    assert (await http.put(PATH, json={**put, "scope": "global"})).status_code == 403

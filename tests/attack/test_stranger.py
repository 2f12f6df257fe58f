"""Other users and programs of this machine, where no credentials are set: what they reach."""

import re
import stat
from pathlib import Path

import httpx2
import pytest

from ragstone.access.gate import COOKIE
from ragstone.http.app import create_app
from ragstone.service.server_file import local_token
from ragstone.settings import AuthSettings, Settings
from tests.attack.house import LOCAL
from tests.credentials import a_key, bearer
from tests.fake_service import FakeService

SIGNED = {"/plone/webhook", "/plone/visitor", "/plone/settings"}
OPEN = {"/health", "/ready", "/api/v1/retrieval/health", "/api/v1/rag/health", *SIGNED}
OURS = {"sec-fetch-site": "same-origin"}
Client = httpx2.AsyncClient


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
def http(service: FakeService) -> Client:
    """Where every request needs the token."""
    return _client(service, Settings(auth=AuthSettings(guests="nothing")))


@pytest.fixture
def with_guests(service: FakeService) -> Client:
    """As it is by default."""
    return _client(service, Settings())


def _client(service: FakeService, settings: Settings) -> Client:
    app = create_app(service, settings, "operators-token", local_token=LOCAL)
    return Client(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1")


async def _routes(http: Client) -> list[tuple[str, str]]:
    paths = (await http.get("/openapi.json")).json()["paths"]
    own = [("POST", "/local/call/status"), ("POST", "/local/upload"), ("POST", "/mcp")]
    listed = [
        (method.upper(), re.sub(r"\{[^}]*\}", "x", path))
        for path, methods in paths.items()
        for method in methods
    ]
    return [*own, *(item for item in listed if item[1] not in OPEN)]


async def test_given_no_token_then_every_route_that_reads_or_changes_anything_is_closed(
    http: Client,
) -> None:
    routes = await _routes(http)
    assert len(routes) > 50
    for method, path in routes:
        for headers in ({}, bearer("unused"), {"x-api-key": "sk-1"}, {"cookie": f"{COOKIE}=x"}):
            refused = await http.request(method, path, headers=headers)
            assert refused.status_code == 401, (method, path, refused.text)


CHANGES = (
    ("GET", "/api/v1/settings"),
    ("PUT", "/api/v1/settings"),
    ("GET", "/api/v1/keys"),
    ("POST", "/api/v1/keys"),
    ("GET", "/api/v1/stats"),
    ("POST", "/api/v1/topics"),
)
"""Some of what is changed, or shows what others asked or may."""


@pytest.mark.parametrize("headers", [{}, bearer("unused"), {"x-api-key": "sk-1"}])
async def test_given_a_guest_then_it_asks_and_neither_changes_nor_sees_what_others_have(
    with_guests: Client, headers: dict[str, str]
) -> None:
    body = {"model": "ragstone", "messages": [{"role": "user", "content": "How long?"}]}
    asked = await with_guests.post("/v1/chat/completions", json=body, headers=headers)
    assert asked.status_code == 200
    assert (await with_guests.get("/v1/models", headers=headers)).status_code == 200
    for method, path in CHANGES:
        refused = await with_guests.request(method, path, headers=headers)
        assert refused.status_code == 401, (method, path, refused.text)
        assert "token" in refused.text


@pytest.mark.conforms(
    "RAG engine v1", "API layer", "/metrics without a credential, on this machine"
)
async def test_given_this_machine_alone_then_the_figures_are_open_and_name_nobody(
    with_guests: Client, service: FakeService
) -> None:
    body = {"query": "How long?", "tenant_id": "secretcorp", "conversation_id": "private room"}
    asked = await with_guests.post("/api/v1/rag/query", json=body, headers=bearer(LOCAL))
    assert asked.status_code == 200
    shown = await with_guests.get("/metrics")
    assert shown.status_code == 200
    assert 'ragstone_requests_total{method="POST",route="/api/v1/rag/query"' in shown.text
    for name in ("secretcorp", "private", "How long", LOCAL):
        assert name not in shown.text
    await a_key(service)
    assert (await with_guests.get("/metrics")).status_code == 401


@pytest.mark.parametrize(
    "header", ["forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-host"]
)
async def test_given_a_request_that_was_passed_on_then_the_figures_need_a_token(
    with_guests: Client, header: str
) -> None:
    refused = await with_guests.get("/metrics", headers={header: "127.0.0.1"})
    assert refused.status_code == 401
    assert "SERVER__METRICS_TOKEN" in refused.text


@pytest.mark.parametrize(
    ("said", "peer"),
    [
        ({"server": {"host": "0.0.0.0"}}, "127.0.0.1"),
        ({"server": {"metrics_token": "m3"}}, "127.0.0.1"),
        ({"auth": {"required": False}}, "127.0.0.1"),
        ({"auth": {"guests": "nothing"}}, "127.0.0.1"),
        ({}, "10.1.2.3"),
        ({}, ""),
    ],
)
async def test_given_others_or_a_token_of_their_own_then_the_figures_need_it(
    service: FakeService, said: dict[str, dict[str, object]], peer: str
) -> None:
    app = create_app(service, Settings.model_validate(said), "operators-token", local_token=LOCAL)
    transport = httpx2.ASGITransport(app, client=(peer, 1))
    async with Client(transport=transport, base_url="http://127.0.0.1") as http:
        assert (await http.get("/metrics")).status_code == 401
        assert (await http.get("/metrics", headers=bearer("m"))).status_code == 401


async def test_given_no_token_then_the_answer_says_what_to_do(http: Client) -> None:
    refused = await http.post("/v1/chat/completions", json={})
    assert "'ragstone token' prints" in refused.text


async def test_given_the_token_then_it_is_the_local_user_in_every_dialect(http: Client) -> None:
    for headers in (bearer(LOCAL), {"x-api-key": LOCAL}, {"api-key": LOCAL}):
        assert (await http.get("/v1/models", headers=headers)).status_code == 200
        assert (await http.get("/metrics", headers=headers)).status_code == 200
        assert (await http.get("/api/v1/keys/self", headers=headers)).json()["role"] == "admin"


async def test_given_the_address_with_the_token_then_a_browser_keeps_it_as_a_strict_cookie(
    http: Client,
) -> None:
    entered = await http.get("/login", params={"token": LOCAL})
    assert (entered.status_code, entered.headers["location"]) == (303, "./")
    said = entered.headers["set-cookie"].lower()
    assert "httponly" in said
    assert "samesite=strict" in said
    assert (await http.get("/v1/models", headers=OURS)).status_code == 200


@pytest.mark.parametrize("token", ["", "x", LOCAL[:-1], "é", "operators-token"])
async def test_given_another_token_then_no_cookie_is_set(http: Client, token: str) -> None:
    refused = await http.get("/login", params={"token": token})
    assert refused.status_code == 401
    assert "set-cookie" not in refused.headers


@pytest.mark.parametrize("place", ["same-site", "cross-site", ""])
async def test_given_a_page_of_another_port_then_the_cookie_does_not_count(
    http: Client, place: str
) -> None:
    headers = {"cookie": f"{COOKIE}={LOCAL}", **({"sec-fetch-site": place} if place else {})}
    assert (await http.get("/v1/models", headers=headers)).status_code == 401


async def test_given_a_name_that_leads_here_then_the_token_does_not_count(http: Client) -> None:
    headers = {**bearer(LOCAL), "host": "evil.example"}
    assert (await http.get("/v1/models", headers=headers)).status_code == 403


async def test_given_a_key_then_the_token_counts_no_longer(
    http: Client, service: FakeService
) -> None:
    await a_key(service)
    assert (await http.get("/v1/models", headers=bearer(LOCAL))).status_code == 401
    assert (await http.get("/login", params={"token": LOCAL})).status_code == 401


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_given_a_data_directory_then_its_token_stays_and_is_its_owners(data: Path) -> None:
    token = local_token(data)
    assert local_token(data) == token
    assert stat.S_IMODE((data / "token").stat().st_mode) == 0o600
    assert {item.name for item in data.iterdir()} == {"identity", "token"}


@pytest.mark.parametrize("content", ["", "short", "é" * 43, "a b" * 15])
def test_given_a_damaged_token_then_there_is_a_new_one(data: Path, content: str) -> None:
    data.mkdir()
    (data / "token").write_text(content)
    assert re.fullmatch(r"[\w-]{43}", local_token(data))

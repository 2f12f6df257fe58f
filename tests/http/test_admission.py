"""What stands before the routes, once there are credentials: who gets in, how often, how long."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from ragstone.core.caller import ROLES
from ragstone.core.turn import Ask
from ragstone.http.app import create_app
from ragstone.service import SearchResult
from ragstone.service.contract import operations
from ragstone.service.wire import OPERATION_HEADER
from ragstone.settings import AuthSettings, LimitSettings, ServerSettings, Settings
from tests.credentials import a_key, bearer
from tests.fake_service import FakeService, limited_app
from tests.http_server import running
from tests.patience import until

CHAT = "/v1/chat/completions"
PROBES = ("/health", "/ready")
OPEN = (*PROBES, "/docs", "/openapi.json", "/api/v1/retrieval/health", "/api/v1/rag/health")
SIGNED = ("/plone/webhook", "/plone/visitor", "/plone/settings")
"""Addresses that have a signature instead of a credential."""


def body(question: str = "q", **fields: Any) -> dict[str, Any]:
    return {"model": "ragstone", "messages": [{"role": "user", "content": question}], **fields}


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@asynccontextmanager
async def serving(service: FakeService, **settings: Any) -> AsyncIterator[httpx2.AsyncClient]:
    given = {
        "server": ServerSettings(**settings.pop("server", {})),
        "auth": AuthSettings(**settings.pop("auth", {})),
        "limits": LimitSettings(**settings.pop("limits", {})),
    }
    transport = httpx2.ASGITransport(limited_app(service, Settings(**given)))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


def routes(service: FakeService) -> list[tuple[str, str]]:
    paths = create_app(service, Settings(), "token").openapi()["paths"]
    return [(method.upper(), path) for path, methods in paths.items() for method in methods]


async def test_given_a_key_exists_then_every_route_needs_a_credential(
    service: FakeService,
) -> None:
    await a_key(service)
    bad = [{}, bearer("x"), bearer("ragstone_" + "0" * 60), {"cookie": "api-key=token"}]
    async with serving(service) as http:
        for method, path in [*routes(service), ("OPTIONS", CHAT)]:
            if path in (*OPEN, *SIGNED):
                continue
            for headers in bad:
                query = {"api_key": "token", "api-key": "token", "access_token": "token"}
                refused = await http.request(method, path, headers=headers, params=query, json={})
                assert refused.status_code == 401, (method, path)
                assert refused.headers["www-authenticate"] == "Bearer"
        for path in OPEN:
            assert (await http.get(path, headers=bearer("x"))).status_code == 200
    assert not service.asked
    assert not service.searched


async def test_given_a_refusal_below_v1_then_it_has_openais_shape(service: FakeService) -> None:
    await a_key(service)
    async with serving(service) as http:
        error = (await http.post(CHAT, json=body())).json()["error"]
    assert (error["type"], error["code"]) == ("invalid_request_error", "unauthorized")


async def test_given_roles_then_each_route_lets_pass_who_has_it(service: FakeService) -> None:
    keys = {role: bearer(await a_key(service, role)) for role in ("reader", "editor", "admin")}
    async with serving(service) as http:
        for role, headers in keys.items():
            assert (await http.post(CHAT, json=body(), headers=headers)).status_code == 200
            expected = 200 if role == "admin" else 403
            for path in ("/api/v1/topics", "/api/v1/topics/blocked", "/api/v1/keys"):
                assert (await http.get(path, headers=headers)).status_code == expected
            for name, operation in operations().items():
                refused = await http.post(f"/local/call/{name}", headers=headers, json={})
                least = operation.allowed.role if operation.allowed else None
                may = least is not None and ROLES.index(role) >= ROLES.index(least)
                # One that may call it has sent no fingerprint of what it means.
                assert refused.status_code == (409 if may else 403)
            assert (await http.get("/metrics", headers=headers)).status_code == 401


async def test_given_a_caller_then_it_is_who_asks_whatever_the_body_says(
    service: FakeService,
) -> None:
    headers = bearer(await a_key(service, tenant="acme", user="eva", groups=["g"]))
    async with serving(service) as http:
        said = {"user": "root", "user_id": "root", "tenant": "other", "principal": {"user": "x"}}
        assert (await http.post(CHAT, json=body(**said), headers=headers)).status_code == 200
        query = {"query": "q", "filters": {"tenant": "other"}, **said}
        await http.post("/api/v1/retrieval/retrieve", json=query, headers=headers)
        paragraph = {"query": "q", "collection_name": "default", **said}
        await http.post("/api/v1/document/search_rerank", json=paragraph, headers=headers)
    principals = {ask.principal for ask in (*service.asked, *service.searched)}
    assert len(service.searched) == 2
    assert {(p.tenant, p.user, p.groups) for p in principals} == {("acme", "eva", ("g",))}


async def test_given_a_collection_out_of_reach_then_it_is_as_if_there_were_none(
    service: FakeService,
) -> None:
    headers = bearer(await a_key(service, collections=["mine"]))
    everywhere = bearer(await a_key(service))
    async with serving(service) as http:
        for path, given in (
            (CHAT, body(collection="default")),
            ("/api/v1/retrieval/retrieve", {"query": "q", "collection": "default"}),
            ("/api/v1/document/search_rerank", {"query": "q", "collection_name": "default"}),
        ):
            hidden = await http.post(path, json=given, headers=headers)
            key = "collection_name" if "collection_name" in given else "collection"
            none = await http.post(path, json={**given, key: "nowhere"}, headers=everywhere)
            assert hidden.status_code == none.status_code == 404
            assert hidden.text.replace("default", "nowhere") == none.text
    assert [ask.collection for ask in service.asked] == ["nowhere"]


async def test_given_an_admin_then_topics_are_of_the_own_tenant(service: FakeService) -> None:
    acme = bearer(await a_key(service, "admin", "acme"))
    other = bearer(await a_key(service, "admin", "other"))
    path = "/api/v1/topics"
    async with serving(service) as http:
        await http.post(path, json={"topics": [{"term": "salary"}]}, headers=acme)
        assert "salary" in (await http.get(path, headers=acme)).text
        for query in ({}, {"tenant": "other"}):
            assert "salary" not in (await http.get(path, headers=other, params=query)).text
        for suffix in ("", "/export", "/blocked"):
            refused = await http.get(path + suffix, headers=other, params={"tenant": "acme"})
            assert refused.status_code == 403
        for suffix, more in (
            ("", {"topics": []}),
            ("/remove", {"terms": ["salary"]}),
            ("/check", {"question": "salary"}),
        ):
            given = {"tenant": "acme", **more}
            assert (await http.post(path + suffix, json=given, headers=other)).status_code == 403
        operator = await http.get(path, headers=bearer("token"), params={"tenant": "acme"})
        assert "salary" in operator.text


async def test_given_more_requests_than_the_limit_then_429_says_when_to_come_back(
    service: FakeService,
) -> None:
    eva, otto = bearer(await a_key(service)), bearer(await a_key(service))
    async with serving(service, limits={"requests_per_minute": 3}) as http:
        seen = [await http.get("/v1/models", headers=eva) for _ in range(5)]
        assert [item.status_code for item in seen] == [200, 200, 200, 429, 429]
        assert [item.headers["ratelimit-remaining"] for item in seen] == ["2", "1", "0", "0", "0"]
        assert {item.headers["ratelimit-limit"] for item in seen} == {"3"}
        assert all(0 < int(item.headers["ratelimit-reset"]) <= 120 for item in seen)
        assert 0 < int(seen[-1].headers["retry-after"]) <= 120
        assert seen[-1].json()["error"]["code"] == "rate_limited"
        assert (await http.get("/v1/models", headers=otto)).status_code == 200
        for _ in range(5):
            assert (await http.get("/health", headers=eva)).status_code in (200, 429)
            free = await http.get("/v1/models", headers=bearer("token"))
            assert free.status_code == 200
            assert "ratelimit-limit" not in free.headers


async def test_given_no_place_for_a_question_then_429_before_anything_is_sent(
    service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragstone.access.setup.WAITING_QUESTIONS", 0)
    monkeypatch.setattr("ragstone.access.setup.WAIT_SECONDS", 1)
    settings = Settings(server=ServerSettings(max_concurrent_queries=1))
    with running(limited_app(service, settings)) as url:
        async with httpx2.AsyncClient(base_url=url) as http:
            async with http.stream("POST", CHAT, json=body("endless", stream=True)) as first:
                pieces = first.aiter_raw()
                await anext(pieces)
                for stream in (True, False):
                    refused = await http.post(CHAT, json=body(stream=stream))
                    assert refused.status_code == 429
                    assert refused.headers["retry-after"] == "1"
                    assert refused.json()["error"]["code"] == "rate_limited"
                assert (await http.get("/health")).status_code == 200
            assert await until(lambda: service.closed[-1:] == ["endless"])
            assert (await http.post(CHAT, json=body())).status_code == 200


async def test_given_an_answer_that_takes_too_long_then_504_and_all_it_called_is_cancelled(
    service: FakeService,
) -> None:
    settings = Settings(server=ServerSettings(request_seconds=0.3))
    with running(limited_app(service, settings)) as url:
        async with httpx2.AsyncClient(base_url=url) as http:
            late = await http.post(CHAT, json=body("silent"))
            assert (late.status_code, late.json()["error"]["code"]) == (504, "timeout")
            assert await until(lambda: service.closed == ["silent"])
            streamed = await http.post(CHAT, json=body("endless", stream=True))
            assert streamed.status_code == 200
            assert '"code":"timeout"' in streamed.text.rstrip().splitlines()[-1]
            assert await until(lambda: service.closed == ["silent", "endless"])


async def test_given_a_body_that_trickles_then_504(service: FakeService) -> None:
    settings = Settings(server=ServerSettings(request_seconds=0.3))

    async def trickle() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b" "
            await asyncio.sleep(0.05)

    with running(limited_app(service, settings)) as url:
        async with httpx2.AsyncClient(base_url=url) as http:
            headers = {"content-type": "application/json"}
            late = await http.post(CHAT, content=trickle(), headers=headers)
    assert late.status_code == 504


class Endless(FakeService):
    """Searches for ever."""

    async def search(self, ask: Ask) -> SearchResult:
        await asyncio.sleep(3600)
        return SearchResult((), ())


async def test_given_a_credential_then_its_calls_of_our_own_protocol_end_in_time_too() -> None:
    service = Endless()
    search = operations()["search"]
    headers = {**bearer(await a_key(service)), OPERATION_HEADER: search.fingerprint}
    async with serving(service, server={"request_seconds": 0.3}) as http:
        given = search.dump({"ask": Ask("q")})
        late = await http.post("/local/call/search", headers=headers, json=given)
    assert late.status_code == 504


async def test_given_any_response_then_browsers_are_told_what_it_is_not(
    service: FakeService,
) -> None:
    async with serving(service) as http:
        for path in ("/docs", "/health", "/nowhere", "/local/call/overview"):
            headers = (await http.get(path)).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["x-frame-options"] == "DENY"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["content-security-policy"].startswith("default-src 'none'")
            assert "strict-transport-security" not in headers
        stream = await http.post(CHAT, json=body(stream=True))
        assert stream.headers["x-content-type-options"] == "nosniff"
        assert stream.headers["cache-control"] == "no-cache"
        assert "style-src 'sha256-" in (await http.get("/docs")).headers["content-security-policy"]
        behind = await http.get("/health", headers={"x-forwarded-proto": "https"})
        assert behind.headers["strict-transport-security"].startswith("max-age=")


async def test_given_cors_origins_then_their_pages_may_ask_and_no_others(
    service: FakeService,
) -> None:
    page, secret = "https://app.example.com", await a_key(service)
    preflight = {
        "origin": page,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-stainless-lang",
    }
    async with serving(service, server={"cors_origins": (page,)}) as http:
        allowed = await http.options(CHAT, headers=preflight)
        assert allowed.status_code == 200
        assert allowed.headers["access-control-allow-origin"] == page
        assert "x-stainless-lang" in allowed.headers["access-control-allow-headers"]
        answer = await http.post(CHAT, json=body(), headers={**bearer(secret), "origin": page})
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == page
        assert "access-control-allow-credentials" not in answer.headers
        evil = {"origin": "https://evil.example.com"}
        refused = await http.options(CHAT, headers={**preflight, **evil})
        assert "access-control-allow-origin" not in refused.headers
        asked = await http.post(CHAT, json=body(), headers={**bearer(secret), **evil})
        assert asked.status_code == 403
        unknown = await http.post(CHAT, json=body(), headers={"origin": page})
        assert unknown.status_code == 401
        assert unknown.headers["access-control-allow-origin"] == page


@pytest.mark.parametrize(
    ("hosts", "host", "status"),
    [
        ((), "docs.example.com", 200),
        ((), "", 403),
        (("docs.example.com",), "docs.example.com:8006", 200),
        (("docs.example.com",), "DOCS.example.com", 200),
        (("docs.example.com",), "evil.example.com", 403),
        (("*.example.com",), "docs.example.com", 200),
        (("*.example.com",), "docs.example.com.evil.net", 403),
        (("docs.example.com",), "localhost", 200),
    ],
)
async def test_given_credentials_then_hosts_are_those_of_the_settings(
    service: FakeService, hosts: tuple[str, ...], host: str, status: int
) -> None:
    headers = bearer(await a_key(service))
    async with serving(service, server={"allowed_hosts": hosts}) as http:
        answer = await http.get("/v1/models", headers={**headers, "host": host})
        assert answer.status_code == status
        for path in PROBES:
            probed = await http.get(path, headers={"host": "10.1.2.3:8006"})
            assert probed.status_code == 200


async def test_given_no_credentials_then_only_named_hosts_and_this_machine_are_answered(
    service: FakeService,
) -> None:
    async with serving(service, server={"allowed_hosts": ("box.lan",)}) as http:
        for host, status in (("box.lan", 200), ("localhost", 200), ("evil.net", 403)):
            assert (await http.get("/v1/models", headers={"host": host})).status_code == status


async def test_given_credentials_then_the_figures_need_theirs_and_the_page_of_the_api_none(
    service: FakeService,
) -> None:
    async with serving(service) as http:
        assert (await http.get("/metrics")).status_code == 200
    await a_key(service, "admin")
    async with serving(service, server={"metrics_token": "m3"}) as http:
        assert (await http.get("/metrics")).status_code == 401
        assert (await http.get("/metrics", headers=bearer(""))).status_code == 401
        assert (await http.get("/metrics", headers=bearer("m3"))).status_code == 200
        assert (await http.get("/metrics", headers=bearer("token"))).status_code == 200
        assert (await http.get("/v1/models", headers=bearer("m3"))).status_code == 401
        assert (await http.get("/docs")).status_code == 200


async def test_given_a_revoked_key_then_it_stops_at_once_here(service: FakeService) -> None:
    headers = bearer(await a_key(service))
    async with serving(service) as http:
        assert (await http.post(CHAT, json=body(), headers=headers)).status_code == 200
        await service.keys.revoke(None, (await service.keys.list_all(None))[0].id)
        assert (await http.post(CHAT, json=body(), headers=headers)).status_code == 401


async def test_given_a_websocket_then_it_is_closed(service: FakeService) -> None:
    app, sent = create_app(service, Settings(), "token"), []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    scope = {"type": "websocket", "path": CHAT, "headers": [], "query_string": b""}
    await app(scope, receive, send)
    assert sent == ["websocket.close"]


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        (CHAT, {"error"}),
        ("/v2/rag/query", {"type", "content", "detail"}),
        ("/api/v1/rag/query", {"detail", "error"}),
        ("/@rag-ask", {"type", "message", "error"}),
        ("/api/v1/collections", {"error"}),
    ],
)
async def test_what_is_refused_before_a_route_has_the_shape_of_its_dialect(
    service: FakeService, path: str, keys: set[str]
) -> None:
    await a_key(service)
    async with serving(service, server={"max_request_mb": 1}) as http:
        for headers in ({}, bearer("token")):
            refused = await http.post(path, content=b"x" * 2_000_000, headers=headers)
            assert refused.status_code == (413 if headers else 401), path
            assert set(refused.json()) == keys, path

"""Signing in at a provider of ours, which does on command what real ones never should."""

import asyncio
import base64
import hashlib
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ragstone.access import tokens
from ragstone.access.sign_in import _endpoint
from ragstone.http.app import create_app
from ragstone.settings import AuthSettings, LimitSettings, ServerSettings, Settings
from tests.access.issuer import AUDIENCE, RSA, STRANGER, jwk, token
from tests.credentials import bearer
from tests.fake_service import FakeService
from tests.http_server import running

CLIENT, SECRET = "the-page", "s:c/r+t"
ORIGIN = "https://docs.example.com"
OWN = {"host": "docs.example.com", "origin": ORIGIN}
VERIFIER, NONCE = "v" * 43, "n" * 43
CODE = "a-code-that-nobody-may-log"


@dataclass
class Provider:
    """`description`, `access` and `identity` change what it says; `way` how. A code holds once."""

    issuer: str = ""
    way: str = "good"
    description: dict[str, Any] = field(default_factory=dict)
    access: str | None = None
    identity: str | None = None
    codes: set[str] = field(default_factory=lambda: {CODE})
    asked: list[str] = field(default_factory=list)
    given: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    async def describe(self, request: Request) -> Response:
        self.asked.append(request.url.path)
        said = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/auth?realm=a",
            "token_endpoint": f"{self.issuer}/token",
        }
        return self._answer({**said, **self.description})

    async def keys(self, _: Request) -> Response:
        return JSONResponse({"keys": [jwk("r", RSA)]})

    async def exchange(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        self.given.append((request.headers.get("authorization", ""), form))
        if self.way != "good":
            return self._answer({})
        hashed = hashlib.sha256(form["code_verifier"].encode()).digest()
        fits = hashed == hashlib.sha256(VERIFIER.encode()).digest()
        if form["code"] not in self.codes or not fits:
            return JSONResponse({"error": "invalid_grant", "error_description": CODE}, 400)
        self.codes.remove(form["code"])
        said = {"access_token": self.access, "id_token": self.identity, "token_type": "Bearer"}
        return JSONResponse({name: value for name, value in said.items() if value is not None})

    def _answer(self, said: dict[str, Any]) -> Response:
        match self.way:
            case "html":
                return Response("<html>Sign in</html>", media_type="text/html")
            case "huge":
                return Response(json.dumps({**said, "more": "x" * 600_000}))
            case "moved":
                return Response(status_code=302, headers={"location": f"{self.issuer}/elsewhere"})
            case "down":
                return JSONResponse({"error": "server_error"}, 503)
            case "strange":
                return JSONResponse({"error": f"{CODE} is not known"}, 400)
            case "list":
                return JSONResponse([said])
            case "slow":
                return StreamingResponse(_drip())
        return JSONResponse(said)


async def _drip() -> AsyncIterator[bytes]:
    while True:
        yield b" "
        await asyncio.sleep(0.05)


@pytest.fixture
def provider() -> Iterator[Provider]:
    one = Provider()
    routes = [
        Route("/.well-known/openid-configuration", one.describe),
        Route("/jwks", one.keys),
        Route("/token", one.exchange, methods=["POST"]),
    ]
    with running(Starlette(routes=routes)) as url:
        one.issuer = url
        one.access = token(iss=url)
        one.identity = identity(one)
        yield one


def identity(provider: Provider, **changes: Any) -> str:
    """An id token of this sign-in."""
    return token(**{"iss": provider.issuer, "aud": CLIENT, "nonce": NONCE, **changes})


@asynccontextmanager
async def serving(
    provider: Provider, server: Any = None, requests: int = 600, **auth: Any
) -> AsyncIterator[httpx2.AsyncClient]:
    given = {
        "jwks_url": f"{provider.issuer}/jwks",
        "issuer": provider.issuer,
        "audience": (AUDIENCE,),
        "client_id": CLIENT,
        **auth,
    }
    settings = Settings(
        auth=AuthSettings(**given),
        server=ServerSettings(**server or {}),
        limits=LimitSettings(requests_per_minute=requests),
    )
    app = create_app(FakeService(), settings, "token")
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1"
        ) as client,
    ):
        yield client


async def exchange(
    http: httpx2.AsyncClient, headers: dict[str, str] | None = None, **changes: Any
) -> httpx2.Response:
    body = {"code": CODE, "verifier": VERIFIER, "nonce": NONCE, "redirect": f"{ORIGIN}/", **changes}
    return await http.post("/sign-in", json=body, headers=OWN if headers is None else headers)


def refused(answer: httpx2.Response, status: int, said: str) -> None:
    """It says why, without any part of what was sent or came."""
    assert answer.status_code == status, answer.text
    assert said in answer.json()["error"]["message"]
    for secret in (CODE, VERIFIER, NONCE, "eyJ"):
        assert secret not in answer.text


async def test_given_no_client_then_nothing_changes(provider: Provider) -> None:
    async with serving(provider, client_id="") as http:
        assert (await http.get("/sign-in")).json() == {"provider": "", "passwords": False}
        assert (await exchange(http)).status_code == 404
    assert not provider.asked


async def test_the_page_is_told_where_people_sign_in_and_asks_for_the_scopes(
    provider: Provider,
) -> None:
    async with serving(provider, scopes="openid groups") as http:
        told = [(await http.get("/sign-in")).json() for _ in range(3)]
    assert told[0]["provider"] == urlsplit(provider.issuer).netloc
    address, query = urlsplit(told[0]["authorize"]), parse_qs(urlsplit(told[0]["authorize"]).query)
    assert f"{address.scheme}://{address.netloc}{address.path}" == f"{provider.issuer}/auth"
    assert query == {
        "realm": ["a"],
        "response_type": ["code"],
        "client_id": [CLIENT],
        "scope": ["openid groups"],
        "code_challenge_method": ["S256"],
    }
    assert told[1:] == told[:1] * 2
    assert len(provider.asked) == 1, "what the provider says of itself is kept"


async def test_the_access_token_is_given_if_it_counts_here(
    provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with serving(provider) as http:
        given = (await exchange(http)).json()
        assert given == {"token": provider.access}
        own = await http.get("/api/v1/keys/self", headers=bearer(given["token"]))
        assert own.json()["user"] == "eva"
        refused(await exchange(http), 401, "(invalid_grant)")
    [(head, form), _] = provider.given
    assert (head, form["client_id"], form["redirect_uri"]) == ("", CLIENT, f"{ORIGIN}/")
    logged = [record for record in caplog.records if record.name.startswith(("ragstone", "httpx"))]
    assert logged
    for item in logged:
        for secret in (CODE, VERIFIER, "eyJ"):
            assert secret not in item.getMessage()


async def test_else_the_id_token_is(provider: Provider) -> None:
    provider.access = "an-opaque-one"
    provider.identity = identity(provider, aud=[CLIENT, "other"])
    async with serving(provider, audience=(CLIENT,)) as http:
        assert (await exchange(http)).json() == {"token": provider.identity}


async def test_given_a_provider_without_id_tokens_then_the_access_token_will_do(
    provider: Provider,
) -> None:
    provider.identity = None
    async with serving(provider) as http:
        assert (await exchange(http)).json() == {"token": provider.access}


async def test_given_tokens_for_another_audience_then_both_reasons_are_said(
    provider: Provider,
) -> None:
    provider.access = token(iss=provider.issuer, aud="other")
    async with serving(provider) as http:
        refused(
            await exchange(http),
            401,
            "The access token: The token is meant for another service. "
            "The id token: The token is meant for another service.",
        )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"key": STRANGER}, "signature does not fit"),
        ({"iss": "https://other.example.com"}, "another issuer"),
        ({"exp": 1}, "expired"),
        ({"sub": None}, "user"),
    ],
)
async def test_given_tokens_that_do_not_count_here_then_they_are_not_given(
    provider: Provider, changes: dict[str, Any], said: str
) -> None:
    provider.access = token(**{"iss": provider.issuer, **changes})
    async with serving(provider) as http:
        refused(await exchange(http), 401, said)


@pytest.mark.parametrize(
    "changes", [{"nonce": "m" * 43}, {"nonce": None}, {"nonce": "\ud800"}, {"aud": "another-page"}]
)
async def test_given_an_id_token_of_another_sign_in_then_nothing_is_given(
    provider: Provider, changes: dict[str, Any]
) -> None:
    provider.identity = identity(provider, **changes)
    async with serving(provider) as http:
        refused(await exchange(http), 401, "not of this sign-in")
        provider.codes.add(CODE)
        provider.identity = "no token at all"
        refused(await exchange(http), 401, "not of this sign-in")


async def test_given_a_wrong_verifier_then_the_provider_refuses(provider: Provider) -> None:
    async with serving(provider) as http:
        refused(await exchange(http, verifier="w" * 43), 401, "(invalid_grant)")
        assert (await exchange(http, verifier="short")).status_code == 422
    assert CODE in provider.codes


@pytest.mark.parametrize(
    ("ways", "header"),
    [(None, True), (["client_secret_basic"], True), (["client_secret_post"], False)],
)
async def test_a_secret_goes_to_the_provider_in_the_way_that_it_takes(
    provider: Provider, ways: list[str] | None, header: bool
) -> None:
    if ways:
        provider.description = {"token_endpoint_auth_methods_supported": ways}
    async with serving(provider, client_secret=SecretStr(SECRET)) as http:
        assert SECRET not in (await http.get("/sign-in")).text
        assert (await exchange(http)).status_code == 200
    [(head, form)] = provider.given
    expected = base64.b64encode(f"{CLIENT}:s%3Ac%2Fr%2Bt".encode()).decode()
    assert head == (f"Basic {expected}" if header else "")
    assert form.get("client_secret") == (None if header else SECRET)


@pytest.mark.parametrize(
    ("headers", "redirect"),
    [
        ({"host": "docs.example.com"}, f"{ORIGIN}/"),
        ({"host": "docs.example.com", "origin": "null"}, "null/"),
        ({"host": "docs.example.com", "origin": "http://127.0.0.1:9"}, "http://127.0.0.1:9/"),
        ({"host": "docs.example.com", "origin": "https://evil.example"}, "https://evil.example/"),
        ({"host": "docs.example.com", "origin": "https://["}, "https://[/"),
        (OWN, "https://evil.example/"),
        (OWN, f"{ORIGIN}/?next=https://evil.example/"),
        (OWN, f"{ORIGIN}.evil.example/"),
        (OWN, "/"),
    ],
)
async def test_given_a_code_of_another_page_then_it_is_not_exchanged(
    provider: Provider, headers: dict[str, str], redirect: str
) -> None:
    async with serving(provider) as http:
        answer = await exchange(http, headers, redirect=redirect)
    assert answer.status_code == 403
    assert not provider.given


async def test_behind_a_proxy_that_renames_the_host_the_public_address_is_the_pages_own(
    provider: Provider,
) -> None:
    behind = {**OWN, "host": "127.0.0.1:8006"}
    for public_url, status in (("", 403), (f"{ORIGIN}.evil.example", 403), (f"{ORIGIN}/", 200)):
        server = {"public_url": public_url, "cors_origins": (ORIGIN,)}
        async with serving(provider, server) as http:
            assert (await exchange(http, behind)).status_code == status


@pytest.mark.parametrize("way", ["html", "huge", "moved", "down", "list", "slow"])
async def test_given_a_provider_that_does_not_answer_as_one_then_unavailable(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(tokens, "FETCH_SECONDS", 1.0)
    provider.way = way
    async with serving(provider) as http:
        for _ in range(3):
            answer = await http.get("/sign-in")
            refused(answer, 503, "is not possible now")
            assert answer.headers["retry-after"] == "10"
            assert answer.json()["error"]["retry"] is True
    assert len(provider.asked) == 1, "it is asked again in some seconds only"


@pytest.mark.parametrize(
    "description",
    [
        {"issuer": "https://other.example.com"},
        {"issuer": None},
        {"token_endpoint": None},
        {"token_endpoint": "ftp://127.0.0.1/token"},
        {"token_endpoint": "/token"},
        {"token_endpoint": "https://["},
        {"authorization_endpoint": "javascript:alert(1)"},
    ],
)
async def test_given_a_description_that_is_not_the_issuers_then_nobody_is_sent_there(
    provider: Provider, description: dict[str, Any]
) -> None:
    provider.description = description
    async with serving(provider) as http:
        refused(await http.get("/sign-in"), 503, "is not possible now")
        refused(await exchange(http), 503, "is not possible now")
    assert not provider.given


@pytest.mark.parametrize(
    ("issuer", "address", "good"),
    [
        ("https://id.example.com", "https://login.example.com/token", True),
        ("https://id.example.com", "http://id.example.com/token", False),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/token", True),
        ("http://127.0.0.1:8080", "https://id.example.com/token", True),
    ],
)
def test_an_issuer_with_https_leads_nowhere_without(issuer: str, address: str, good: bool) -> None:
    said = {"token_endpoint": address}
    if good:
        assert _endpoint(said, "token_endpoint", issuer) == address
    else:
        with pytest.raises(ValueError, match="https"):
            _endpoint(said, "token_endpoint", issuer)


async def test_given_no_keys_to_check_tokens_with_then_unavailable(provider: Provider) -> None:
    async with serving(provider, jwks_url="http://127.0.0.1:9/") as http:
        refused(await exchange(http), 503, "keys of the token's issuer")


@pytest.mark.parametrize("way", ["html", "huge", "down", "list", "slow"])
async def test_given_a_provider_that_breaks_in_the_exchange_then_unavailable(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(tokens, "FETCH_SECONDS", 1.0)
    async with serving(provider) as http:
        await http.get("/sign-in")
        provider.way = way
        refused(await exchange(http), 503, "does not answer")


async def test_given_an_error_that_is_none_then_it_is_not_repeated(provider: Provider) -> None:
    async with serving(provider) as http:
        await http.get("/sign-in")
        provider.way = "strange"
        refused(await exchange(http), 401, "(status 400)")


async def test_sign_ins_of_one_address_are_counted(provider: Provider) -> None:
    async with serving(provider, requests=2) as http:
        for _ in range(2):
            assert (await http.get("/sign-in")).status_code == 200
        assert (await http.get("/sign-in")).status_code == 429
        assert (await exchange(http)).status_code == 429
    assert not provider.given


@pytest.mark.parametrize(
    "wrong",
    [
        {"jwks_url": ""},
        {"issuer": "not an address"},
        {"issuer": "https://["},
        {"scopes": ""},
    ],
)
def test_given_settings_that_cannot_sign_in_then_they_are_refused(wrong: dict[str, Any]) -> None:
    good = {"jwks_url": "https://i/jwks", "issuer": "https://i", "audience": ("a",)}
    assert AuthSettings(**good, client_id=CLIENT)
    with pytest.raises(ValueError):  # noqa: PT011
        AuthSettings(**{**good, "client_id": CLIENT, **wrong})

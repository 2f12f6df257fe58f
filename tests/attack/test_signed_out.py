"""Who has copied a session before its user signed out is nobody afterwards, in every dialect."""

import base64
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from ragstone.access.gate import COOKIE
from ragstone.http.app import create_app
from ragstone.settings import AuthSettings, Settings
from tests.access.issuer import AUDIENCE, ISSUER, Issuer, issuing, token
from tests.attack.house import LOCAL
from tests.credentials import a_key, bearer
from tests.fake_service import FakeService

OURS = {"sec-fetch-site": "same-origin"}
ASK = {"model": "ragstone", "messages": [{"role": "user", "content": "How long?"}]}
P256 = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""The order of the curve of ES256."""


@asynccontextmanager
async def serve(service: FakeService, **auth: Any) -> AsyncIterator[httpx2.AsyncClient]:
    app = create_app(service, Settings(auth=AuthSettings(**auth)), "operator", local_token=LOCAL)
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        yield http


async def sign_in(http: httpx2.AsyncClient) -> dict[str, str]:
    """The headers of a browser that has opened the sign-in address."""
    entered = await http.get("/login", params={"token": LOCAL})
    http.cookies.clear()
    cookie = entered.headers["set-cookie"].partition(";")[0]
    return {"cookie": cookie, **OURS}


async def routes(http: httpx2.AsyncClient) -> list[tuple[str, str]]:
    paths = (await http.get("/openapi.json")).json()["paths"]
    return [
        (method.upper(), re.sub(r"\{[^}]*\}", "x", path))
        for path, methods in paths.items()
        for method in methods
        if not re.fullmatch(r"/health|/ready|/plone/.*|/api/v1/(retrieval|rag)/health", path)
    ]


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with issuing() as issuer:
        yield issuer


async def test_a_copied_cookie_opens_nothing_after_its_user_signed_out() -> None:
    async with serve(FakeService(), guests="nothing") as http:
        stolen = await sign_in(http)
        assert (await http.get("/api/v1/keys/self", headers=stolen)).json()["role"] == "admin"

        gone = await http.post("/sign-out", headers=stolen)

        assert gone.status_code == 204
        assert re.match(rf'{COOKIE}="?"?; .*max-age=0', gone.headers["set-cookie"].lower())
        tried = [*await routes(http), ("GET", "/metrics"), ("POST", "/mcp")]
        assert len(tried) > 50
        for method, path in tried:
            refused = await http.request(method, path, headers=stolen)
            assert refused.status_code == 401, (method, path)


async def test_a_copied_cookie_is_a_guest_after_its_user_signed_out() -> None:
    async with serve(FakeService()) as http:
        stolen = await sign_in(http)
        await http.post("/sign-out", headers=stolen)
        assert (await http.post("/v1/chat/completions", json=ASK, headers=stolen)).is_success
        said = (await http.get("/local/operations", headers=stolen)).json()["caller"]
        assert (said["principal"]["user"], said["key"]) == ("guest", "")


@pytest.mark.parametrize("change", ["_0", "_00000"])
async def test_a_copied_cookie_counts_in_no_other_spelling(change: str) -> None:
    async with serve(FakeService(), guests="nothing") as http:
        stolen = await sign_in(http)
        await http.post("/sign-out", headers=stolen)
        head, until, signature = stolen["cookie"].rsplit("_", 2)
        again = {**stolen, "cookie": f"{head}{change}{until}_{signature}"}
        assert (await http.get("/v1/models", headers=again)).status_code == 401


async def test_signing_out_ends_this_session_and_no_other() -> None:
    async with serve(FakeService(), guests="nothing") as http:
        mine, another = await sign_in(http), await sign_in(http)
        await http.post("/sign-out", headers=mine)
        for headers in (another, bearer(LOCAL)):
            assert (await http.get("/v1/models", headers=headers)).status_code == 200


@pytest.mark.parametrize("site", ["same-site", "cross-site"])
async def test_a_page_of_another_port_signs_nobody_out(site: str) -> None:
    async with serve(FakeService(), guests="nothing") as http:
        mine = await sign_in(http)
        refused = await http.post("/sign-out", headers={**mine, "sec-fetch-site": site})
        assert refused.status_code == 403
        assert "set-cookie" not in refused.headers
        assert (await http.get("/v1/models", headers=mine)).status_code == 200


@pytest.mark.parametrize(
    "value", [LOCAL, "x", "ragstone_w_" + "0" * 16 + "_99999999999_" + "0" * 64]
)
async def test_a_cookie_that_no_sign_in_made_counts_nowhere(value: str) -> None:
    async with serve(FakeService(), guests="nothing") as http:
        headers = {"cookie": f"{COOKIE}={value}", **OURS}
        assert (await http.get("/v1/models", headers=headers)).status_code == 401


async def test_a_session_ends_for_every_server_on_the_same_state() -> None:
    service = FakeService()
    async with (
        serve(service, guests="nothing") as http,
        serve(service, guests="nothing") as other,
    ):
        stolen = await sign_in(http)
        await http.post("/sign-out", headers=stolen)
        assert (await other.get("/v1/models", headers=stolen)).status_code == 401


def _malleable(given: str) -> str:
    """The token with the other signature that is right for it, which needs no key to make."""
    head, _, signature = given.rpartition(".")
    raw = base64.urlsafe_b64decode(signature + "==")
    r, s = raw[:32], int.from_bytes(raw[32:], "big")
    other = r + (P256 - s).to_bytes(32, "big")
    return f"{head}.{base64.urlsafe_b64encode(other).decode().rstrip('=')}"


@pytest.mark.parametrize("kind", ["RS256", "ES256"])
async def test_a_copied_token_of_a_provider_opens_nothing_after_its_user_signed_out(
    issuer: Issuer, kind: str
) -> None:
    auth = {"jwks_url": issuer.url, "issuer": ISSUER, "audience": (AUDIENCE,)}
    async with serve(FakeService(), **auth) as http:
        stolen = token("e" if kind == "ES256" else "r", kind, role="admin")
        copies = [stolen, _malleable(stolen)] if kind == "ES256" else [stolen]
        for copy in copies:
            assert (await http.get("/v1/models", headers=bearer(copy))).status_code == 200

        assert (await http.post("/sign-out", headers=bearer(stolen))).status_code == 204

        for copy in copies:
            for headers in (bearer(copy), {"x-api-key": copy}, {"api-key": copy}):
                for method, path in await routes(http):
                    refused = await http.request(method, path, headers=headers)
                    assert refused.status_code == 401, (method, path)
                assert "Sign in again" in (await http.get("/v1/models", headers=headers)).text
        later = token("r", jti="another", role="admin")
        assert (await http.get("/v1/models", headers=bearer(later))).status_code == 200


async def test_signing_out_leaves_a_key_which_others_use_too() -> None:
    service = FakeService()
    async with serve(service) as http:
        secret = await a_key(service)
        assert (await http.post("/sign-out", headers=bearer(secret))).status_code == 204
        assert (await http.get("/v1/models", headers=bearer(secret))).status_code == 200


@pytest.mark.parametrize("headers", [{}, bearer("unknown"), {"cookie": f"{COOKIE}=x", **OURS}])
async def test_who_is_nobody_may_sign_out(headers: dict[str, str]) -> None:
    async with serve(FakeService(), guests="nothing") as http:
        assert (await http.post("/sign-out", headers=headers)).status_code == 204

"""What anybody says of the path that the server is below changes nothing."""

from functools import cache

import pytest
from fastapi import FastAPI
from pydantic import SecretStr
from starlette.testclient import TestClient

from ragstone.http.app import create_app
from ragstone.settings import AuthSettings, ServerSettings, Settings
from tests.fake_service import FakeService

NASTY = (
    "//evil.example",
    "/\\evil.example",
    "https://evil.example",
    "/..",
    "/a/../..",
    "/./",
    "/.",
    "/a//b",
    "/<script>alert(1)</script>",
    '/"onload="x',
    "/%2e%2e",
    "/a\r\nset-cookie: x=1",
    "/a\nb",
    "/a?b#c",
    "/" + "a" * 10_000,
    "/a" * 5_000,
    "/\u00e9",
    "",
    "/v1",
)
CHAT = {"model": "ragstone", "messages": [{"role": "user", "content": "q"}]}
PROXY = {"x-proxy-secret": "of the proxy", "x-forwarded-user": "ann"}


@cache
def make_app(root: str = "", secret: str = "") -> FastAPI:
    server, auth = ServerSettings(public_url=root), AuthSettings(proxy_secret=SecretStr(secret))
    return create_app(FakeService(), Settings(server=server, auth=auth), "token")


def visit(app: FastAPI, headers: dict[str, str | bytes]) -> list[object]:
    """What a visitor sees of every kind of address."""
    client = TestClient(app, "http://127.0.0.1", follow_redirects=False)
    seen: list[object] = []
    for path in ("/", "/docs", "/openapi.json", "/web/main.js", "/login?token=x", "/docs/"):
        found = client.get(path, headers=headers)
        seen.append((found.status_code, found.text, found.headers.get("location")))
    answer = client.post("/v1/chat/completions", json=CHAT, headers=headers)
    return [*seen, answer.status_code, answer.json().get("choices")]


@pytest.mark.parametrize("value", [*NASTY, "/ragstone"])
@pytest.mark.parametrize("root", ["", "/kb"])
def test_a_prefix_of_a_client_changes_nothing(value: str, root: str) -> None:
    app = make_app(root)

    assert visit(app, {"x-forwarded-prefix": value.encode()}) == visit(app, {})


@pytest.mark.parametrize("value", NASTY[:-1])
def test_a_prefix_that_is_no_plain_path_changes_nothing_from_a_trusted_proxy_either(
    value: str,
) -> None:
    app = make_app(secret="of the proxy")

    assert visit(app, {**PROXY, "x-forwarded-prefix": value.encode()}) == visit(app, {**PROXY})


def test_a_prefix_with_a_wrong_secret_changes_nothing() -> None:
    app = make_app(secret="of the proxy")
    wrong: dict[str, str | bytes] = {"x-proxy-secret": "guessed"}

    assert visit(app, {**wrong, "x-forwarded-prefix": "/ragstone"}) == visit(app, wrong)

"""A server below a path of a site, as the settings or a trusted proxy say."""

from typing import Any

import pytest
from pydantic import SecretStr
from starlette.requests import Request
from starlette.testclient import TestClient

from ragstone.core.errors import ConfigError, Forbidden
from ragstone.http.app import create_app
from ragstone.http.below import OWN
from ragstone.http.sign_in import check_own
from ragstone.settings import AuthSettings, ServerSettings, Settings
from tests.fake_service import FakeService

TOKEN = "a-token-of-the-data-directory-with-43-letters"
CHAT = {"model": "ragstone", "messages": [{"role": "user", "content": "q"}]}
PROXY = {"x-proxy-secret": "of the proxy", "x-forwarded-user": "ann"}
TRUSTING = AuthSettings(proxy_secret=SecretStr("of the proxy"))


def make_client(service: FakeService | None = None, **sections: Any) -> TestClient:
    app = create_app(service or FakeService(), Settings(**sections), "operator", local_token=TOKEN)
    return TestClient(app, "http://127.0.0.1", follow_redirects=False)


def source_addresses(client: TestClient, prefix: str = "", **headers: str) -> list[str]:
    """The addresses of the sources of an answer."""
    answer = client.post(f"{prefix}/v1/chat/completions", json=CHAT, headers=headers).json()
    return [item["url_citation"]["url"] for item in answer["choices"][0]["message"]["annotations"]]


@pytest.mark.parametrize("sent", ["", "/kb/ai"], ids=["taken away", "left"])
def test_the_path_of_the_settings_stands_before_every_address(sent: str) -> None:
    client = make_client(server=ServerSettings(public_url="/kb/ai"))

    found = source_addresses(client, sent)

    assert found
    assert all(text.startswith("http://127.0.0.1/kb/ai/#/documents/") for text in found)
    document = client.get(f"{sent}/openapi.json").json()
    assert document["servers"] == [{"url": "/kb/ai"}]


def test_the_public_address_names_the_path_too() -> None:
    client = make_client(server=ServerSettings(public_url="https://example.com/ragstone"))

    found = source_addresses(client, "/ragstone")

    assert found
    assert all(text.startswith("https://example.com/ragstone/#/documents/") for text in found)


def test_a_trusted_proxy_says_the_path() -> None:
    client = make_client(auth=TRUSTING)
    headers = {**PROXY, "x-forwarded-prefix": "/ragstone"}

    found = source_addresses(client, **headers)

    assert found
    assert all(text.startswith("http://127.0.0.1/ragstone/#/") for text in found)


def test_the_path_without_a_slash_leads_to_the_page() -> None:
    client = make_client(server=ServerSettings(public_url="/ragstone"))

    assert client.get("/ragstone").headers["location"] == "/ragstone/"
    assert "web/main.js" in client.get("/ragstone/").text


def test_redirects_stay_below_the_path() -> None:
    client = make_client(server=ServerSettings(public_url="/ragstone"))

    for sent in ("", "/ragstone"):
        moved = client.get(f"{sent}/docs/")
        assert moved.headers["location"] == "/ragstone/docs"


@pytest.mark.parametrize("prefix", ["", "/ragstone"])
def test_a_login_leads_to_the_page_and_its_cookie_goes_no_higher(prefix: str) -> None:
    client = make_client(server=ServerSettings(public_url=prefix))

    done = client.get(f"{prefix}/login", params={"token": TOKEN})

    assert done.status_code == 303
    assert done.headers["location"] == "./"
    # A browser then takes the folder of the address that it opened.
    assert "path=" not in done.headers["set-cookie"].lower()


def test_only_the_page_below_the_path_signs_in() -> None:
    settings = ServerSettings(public_url="https://example.com/ragstone")
    headers = [(b"origin", b"https://example.com"), (b"host", b"backend:8006")]
    request = Request({"type": "http", "headers": headers, "path": "/sign-in"})

    check_own(request, "https://example.com/ragstone/", settings)
    for other in ("https://example.com/", "https://example.com/other/", "https://evil.example/"):
        with pytest.raises(Forbidden):
            check_own(request, other, settings)


@pytest.mark.parametrize(
    "path", ["ragstone", "/", "/a/", "/../b", "/a b", "/a\n", "//evil", "/<a>"]
)
def test_a_path_that_is_none_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="public_url"):
        ServerSettings(public_url=path)


@pytest.mark.parametrize("path", ["/v1", "/web/x", "/local", "/health"])
def test_a_path_that_begins_like_an_address_of_ours_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match="SERVER__PUBLIC_URL"):
        make_client(server=ServerSettings(public_url=path))


def test_every_address_of_ours_is_known_to_begin_so() -> None:
    paths = create_app(FakeService(), Settings(), "operator").openapi()["paths"]
    begins = {path.split("/")[1] for path in paths}

    assert {begin for begin in begins if not begin.startswith(("@", "{"))} <= OWN

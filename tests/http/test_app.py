"""The guards in front of every route, and the pages without one."""

import re
from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest

from ragstone.http.app import create_app
from ragstone.http.middleware import is_loopback
from ragstone.service.contract import operations
from ragstone.service.wire import OPERATION_HEADER
from ragstone.settings import ServerSettings, Settings
from tests.fake_service import FakeService
from tests.http_server import running
from tests.in_turn import in_turn

CHAT = "/v1/chat/completions"


@pytest.fixture
def settings() -> Settings:
    return Settings(server=ServerSettings(max_request_mb=1))


@pytest.fixture
async def http(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(create_app(FakeService(), settings, "token"))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


@pytest.fixture
def url(settings: Settings) -> Iterator[str]:
    with running(create_app(FakeService(), settings, "token")) as address:
        yield address


@in_turn("host", ["127.0.0.1", "127.0.0.1:8006", "localhost:80", "[::1]:1"])
async def test_hosts_of_this_machine(http: httpx2.AsyncClient, host: str) -> None:
    assert (await http.get("/health", headers={"host": host})).status_code == 200


@in_turn("host", ["example.com", "127.0.0.1.example.com", "10.0.0.1", "", "[", "localhost.evil:80"])
async def test_other_hosts(http: httpx2.AsyncClient, host: str) -> None:
    response = await http.get("/health", headers={"host": host})
    assert (response.status_code, response.json()["error"]["code"]) == (403, "forbidden")


@in_turn(
    ("origin", "status"),
    [
        ("http://localhost:3000", 400),
        ("http://127.0.0.1", 400),
        ("https://example.com", 403),
        ("http://localhost.example.com", 403),
        ("null", 403),
        ("", 403),
    ],
)
async def test_origins(http: httpx2.AsyncClient, origin: str, status: int) -> None:
    response = await http.post(CHAT, json={}, headers={"origin": origin})
    assert response.status_code == status
    assert (await http.get("/health", headers={"origin": origin})).status_code == 200


@pytest.mark.parametrize("path", [CHAT, "/local/call/ask"])
async def test_a_huge_body_is_refused_with_a_clear_answer(url: str, path: str) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b"x" * 100_000

    headers = {"content-type": "application/json", "authorization": "Bearer token"}
    headers[OPERATION_HEADER] = operations()["ask"].fingerprint
    async with httpx2.AsyncClient(base_url=url, headers=headers) as client:
        announced = await client.post(path, content=b"x" * 4_000_000)
        streamed = await client.post(path, content=pieces())
    for response in (announced, streamed):
        assert response.status_code == 413
        error = response.json()["error"]
        assert error["code"] == "too_large"
        assert "larger than 1 MB" in error["message"]


async def test_a_body_at_the_limit_is_read(url: str) -> None:
    content = b'"' + b"x" * 999_998 + b'"'
    async with httpx2.AsyncClient(base_url=url) as client:
        response = await client.post(
            CHAT, content=content, headers={"content-type": "application/json"}
        )
    assert response.status_code == 400
    assert len(response.content) < 500


async def test_unknown_addresses_and_methods(http: httpx2.AsyncClient) -> None:
    missing = await http.get("/nowhere")
    assert missing.status_code == 404
    assert missing.json()["error"]["code"] == "not_found"
    assert (await http.get("/v1/nowhere")).json()["error"]["type"] == "invalid_request_error"
    # What lies below a dialect's prefix has the shape that its clients read.
    assert (await http.get("/v2/nowhere")).json()["type"] == "error"
    assert (await http.get("/v2/nowhere")).json()["detail"] == "not_found"
    assert "nothing at this address" in (await http.get("/api/v1/rag/nowhere")).json()["detail"]
    wrong = await http.get(CHAT)
    assert wrong.status_code == 405
    assert wrong.headers["allow"] == "POST"
    assert "GET" in wrong.json()["error"]["message"]


async def test_docs_need_no_network(http: httpx2.AsyncClient) -> None:
    page = (await http.get("/docs")).text
    schema = (await http.get("/openapi.json")).json()
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", page)
    for path in schema["paths"]:
        assert f"<code>{path}</code>" in page
    assert "top_k" in page
    gists = re.findall(r"<summary>.*?<small>(.*?)</small></summary>", page)
    assert len(gists) > 140
    assert all(gists), "what each operation does is read without opening it"
    for place in re.findall('href="#(.*?)"', page):
        assert f'<h2 id="{place}">' in page
    assert {"/v1/chat/completions", "/v1/models", "/health"} <= set(schema["paths"])


async def test_clients_can_be_generated(http: httpx2.AsyncClient) -> None:
    schema = (await http.get("/openapi.json")).json()
    operations = [method for methods in schema["paths"].values() for method in methods.values()]
    for operation in operations:
        for response in operation["responses"].values():
            for content in response.get("content", {}).values():
                assert content["schema"], operation["operationId"]
    names = [item["operationId"] for item in operations]
    assert len(set(names)) == len(names)
    assert "openai_compatible_chat_completions" in names
    assert not [name for name in schema["components"]["schemas"] if name.startswith("Body_")]
    assert schema["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    assert schema["servers"] == [{"url": "/"}]
    assert schema["components"]["schemas"]["ChatRequest"]["example"]["model"] == "ragstone"


async def test_every_field_and_parameter_says_what_it_means(http: httpx2.AsyncClient) -> None:
    schema = (await http.get("/openapi.json")).json()
    fields = {
        f"{name}.{field}": about
        for name, shape in schema["components"]["schemas"].items()
        for field, about in shape.get("properties", {}).items()
        if "$ref" not in about and not name.endswith("Error")
    }
    parameters = {
        f"{path} {parameter['name']}": parameter
        for path, methods in schema["paths"].items()
        for operation in methods.values()
        for parameter in operation.get("parameters", ())
    }

    said = {**fields, **parameters}
    assert not [name for name, about in said.items() if not about.get("description")]


async def test_what_is_described_can_be_tried(http: httpx2.AsyncClient) -> None:
    page = await http.get("/docs")
    assert 'data-path="/v1/chat/completions"' in page.text
    assert "How long does a full battery charge last?" in page.text
    policy = page.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert (await http.get("/web/docs.js")).status_code == 200


async def test_what_may_be_asked_to_stream_says_that_it_may(http: httpx2.AsyncClient) -> None:
    schema = (await http.get("/openapi.json")).json()
    models = schema["components"]["schemas"]
    found = 0
    for methods in schema["paths"].values():
        for operation in methods.values():
            content = operation.get("requestBody", {}).get("content", {})
            name = content.get("application/json", {}).get("schema", {}).get("$ref", "")
            if "stream" in models.get(name.rpartition("/")[2], {}).get("properties", {}):
                assert "text/event-stream" in operation["responses"]["200"]["content"]
                found += 1
    assert found >= 3


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "LOCALHOST"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "example.com", ""])
def test_not_loopback(host: str) -> None:
    assert not is_loopback(host)

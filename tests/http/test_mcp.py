"""The tools through the official client: in process, over HTTP, and over standard input."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, StdioServerParameters
from starlette.types import ASGIApp, Receive, Scope, Send

from ragstone.core.filters import path_filter
from ragstone.core.turn import Principal
from ragstone.http.app import create_app
from ragstone.http.mcp.tools import mcp_server
from ragstone.settings import Settings
from ragstone.settings.server import DialectSettings
from tests.credentials import a_key
from tests.fake_service import FakeService
from tests.http_server import running
from tests.in_turn import in_turn
from tests.patience import wait_for

NAMES = {"search", "ask", "list_collections", "read_document"}
QUESTION = {"question": "What is the answer?"}


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
def url(service: FakeService) -> Iterator[str]:
    with running(create_app(service, Settings(), "token")) as address:
        yield f"{address}/mcp"


Connect = Callable[[], Client]


@pytest.fixture(params=["in process", "http", "http, older protocol"])
def client(request: Any, service: FakeService, url: str) -> Connect:
    """Connecting and closing must happen in the same task, which a fixture's is not."""
    where = mcp_server(service) if request.param == "in process" else url
    mode = "legacy" if "older" in request.param else "auto"
    return lambda: Client(where, mode=mode)


async def called(client: Client, name: str, **arguments: Any) -> Any:
    """What the tool returned."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def test_given_a_client_then_it_sees_the_tools(client: Connect) -> None:
    async with client() as connected:
        tools = {tool.name: tool for tool in (await connected.list_tools()).tools}
    assert set(tools) == NAMES
    assert "context" not in tools["search"].input_schema["properties"]
    assert tools["search"].description == (
        "Find the passages of the documents that fit a query best, with where they stand."
    )


async def test_given_a_question_then_the_answer_has_its_sources(client: Connect) -> None:
    async with client() as connected:
        found = await called(connected, "ask", **QUESTION)
    assert found["answer"] == "The answer is 42 [1]."
    assert found["sources"] == [
        {
            "number": 1,
            "title": "Guide",
            "path": "/docs/1.md",
            "page": 1,
            "snippet": "the answer is 42",
        }
    ]


async def test_given_details_then_also_what_was_not_cited(client: Connect) -> None:
    async with client() as connected:
        found = await called(connected, "ask", **QUESTION, details=True)
    assert [item["cited"] for item in found["sources"]] == [True, False]
    assert "verdicts" in found


async def test_given_a_query_then_passages(client: Connect, service: FakeService) -> None:
    async with client() as connected:
        found = await called(connected, "search", query="x", top_k=1, folder="/docs")
    [passage] = found["passages"]
    assert (passage["path"], passage["page"], passage["score"]) == ("/docs/1.md", 1, 0.9)
    assert service.searched[0].where == path_filter("/docs")


async def test_given_the_other_tools_then_collections_and_text(client: Connect) -> None:
    async with client() as connected:
        listed = await called(connected, "list_collections")
        found = await called(connected, "read_document", path="/docs/1.md", offset=2, limit=3)
    assert [item["name"] for item in listed["collections"]] == ["default"]
    assert (found["text"], found["next_offset"], found["total"]) == ("234", 5, 10)


@in_turn(
    ("name", "arguments", "said"),
    [
        ("ask", {"question": " "}, "empty"),
        ("ask", {"question": "broken"}, "does not answer"),
        ("ask", {"question": "x", "collection": "nowhere"}, "nowhere"),
        ("ask", {"question": "x", "level": "genius"}, "level"),
        ("ask", {}, "question"),
        ("search", {"query": "x" * 20_001}, "query"),
        ("search", {"query": "x", "top_k": 0}, "top_k"),
        ("search", {"query": "forbidden"}, "Ask HR"),
        ("read_document", {"path": "/nowhere"}, "/nowhere"),
        ("read_document", {"path": "/docs/1.md", "limit": 10**9}, "limit"),
    ],
)
async def test_given_wrong_arguments_then_the_tool_says_what(
    client: Connect, name: str, arguments: dict[str, Any], said: str
) -> None:
    async with client() as connected:
        result = await connected.call_tool(name, arguments)
    assert result.is_error
    assert said in str(result.content)
    assert "Traceback" not in str(result.content)


class As:
    """Gives every request a credential."""

    def __init__(self, app: ASGIApp, secret: str) -> None:
        self._app = app
        self._header = (b"authorization", f"Bearer {secret}".encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], self._header]}
        await self._app(scope, receive, send)


async def test_given_a_credential_then_the_tools_see_what_it_may(service: FakeService) -> None:
    secret = await a_key(service, "reader", "acme", "eva", ("hr",), ("hr",))
    with running(As(create_app(service, Settings(), "token"), secret)) as address:
        async with Client(f"{address}/mcp") as client:
            assert await called(client, "list_collections") == {"collections": []}
            for name, arguments in (
                ("ask", QUESTION),
                ("search", {"query": "x"}),
                ("read_document", {"path": "/docs/1.md"}),
            ):
                result = await client.call_tool(name, arguments)
                assert "no collection named 'default'" in str(result.content)
    wide = await a_key(service, "reader", "acme", "eva", ("hr",))
    with running(As(create_app(service, Settings(), "token"), wide)) as address:
        async with Client(f"{address}/mcp") as client:
            await called(client, "ask", **QUESTION)
    assert [item.principal for item in service.asked] == [Principal("acme", "eva", ("hr",))]


def test_given_a_client_that_leaves_then_the_answer_ends(url: str, service: FakeService) -> None:
    call = {"name": "ask", "arguments": {"question": "silent"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2025-06-18",
    }
    for patience in (1, 10, 100):
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(url, json=body, headers=headers, timeout=patience)
        if service.asked:
            break
    assert wait_for(lambda: service.closed == ["silent"])


@in_turn("body", [b"", b"{", b"[]", b"3", b'{"jsonrpc": "1.0"}', b"\xff"])
def test_given_bytes_that_are_no_message_then_no_5xx(url: str, body: bytes) -> None:
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    assert 400 <= httpx.post(url, content=body, headers=headers).status_code < 500
    assert httpx.get(url).status_code == 405


def test_given_a_page_of_another_machine_then_it_is_refused(url: str) -> None:
    response = httpx.post(url, json={}, headers={"origin": "https://evil.example"})
    assert response.status_code == 403


def test_given_the_switch_then_the_route_is_not_there() -> None:
    off = Settings(dialects=DialectSettings(off=("mcp",)))
    with running(create_app(FakeService(), off, "token")) as address:
        assert httpx.post(f"{address}/mcp", json={}).status_code == 404


async def test_given_standard_input_then_the_same_tools(tmp_path: Path) -> None:
    arguments = ["-m", "tests.fake_ragstone", "--data", str(tmp_path), "mcp"]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
    async with Client(server) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == NAMES
        found = await called(client, "ask", **QUESTION)
    assert json.loads(json.dumps(found))["answer"] == "The answer is 42 [1]."

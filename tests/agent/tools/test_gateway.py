"""The client of the tool gateway, against a real server over HTTP."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from ragstone.core.errors import ConfigError, ToolsUnavailable
from ragstone.plugins.agent.settings import McpSettings
from ragstone.plugins.agent.tools import gateway as tools_gateway
from ragstone.plugins.agent.tools.configured import make_toolbox
from ragstone.plugins.agent.tools.gateway import McpGateway
from tests.agent.scenarios.tool_server import HUGE, ToolServer
from tests.agent.scenarios.world import STDIO
from tests.http_server import running
from tests.mcp_gateway import FOUND, Gateway, gateway
from tests.model_server import closed_port

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[Gateway]:
    with gateway() as made:
        yield made


def a_gateway(url: str, **changes: Any) -> McpGateway:
    return McpGateway(McpSettings(**{"gateway": url, "mcp_enabled": True, **changes}))


@pytest.mark.conforms("chat-core", "15.1", "Tools are loaded as the gateway lists them")
async def test_given_a_gateway_then_its_tools_are_listed_with_their_arguments(
    server: Gateway,
) -> None:
    async with a_gateway(server.url).session("GO_RAG") as session:
        tools = {tool.name: tool for tool in session.tools}
    assert {"neural_search", "add"} <= set(tools)
    assert tools["add"].description == "Adds two numbers."
    assert set(tools["add"].parameters["properties"]) == {"a", "b"}


async def test_given_a_call_then_its_data_and_text_come_back(server: Gateway) -> None:
    async with a_gateway(server.url).session("GO_RAG") as session:
        found = await session.call("neural_search", {"query": "Ost", "collection_name": "law"})
        added = await session.call("add", {"a": 1, "b": 2})
    assert found.data == FOUND
    assert added.text.startswith("1 and 2 make 3.")
    assert server.organisations[-1] == "GO_RAG"


async def test_given_wrong_arguments_then_the_tool_says_so(server: Gateway) -> None:
    async with a_gateway(server.url).session("") as session:
        assert (await session.call("add", {"a": "x"})).failed


async def test_given_a_long_result_then_it_is_cut(
    server: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools_gateway, "RESULT_CHARS", 300)
    server.found = [{**FOUND[0], "context": "x" * 5000}]
    async with a_gateway(server.url).session("") as session:
        found = await session.call("neural_search", {"query": "q", "collection_name": "c"})
    server.found = list(FOUND)
    assert len(found.text) == 300


async def test_given_a_slow_tool_then_it_is_given_up(
    server: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools_gateway, "CALL_SECONDS", 0.2)
    server.slow = 5.0
    async with a_gateway(server.url).session("") as session:
        with pytest.raises(ToolsUnavailable, match="did not answer"):
            await session.call("neural_search", {"query": "q", "collection_name": "c"})
    server.slow = 0.0


async def test_given_a_list_of_tools_then_it_is_kept_for_a_while(
    server: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools_gateway, "MAX_TOOLS", 1)
    kept = a_gateway(server.url)
    async with kept.session("A") as first, kept.session("A") as second:
        assert len(first.tools) == 1
        assert first.tools is second.tools


async def test_given_nobody_there_then_it_says_so_and_rests() -> None:
    gone = a_gateway(closed_port())
    with pytest.raises(ToolsUnavailable, match="could not be reached"):
        async with gone.session("A"):
            pass
    with pytest.raises(ToolsUnavailable, match="rests"):
        async with gone.session("A"):
            pass


async def test_given_a_gateway_that_goes_away_then_the_call_fails_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tools_gateway, "CALL_SECONDS", 1.0)
    with gateway() as made:
        async with a_gateway(made.url).session("") as session:
            made.slow = 30.0
            call = session.call("neural_search", {"query": "q", "collection_name": "c"})
            with pytest.raises(ToolsUnavailable):
                await call


async def test_given_a_reader_who_leaves_then_the_connection_closes(server: Gateway) -> None:
    server.slow = 30.0

    async def work() -> None:
        async with a_gateway(server.url).session("") as session:
            await session.call("neural_search", {"query": "q", "collection_name": "c"})

    task = asyncio.create_task(work())
    await asyncio.sleep(0.5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    server.slow = 0.0


async def test_given_an_error_in_the_body_then_it_comes_out_as_it_is(server: Gateway) -> None:
    with pytest.raises(ZeroDivisionError):
        async with a_gateway(server.url).session(""):
            raise ZeroDivisionError


def test_given_settings_then_a_gateway_or_a_reason() -> None:
    assert make_toolbox(McpSettings()) is None
    with pytest.raises(ConfigError, match="MCP__GATEWAY"):
        make_toolbox(McpSettings(mcp_enabled=True))
    with pytest.raises(ConfigError, match="not an address"):
        make_toolbox(McpSettings(mcp_enabled=True, gateway="ftp://x"))
    assert make_toolbox(McpSettings(mcp_enabled=True, gateway="http://10.10.1.25:8502")) is not None


@pytest.fixture(scope="module")
def marked() -> Iterator[str]:
    """The address of a server whose tools say what they do."""
    with running(ToolServer().server().streamable_http_app()) as url:
        yield f"{url}/mcp"


async def test_given_annotations_then_a_tool_changes_something_as_it_says(marked: str) -> None:
    toolbox = a_gateway(marked, read_only_tools="unmarked, population")
    async with toolbox.session("") as session:
        changes = {tool.name: tool.changes for tool in session.tools}
    assert changes["population"] is False
    assert changes["delete_everything"] is True
    assert changes["file_ticket"] is True
    assert changes["unmarked"] is False
    async with a_gateway(marked).session("") as session:
        unmarked = {tool.name: tool.changes for tool in session.tools}["unmarked"]
    assert unmarked is None


async def test_given_a_command_then_its_tools_are_called() -> None:
    settings = McpSettings(gateway=STDIO, mcp_enabled=True)
    async with McpGateway(settings).session("NORTH") as session:
        found = await session.call("population", {"city": "Ost"})
    assert "register of NORTH" in found.text


async def test_given_a_program_that_is_none_then_it_says_so() -> None:
    settings = McpSettings(gateway="/nowhere/tools", mcp_enabled=True)
    with pytest.raises(ToolsUnavailable, match="could not be reached"):
        async with McpGateway(settings).session(""):
            pass
    with pytest.raises(ConfigError, match="not a command"):
        McpGateway(McpSettings(gateway="'open", mcp_enabled=True))


async def test_given_a_response_longer_than_the_limit_then_the_call_fails(
    marked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools_gateway, "MAX_BYTES", 1_000_000)
    monkeypatch.setattr(tools_gateway, "CALL_SECONDS", 10.0)
    async with a_gateway(marked).session("") as session:
        with pytest.raises(ToolsUnavailable):
            await session.call("archive", {"city": "Ost"})
    async with a_gateway(marked).session("") as session:
        assert "4,200" in (await session.call("population", {"city": "Ost"})).text


async def test_given_ten_megabytes_then_the_first_characters_and_the_length(marked: str) -> None:
    async with a_gateway(marked).session("") as session:
        found = await session.call("archive", {"city": "Ost"})
    assert (len(found.text), found.length) == (tools_gateway.RESULT_CHARS, HUGE)


async def cut_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Promise a long response, send the beginning of it, and go."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
    )
    await writer.drain()
    writer.close()


async def test_given_a_server_that_goes_away_in_its_answer_then_only_the_tools_are_gone() -> None:
    server = await asyncio.start_server(cut_off, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        with pytest.raises(ToolsUnavailable):
            async with a_gateway(f"http://127.0.0.1:{port}/mcp").session(""):
                pass
    await asyncio.sleep(0)  # Would raise if this task had been cancelled.

"""An agent over HTTP: its steps in the streams, and the approval of a call that waits."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest

from ragstone.plugins.agent.settings import McpSettings
from tests.agent.scenarios.tool_server import ToolServer
from tests.http.conftest import QUESTION, Server
from tests.http_server import running
from tests.patience import PATIENCE

CALL = 'call file_ticket {"text": "the lamp is dark"}'

DIALECTS = [
    ("/v2/pa/query", {"query": QUESTION}, "/v2/pa/approvals/"),
    (
        "/api/v1/chat/completions",
        {"message": QUESTION, "mode": "agent", "stream": True},
        "/api/v1/chat/approvals/",
    ),
]


@pytest.fixture
def tools() -> Iterator[tuple[ToolServer, McpSettings]]:
    made = ToolServer()
    with running(made.server().streamable_http_app()) as url:
        yield made, McpSettings(gateway=f"{url}/mcp", mcp_enabled=True)


async def events(response: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    async for line in response.aiter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


async def listening(server: Server, mcp: McpSettings) -> httpx2.AsyncClient:
    """A client that gets events as they come."""
    assert server.model is not None
    server.model.ways = [CALL]
    server.model.says = ("Ticket 17 is filed [1].",)
    await server.start(mcp=mcp)
    port = await server.listen()
    return httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE)


@pytest.mark.slow
@pytest.mark.parametrize(("address", "body", "approvals"), DIALECTS)
@pytest.mark.parametrize("approved", [True, False])
async def test_given_a_call_that_waits_then_its_client_decides(
    with_model: Server,
    tools: tuple[ToolServer, McpSettings],
    address: str,
    body: dict[str, Any],
    approvals: str,
    approved: bool,
) -> None:
    server, mcp = tools
    states: list[str] = []
    async with await listening(with_model, mcp) as http:
        sent = {**body, "approves": True}
        async with http.stream("POST", address, json=sent) as response:
            async for event in events(response):
                step = event.get("tool")
                if step is None:
                    continue
                states.append(step["state"])
                assert event["content"]
                if step["state"] == "waiting":
                    assert json.loads(step["arguments"]) == {"text": "the lamp is dark"}
                    decided = await http.post(approvals + step["id"], json={"approved": approved})
                    assert decided.json() == {"id": step["id"], "approved": approved}
                    again = await http.post(approvals + step["id"], json={"approved": True})
                    assert again.status_code == 404
    assert states == ["calling", "waiting", "done" if approved else "declined"]
    assert server.made == (["file_ticket the lamp is dark"] if approved else [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "body"),
    [
        ("/v2/pa/query", {"query": QUESTION}),
        ("/api/chat/completions", {"message": QUESTION, "mode": "agent", "approves": True}),
    ],
)
async def test_given_a_client_that_cannot_be_asked_then_the_call_is_declined(
    with_model: Server,
    tools: tuple[ToolServer, McpSettings],
    address: str,
    body: dict[str, Any],
) -> None:
    server, mcp = tools
    async with await listening(with_model, mcp) as http:
        response = await http.post(address, json=body)
    assert response.status_code == 200
    assert server.made == []
    assert with_model.model is not None
    told = [call for call in with_model.model.calls[1]["messages"] if call["role"] == "tool"]
    assert "nobody can be asked" in told[0]["content"]


async def test_given_an_id_under_which_nothing_waits_then_it_is_unknown(server: Server) -> None:
    http = await server.start()
    for place in ("/v2/pa/approvals/none", "/api/v1/chat/approvals/none"):
        response = await http.post(place, json={"approved": True})
        assert response.status_code == 404
        assert "waits" in response.text
        wrong = await http.post(place, json={"approved": "perhaps"})
        assert wrong.status_code == 422

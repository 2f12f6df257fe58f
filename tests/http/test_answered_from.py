"""What each address answers from: the whole of Ragstone, a real model server, a real gateway."""

import asyncio
import base64
from typing import Any

import httpx2
import pytest

from ragstone.plugins.agent.settings import McpSettings
from tests.http.conftest import QUESTION, Server
from tests.mcp_gateway import gateway
from tests.model_server import closed_port

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 8).decode()


async def answered(http: httpx2.AsyncClient, mode: str, **fields: Any) -> dict[str, Any]:
    body = {"message": QUESTION, "mode": mode, **fields}
    response = await http.post("/api/chat/completions", json=body)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


async def test_given_no_model_then_general_and_vision_say_so_and_agent_answers(
    server: Server,
) -> None:
    http = await server.start()
    for address, body in (
        ("/v2/gpt/query", {"query": QUESTION}),
        ("/v2/vision/query", {"query": QUESTION, "images": [PNG]}),
        ("/api/chat/completions", {"message": QUESTION, "mode": "general"}),
    ):
        response = await http.post(address, json=body)
        assert response.status_code == 409, (address, response.text)
        assert "LLM__MODEL" in response.text
    found = await answered(http, "agent")
    assert "31 days" in found["content"]
    assert found["sources"][0]["document_name"] == "lantern-3-manual.md"
    assert set(found["context_sufficiency"]) == {
        "is_sufficient",
        "coverage_score",
        "has_conflicts",
        "missing_aspects",
    }


@pytest.mark.conforms("Query pipeline", "Step 1", "general asks the model without retrieval")
async def test_given_a_model_then_general_answers_without_documents(with_model: Server) -> None:
    http = await with_model.start()
    found = await answered(http, "general")
    assert found["content"] == "It lasts 31 days [1]."
    assert (found["sources"], found["confidence_score"]) == ([], None)
    response = await http.post("/v2/vision/query", json={"query": "What?", "images": [PNG]})
    assert response.status_code == 409, response.text
    assert "LLM__VISION" in response.text


@pytest.mark.conforms("chat-core", "15.2", "A model that sees is shown the image")
async def test_given_a_model_that_sees_then_it_is_shown_the_image(with_model: Server) -> None:
    http = await with_model.start(vision=True)
    await answered(http, "vision", images=[PNG])
    assert with_model.model is not None
    assert "image_url" in str(with_model.model.calls[-1]["messages"][-1])


@pytest.mark.conforms("Query pipeline", "Step 1", "agent works in several steps")
async def test_given_a_model_that_searches_then_its_finds_are_the_sources(
    with_model: Server,
) -> None:
    assert with_model.model is not None
    with_model.model.ways = ['call local_search {"query": "battery charge without sun"}']
    http = await with_model.start()
    response = await http.post("/v2/pa/query", json={"query": QUESTION})
    assert '"type":"done"' in response.text
    assert "31 days" in response.text
    assert "local_search" in response.text
    searching = with_model.model.calls[0]
    assert [tool["function"]["name"] for tool in searching["tools"]] == [
        "local_search",
        "read_section",
        "entity_graph",
        "tables",
        "calculator",
    ]
    assert any(m["role"] == "tool" for m in with_model.model.calls[1]["messages"])


@pytest.mark.conforms("chat-core", "12.3", "/v2/pa/query calls tools of its organisation")
async def test_given_a_gateway_then_its_passages_are_the_sources(with_model: Server) -> None:
    assert with_model.model is not None
    with gateway() as tools:
        with_model.model.ways = [
            'call neural_search {"query": "Ost", "collection_name": "secret"}',
            'call add {"a": 1, "b": 2}',
        ]
        http = await with_model.start(mcp=McpSettings(gateway=tools.url, mcp_enabled=True))
        fields = {"metadata_filter_key": "class", "metadata_filter_values": ["Law"]}
        body = {"query": QUESTION, "mcp_org": "ACME", "top_k": 5, **fields}
        response = await http.post("/v2/pa/query", json=body)
        assert tools.organisations == ["ACME"]
        assert tools.searches == [
            {
                "query": "Ost",
                "collection_name": "default",
                "top_k": 5,
                "use_paragraph": False,
                "metadata_filter_key": "class",
                "match_values": ["Law"],
            }
        ]
    assert '"p_id":"p1"' in response.text or '"p_id":"add:1"' in response.text
    answering = str([call["messages"] for call in with_model.model.calls])
    assert "built in 1871" in answering
    assert "1 and 2 make 3" in answering


@pytest.mark.conforms("chat-core", "11.1", "MCP failure: local search")
async def test_given_a_gateway_that_is_gone_then_the_documents_answer(with_model: Server) -> None:
    assert with_model.model is not None
    http = await with_model.start(mcp=McpSettings(gateway=closed_port(), mcp_enabled=True))
    found = await answered(http, "agent")
    assert found["sources"][0]["document_name"] == "lantern-3-manual.md"


@pytest.mark.parametrize("name", ["rag", "pa"])
async def test_given_an_unknown_collection_then_404_before_the_stream(
    server: Server, name: str
) -> None:
    http = await server.start()
    body = {"query": QUESTION, "collection_name": "nowhere"}
    response = await http.post(f"/v2/{name}/query", json=body)
    assert response.status_code == 404
    assert response.json()["detail"] == "unknown_collection"


async def test_given_a_test_then_nothing_is_counted(server: Server) -> None:
    http = await server.start()
    await http.post("/v2/rag/query", json={"query": QUESTION, "room_id": "r", "is_test": True})
    headers = {"authorization": "Bearer token"}
    assert (await http.get("/api/v1/stats", headers=headers)).json()["use"] == []
    await http.post("/v2/rag/query", json={"query": QUESTION, "room_id": "r"})
    days: list[Any] = []
    for _ in range(100):
        days = (await http.get("/api/v1/stats", headers=headers)).json()["use"]
        if days:
            break
        await asyncio.sleep(0.05)
    assert days[0]["questions"] == 1

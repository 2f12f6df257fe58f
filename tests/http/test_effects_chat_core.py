"""Every field of chat-core's requests changes what is seen, or says that it does not."""

import base64
from typing import Any

import pytest

from ragstone.http.app import create_app
from ragstone.settings import Settings
from tests.fake_service import FakeService
from tests.http.conftest import QUESTION
from tests.http.effects import (
    ROOM,
    Case,
    Observed,
    World,
    case,
    prompts,
    prompts_after,
    routes_below,
    temperatures,
    with_cases,
)

pytestmark = pytest.mark.slow

FOLLOW_UP = "And how long does charging it take?"
OTHER = "Up to how many euros are hotel rooms in Oslo reimbursed?"
TICKET = 'call file_ticket {"text": "the lamp is dark"}'
POPULATION = 'call population {"city": "Ost"}'
WHERE = {"metadata_filter_key": "class", "metadata_filter_values": ["Law"]}


def png(end: bytes) -> str:
    data = b"\x89PNG\r\n\x1a\n" + b"\0" * 8 + end
    return "data:image/png;base64," + base64.b64encode(data).decode()


def tokens(seen: Observed) -> Any:
    return seen.body["tokens"]


IN_ROOM = {"room_id": ROOM, "user_id": "ann"}

SAID = {"route": "POST /v2/rag/query", "query": QUESTION, **IN_ROOM}

CONVERSATION = [
    case("query", QUESTION, OTHER, prompts),
    Case(
        "room_id",
        {**IN_ROOM, "query": FOLLOW_UP},
        {**IN_ROOM, "query": FOLLOW_UP, "room_id": f"{ROOM}-other"},
        prompts,
        before=[{"query": QUESTION, **IN_ROOM}],
    ),
    Case(
        "user_id",
        {**IN_ROOM, "query": FOLLOW_UP},
        {**IN_ROOM, "query": FOLLOW_UP, "user_id": "bob"},
        prompts,
        before=[{"query": QUESTION, **IN_ROOM}],
    ),
    case("search_type", "rag", "pa", None),
    case("temperature", 0.1, 1.5, temperatures),
    case(
        "is_test",
        False,
        True,
        prompts_after,
        beside=IN_ROOM,
        after={"query": FOLLOW_UP, "is_test": False},
    ),
]
SEARCH = [
    *CONVERSATION,
    case("collection_name", "default", "laws", prompts),
    case("use_paragraph", False, True, prompts),
    case("metadata_filter_key", "class", "kind", prompts, beside=WHERE),
    case("metadata_filter_values", ["Law"], ["Order"], prompts, beside=WHERE),
    case("top_k", 1, 100, prompts),
    case("mcp_org", "GO_RAG", "OTHER", None),
    case("approves", False, True, None),
]
AGENT = {
    **with_cases(SEARCH),
    "mcp_org": case("mcp_org", "GO_RAG", "OTHER", prompts, ways=[POPULATION]),
    "approves": case("approves", False, True, prompts, ways=[TICKET], approves=True),
}
MEMORY_ALONE = with_cases(
    CONVERSATION,
    case("collection_name", "default", "laws", None),
    case("use_paragraph", False, True, None),
    case("metadata_filter_key", "class", "kind", None, beside=WHERE),
    Case(
        "metadata_filter_values",
        {**IN_ROOM, **WHERE, "query": FOLLOW_UP},
        {**IN_ROOM, **WHERE, "query": FOLLOW_UP, "metadata_filter_values": ["Order"]},
        prompts,
        before=[{**IN_ROOM, **WHERE, "query": QUESTION}],
    ),
    case("top_k", 1, 100, None),
    case("mcp_org", "GO_RAG", "OTHER", None),
    case("approves", False, True, None),
)
ROUTES: dict[str, tuple[dict[str, Any], dict[str, Case]]] = {
    "POST /v2/rag/query": (
        {"query": QUESTION},
        with_cases(SEARCH, case("mcp_org", "GO_RAG", "OTHER", prompts)),
    ),
    "POST /v2/voc/query": ({"query": QUESTION}, with_cases(SEARCH)),
    "POST /v2/gpt/query": ({"query": QUESTION}, MEMORY_ALONE),
    "POST /v2/pa/query": ({"query": QUESTION}, AGENT),
    "POST /v2/vision/query": (
        {"query": QUESTION, "images": [png(b"a")]},
        {**MEMORY_ALONE, "images": case("images", [png(b"a")], [png(b"b")], prompts)},
    ),
    "GET /v2/{search_type}/query": (
        {"path:search_type": "rag", "query:room_id": ROOM, "query:user_id": "ann"},
        with_cases(
            [
                case("path:search_type", "rag", "gpt", tokens, before=[SAID]),
                case("query:room_id", ROOM, f"{ROOM}-other", tokens, before=[SAID]),
                case("query:user_id", "ann", "bob", tokens, before=[SAID]),
            ]
        ),
    ),
}


def test_every_address_has_its_cases() -> None:
    spec = create_app(FakeService(), Settings(), "token").openapi()
    # Its decision is about a call of another request: test_agent.py.
    assert routes_below(spec, "/v2/") == {*ROUTES, "POST /v2/pa/approvals/{id}"}


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.conforms("chat-core", "5.1", "Two values of any field are told apart")
async def test_given_two_values_of_a_field_then_a_difference_is_seen(
    world: World, subtests: pytest.Subtests, route: str
) -> None:
    base, cases = ROUTES[route]
    await world.check_all(subtests, route, base, cases)

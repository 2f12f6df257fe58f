"""Every field of the RAG engine's requests changes what is seen, or says that it does not."""

from typing import Any

import pytest

from ragstone.http.app import create_app
from ragstone.settings import Settings
from tests.fake_service import FakeService
from tests.http.conftest import QUESTION
from tests.http.effects import (
    ROOM,
    Case,
    Json,
    Observed,
    World,
    case,
    kinds,
    prompts,
    routes_below,
    stages,
    status,
    temperatures,
    with_cases,
)
from tests.http.test_effects_chat_core import FOLLOW_UP, OTHER

pytestmark = pytest.mark.slow


def citations(seen: Observed) -> Any:
    """What is said of the sources cited, wherever it stands."""
    if isinstance(seen.body, list):
        return [item.get("citations") for item in seen.body]
    rows = seen.body.get("results", [seen.body])
    return [
        (row.get("citations"), row.get("formatted_citations"), row.get("sources")) for row in rows
    ]


def offers(seen: Observed) -> Any:
    """The functions that the chat model was offered, and which it must call."""
    return [(call.get("tools"), call.get("tool_choice")) for call in seen.calls]


def function(name: str = "lookup", **fields: Any) -> Json:
    return {"functions": [{"name": name, **fields}]}


LOOKUP = function()
SCHEMA = {"type": "object", "properties": {"place": {"type": "string"}}}

SEARCH = [
    case("level", "basic", "maximum", stages),
    case("strategy", "DIRECT", "QUERY_DECOMPOSITION", stages),
    case("prefer", "speed", "accuracy", stages),
    case("self_rag", False, True, prompts),
    case("tenant_id", "default", "other", status),
    case("top_k", 1, 10, prompts),
    case("collection", "default", "laws", prompts),
]
GENERATE = [
    *SEARCH,
    case("query", QUESTION, OTHER, prompts),
    case("rewrite_method", "none", "multi", prompts),
    case("include_citations", False, True, citations),
]
ANSWER = with_cases(
    GENERATE,
    case("citation_format", "markdown", "html", citations),
    case("stream", False, True, kinds),
    Case("functions", {}, LOOKUP, offers),
    Case("functions.name", LOOKUP, function("other"), offers),
    Case("functions.description", LOOKUP, function(description="Looks a place up."), offers),
    Case("functions.parameters", LOOKUP, function(parameters=SCHEMA), offers),
    case("function_call", "none", "required", offers, beside=LOOKUP),
    Case(
        "function_call.name",
        {"functions": [{"name": "lookup"}, {"name": "other"}], "function_call": {"name": "lookup"}},
        {"functions": [{"name": "lookup"}, {"name": "other"}], "function_call": {"name": "other"}},
        offers,
    ),
)
REFUSED = {
    # Functions are answered in one piece, and their fields with them.
    name: Case(name, {}, {**LOOKUP, "function_call": "auto"}, status)
    for name in ANSWER
    if name.startswith("function")
}
STREAM = {
    **with_cases(GENERATE),
    "rewrite_method": case("rewrite_method", "none", "multi", prompts),
    "citation_format": case("citation_format", "markdown", "html", None),
    "stream": case("stream", False, True, None),
    **REFUSED,
}
BATCH = with_cases(
    [item for item in GENERATE if item.field not in ("query", "tenant_id")],
    case("citation_format", "markdown", "html", citations),
    case("tenant_id", "default", "other", lambda seen: seen.body["failed"]),
    case("queries", [QUESTION], [OTHER], prompts),
)
QUERY = with_cases(
    SEARCH,
    case("query", QUESTION, OTHER, prompts),
    Case(
        "conversation_id",
        {"query": FOLLOW_UP, "conversation_id": ROOM},
        {"query": FOLLOW_UP, "conversation_id": f"{ROOM}-other"},
        prompts,
        before=[{"query": QUESTION, "conversation_id": ROOM}],
    ),
    case("mode", "simple", "precise", prompts),
    case("temperature", 0.1, 1.5, temperatures),
    case(
        "include_sources",
        False,
        True,
        lambda seen: citations(seen) if isinstance(seen.body, dict) else seen.body[-1]["sources"],
    ),
)
ROUTES: dict[str, tuple[Json, dict[str, Case]]] = {
    "POST /api/v1/rag/generate": ({"query": QUESTION}, ANSWER),
    "POST /api/v1/rag/generate/stream": ({"query": QUESTION}, STREAM),
    "POST /api/v1/rag/batch": ({"queries": [QUESTION]}, BATCH),
    "POST /api/v1/rag/query": ({"query": QUESTION}, QUERY),
    "POST /api/v1/rag/query-stream": ({"query": QUESTION}, QUERY),
}
OPTIONS: dict[str, list[Any]] = {
    "strategy": ["DIRECT", "HYDE", "QUERY_DECOMPOSITION", "ITERATIVE", "HYBRID", "SELF_RAG"],
    "rewrite_method": ["multi", "hyde", "none", "decompose", "expand", "step_back"],
    "level": ["basic", "standard", "enhanced", "maximum"],
    "mode": ["simple", "advanced", "precise"],
}


def test_every_address_has_its_cases() -> None:
    spec = create_app(FakeService(), Settings(), "token").openapi()
    assert routes_below(spec, "/api/v1/rag/") == set(ROUTES)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.conforms("RAG engine v1", "API layer", "Two values of any field are told apart")
async def test_given_two_values_of_a_field_then_a_difference_is_seen(
    world: World, subtests: pytest.Subtests, route: str
) -> None:
    base, cases = ROUTES[route]
    await world.check_all(subtests, route, base, cases)


@pytest.mark.parametrize("name", OPTIONS)
async def test_given_options_of_a_field_then_each_is_another(world: World, name: str) -> None:
    route = "POST /api/v1/rag/query" if name == "mode" else "POST /api/v1/rag/generate"
    await world.check_options(route, {"query": OTHER}, name, OPTIONS[name])


async def test_given_formats_of_citations_then_each_is_another(world: World) -> None:
    """The text of an answer is the same in all: they differ in what is said of its sources."""
    route = "POST /api/v1/rag/generate"
    lists = set()
    for name in ("markdown", "html", "plain"):
        body = {"query": QUESTION, "citation_format": name}
        seen = await world.see(route, body, Case("citation_format", {}, {}, None))
        lists.add(seen.body["formatted_citations"])
    assert len(lists) == 3

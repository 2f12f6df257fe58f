"""Every field of the query pipeline's requests changes what is seen, or says that it does not."""

from typing import Any

import pytest

from ragstone.http.app import create_app
from ragstone.settings import Settings
from tests.fake_service import FakeService
from tests.http.conftest import QUESTION
from tests.http.effects import (
    ROOM,
    Case,
    World,
    case,
    kinds,
    prompts,
    routes_below,
    stages,
    temperatures,
    with_cases,
)
from tests.http.test_effects_chat_core import FOLLOW_UP, OTHER, POPULATION, TICKET, png

pytestmark = pytest.mark.slow

AGENT = {"mode": "agent"}
REASONED = {"message": "Why does the lamp need so much sun, and what follows from that?"}

CASES = with_cases(
    [
        case("message", QUESTION, OTHER, prompts),
        Case(
            "session_id",
            {"message": FOLLOW_UP, "session_id": ROOM},
            {"message": FOLLOW_UP, "session_id": f"{ROOM}-other"},
            prompts,
            before=[{"message": QUESTION, "session_id": ROOM}],
        ),
        case("mode", "chat", "general", prompts),
        case("collection_filter", "default", "laws", prompts),
        case("folder_id", "/", "/nowhere", prompts),
        case("intelligence_level", "basic", "maximum", stages),
        case("strategy", "DENSE_ONLY", "FUSION", stages),
        case("temperature_override", 0.1, 1.5, temperatures),
        case("enable_cot", False, True, prompts, beside=REASONED),
        case("enable_verification", False, True, prompts),
        case("ensemble_voting", False, True, prompts),
        case("images", [png(b"a")], [png(b"b")], prompts, beside={"mode": "vision"}),
        case("stream", False, True, kinds),
        case("mcp_org", "GO_RAG", "OTHER", prompts, beside=AGENT, ways=[POPULATION]),
        case(
            "approves",
            False,
            True,
            prompts,
            beside={**AGENT, "stream": True},
            ways=[TICKET],
            approves=True,
        ),
    ]
)
ROUTES = ("POST /api/v1/chat/completions", "POST /api/chat/completions")
OPTIONS: dict[str, list[Any]] = {
    "mode": ["chat", "general", "agent"],
    "intelligence_level": ["basic", "standard", "enhanced", "maximum"],
    "strategy": ["DENSE_ONLY", "HYBRID", "FUSION", "TWO_STAGE", "HIERARCHICAL", "SELF_RAG"],
}


def test_every_address_has_its_cases() -> None:
    spec = create_app(FakeService(), Settings(), "token").openapi()
    # Their decision is about a call of another request: test_agent.py.
    besides = {f"POST /api/{version}chat/approvals/{{id}}" for version in ("", "v1/")}
    assert routes_below(spec, "/api/chat/", "/api/v1/chat/") == {*ROUTES, *besides}


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.conforms("Query pipeline", "Step 1", "Two values of any field are told apart")
async def test_given_two_values_of_a_field_then_a_difference_is_seen(
    world: World, subtests: pytest.Subtests, route: str
) -> None:
    await world.check_all(subtests, route, {"message": QUESTION}, CASES)


@pytest.mark.parametrize("name", OPTIONS)
async def test_given_options_of_a_field_then_each_is_another(world: World, name: str) -> None:
    await world.check_options(ROUTES[0], {"message": OTHER}, name, OPTIONS[name])

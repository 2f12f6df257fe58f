"""Every field of the retrieval service changes what is seen, or says that it does not."""

from typing import Any

import pytest

from ragstone.http.app import create_app
from ragstone.settings import Settings
from tests.fake_service import FakeService
from tests.http.conftest import QUESTION
from tests.http.effects import Case, Json, Observed, World, case, routes_below, stages, with_cases
from tests.http.test_effects_chat_core import OTHER

pytestmark = pytest.mark.slow


def texts(seen: Observed) -> Any:
    """The passages in their order."""
    if isinstance(seen.body, list):
        return [row["context"] for row in seen.body]
    return [row["content"] for row in seen.body["documents"]]


def scores(seen: Observed) -> Any:
    return [row["score"] for row in seen.body["documents"]]


RETRIEVE = with_cases(
    [
        case("query", QUESTION, OTHER, texts),
        case("top_k", 1, 10, texts),
        case("mode", "vector", "bm25", scores),
        case("tenant_id", "default", "other", texts),
        case("rerank", False, True, scores),
        case("filters", {"class": "Law"}, {"class": "Order"}, texts),
        case("collection", "default", "laws", texts),
        case("cache", False, True, stages, before=[{"cache": True}]),
    ]
)
BY_CLASS = {"metadata_filter_key": "class", "match_values": ["Law"]}
PARAGRAPHS = with_cases(
    [
        case("collection_name", "default", "laws", texts),
        case("query", QUESTION, OTHER, texts),
        case("use_paragraph", False, True, texts),
        case("metadata_filter_key", "class", "kind", texts, beside=BY_CLASS),
        case("match_values", ["Law"], ["Order"], texts, beside=BY_CLASS),
        case("top_k", 1, 10, texts),
    ]
)
ROUTES: dict[str, tuple[Json, dict[str, Case]]] = {
    "POST /api/v1/retrieval/retrieve": ({"query": QUESTION}, RETRIEVE),
    "POST /api/v1/retrieval/hybrid_search": ({"query": QUESTION}, RETRIEVE),
    "POST /api/v1/document/search_rerank": (
        {"query": QUESTION, "collection_name": "default"},
        PARAGRAPHS,
    ),
}


async def test_given_options_of_the_mode_then_each_is_another(world: World) -> None:
    modes = ["vector", "bm25", "hybrid"]
    await world.check_options(next(iter(ROUTES)), {"query": QUESTION}, "mode", modes)


def test_every_address_has_its_cases() -> None:
    spec = create_app(FakeService(), Settings(), "token").openapi()
    assert routes_below(spec, "/api/v1/retrieval/", "/api/v1/document/") == set(ROUTES)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.conforms("RAG engine v1", "Retrieval client", "Two values of any field are told apart")
async def test_given_two_values_of_a_field_then_a_difference_is_seen(
    world: World, subtests: pytest.Subtests, route: str
) -> None:
    base, cases = ROUTES[route]
    await world.check_all(subtests, route, base, cases)

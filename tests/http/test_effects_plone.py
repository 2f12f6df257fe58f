"""Every field of Plone's requests changes what is seen, or says that it does not."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from ragstone.http.app import create_app
from ragstone.plugins.plone.settings import PloneSettings
from ragstone.settings import Settings, StatisticsSettings
from tests.fake_service import FakeService
from tests.http.conftest import Server
from tests.http.effects import (
    ROOM,
    Case,
    Json,
    Observed,
    World,
    body,
    case,
    kinds,
    prompts,
    routes_below,
    status,
)
from tests.patience import PATIENCE
from tests.plone_server import TOKEN, plone_server

pytestmark = pytest.mark.slow


def state(seen: Observed) -> Any:
    """What became of an object, or what was wrong."""
    return seen.body.get("status", seen.status)


PLACE = {"path:path": "Plone"}
ASKED = {"question": "When do you open?", "sync": True}
ASK = {
    "question": case("question", "When do you open?", "How many whales came?", prompts),
    "path": case("path", "/Plone/contact", "/Plone/news", prompts),
    "sync": case("sync", False, True, kinds, beside={"question": f"When does {ROOM} open?"}),
}
INDEX = {
    "uid": case("uid", "u1", "none", state),
    "async": case("async", False, True, state),
}
POLL = {"query:job_id": case("query:job_id", "none", "", status)}


def at(fields: dict[str, Case]) -> dict[str, Case]:
    """The cases of the same address below a path, which the answer names."""
    return {**fields, "path:path": case("path:path", "Plone", "Plone/contact", body)}


ROUTES: dict[str, tuple[Json, dict[str, Case]]] = {
    "POST /@rag-ask": (ASKED, ASK),
    "POST /{path}/@rag-ask": ({**PLACE, **ASKED}, at(ASK)),
    "GET /@rag-ask": ({}, POLL),
    "GET /{path}/@rag-status": (PLACE, at({})),
    "POST /@rag-index": ({"uid": "u1", "async": False}, INDEX),
    "POST /{path}/@rag-index": ({**PLACE, "uid": "u1", "async": False}, at(INDEX)),
    "POST /{path}/@rag-index-all": (PLACE, at({})),
}


@pytest.fixture
async def site_world(with_model: Server) -> AsyncIterator[World]:
    """A server with a chat model that has indexed a site of two pages."""
    with plone_server() as site:
        site.add("u1", "/contact", text={"data": "<p>We open at nine.</p>"})
        site.add("u2", "/news", title="News", text={"data": "<p>Ten whales came.</p>"})
        plone = PloneSettings(url=site.site, token=SecretStr(TOKEN))
        await with_model.start(plone=plone, statistics=StatisticsSettings(questions=True))
        address = f"http://127.0.0.1:{await with_model.listen()}"
        headers = {"authorization": "Bearer token"}
        async with httpx2.AsyncClient(
            base_url=address, headers=headers, timeout=PATIENCE
        ) as client:
            for uid in ("u1", "u2"):
                await client.post("/Plone/@rag-index", json={"uid": uid, "async": False})
            yield World(with_model, client)


def test_every_address_has_its_cases() -> None:
    spec = create_app(FakeService(), Settings(), "token").openapi()
    # Whose answer is of another request: the transcript of a question that waits.
    besides = {"GET /{path}/@rag-ask"}
    assert routes_below(spec, "/@rag", "/{path}/@rag") == {*ROUTES, *besides}


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.conforms("Plone", "REST API", "Two values of any field are told apart")
async def test_given_two_values_of_a_field_then_a_difference_is_seen(
    site_world: World, subtests: pytest.Subtests, route: str
) -> None:
    base, cases = ROUTES[route]
    await site_world.check_all(subtests, route, base, cases)

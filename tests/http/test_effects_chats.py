"""Every field of the chats' requests changes what is seen, or says that it does not."""

from typing import Any

import pytest

from ragstone.http.app import create_app
from ragstone.settings import Settings
from tests.fake_service import FakeService
from tests.http.effects import (
    ROOM,
    Case,
    Json,
    Observed,
    World,
    body,
    case,
    prompts,
    routes_below,
    status,
    with_cases,
)

pytestmark = pytest.mark.slow

CHAT = {"path:chat_id": "mast"}
LAMP = ("lamp.md", b"# Lamp\n\nA full charge of the lamp lasts 31 days.")
WELL = ("well.md", b"# Well\n\nThe well is 40 metres deep, and holds water all year.")
UPLOAD = {"route": "POST /chat/{chat_id}/documents", **CHAT, "file:files": [LAMP, WELL]}
LAST, DEPTH = "How long does a full charge of the lamp last?", "How deep is the well?"


def names(seen: Observed) -> Any:
    """The documents that there are."""
    return [item["name"] for item in seen.body["documents"]]


def uploads(seen: Observed) -> Any:
    return [item["name"] for item in seen.body["uploaded"]]


STREAM = with_cases(
    [
        case("path:chat_id", "mast", "attic", prompts, before=[UPLOAD]),
        case("message", LAST, DEPTH, prompts, before=[UPLOAD]),
        Case(
            "session_id",
            {"message": "And the well?", "session_id": ROOM},
            {"message": "And the well?", "session_id": f"{ROOM}-other"},
            prompts,
            before=[UPLOAD, {"message": LAST, "session_id": ROOM}],
        ),
    ]
)
ROUTES: dict[str, tuple[Json, dict[str, Case]]] = {
    "POST /chat/{chat_id}/stream": ({**CHAT, "message": LAST, "session_id": ROOM}, STREAM),
    "POST /chat/{chat_id}/documents": (
        {**CHAT, "file:files": [LAMP]},
        {
            "path:chat_id": case("path:chat_id", "mast", "../up", status),
            "files": case("file:files", [LAMP], [LAMP, WELL], uploads),
            "metadata": case("metadata", "{}", "[]", status),
        },
    ),
    "GET /chat/{chat_id}/documents": (
        CHAT,
        with_cases([case("path:chat_id", "mast", "attic", names, before=[UPLOAD])]),
    ),
    "DELETE /chat/{chat_id}/documents": (
        CHAT,
        with_cases([case("path:chat_id", "mast", "attic", body, before=[UPLOAD])]),
    ),
    "DELETE /chat/{chat_id}/documents/{document_id}": (
        {**CHAT, "path:document_id": "lamp.md"},
        with_cases(
            [
                case("path:chat_id", "mast", "attic", body, before=[UPLOAD]),
                case("path:document_id", "lamp.md", "none.md", body, before=[UPLOAD]),
            ]
        ),
    ),
}


def test_every_address_has_its_cases() -> None:
    spec = create_app(FakeService(), Settings(), "token").openapi()
    assert routes_below(spec, "/chat/") == set(ROUTES)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.conforms("V5", "API Endpoints", "Two values of any field are told apart")
async def test_given_two_values_of_a_field_then_a_difference_is_seen(
    world: World, subtests: pytest.Subtests, route: str
) -> None:
    base, cases = ROUTES[route]
    await world.check_all(subtests, route, base, cases)

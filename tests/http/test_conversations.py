"""Conversations over HTTP: one's own, and no input breaks them."""

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from fastapi import Request

from ragstone.cache.local import LocalCache
from ragstone.core.caller import Caller
from ragstone.core.conversation import Forgotten, conversation_key, entry
from ragstone.core.turn import Principal
from ragstone.http.app import create_app
from ragstone.http.identity import current_caller
from ragstone.local.conversations import LocalConversations
from ragstone.plugins.evaluation.store import SqlEvaluations
from ragstone.settings import Settings
from ragstone.store.sql.conversations import SqlConversations
from ragstone.store.sql.database import Database, open_database
from ragstone.store.sql.history import SqlFeedback, SqlHistory, SqlTraces
from ragstone.store.sql.tables import turns
from tests.conformance.test_conversations import a_turn
from tests.engine.adapters import a_kit
from tests.fake_service import FakeService
from tests.in_turn import in_turn

PATH = "/api/v1/conversations"
EVA, BOB = Principal("acme", "eva"), Principal("acme", "bob")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with open_database(tmp_path / "state.sqlite") as opened:
        yield opened


@pytest.fixture
async def http(database: Database) -> AsyncIterator[Any]:
    """Clients by name and role; eva and bob have a room each."""
    conversations = SqlConversations(database)
    for who in (EVA, BOB):
        for question in ("One?", "Two?"):
            kept = entry(a_turn(question, who=who, room="r1"), 100.0)
            await conversations.append(conversation_key(who, "r1"), kept)
    adapters = a_kit(
        conversations=conversations,
        history=SqlHistory(database),
        traces=SqlTraces(database),
        feedback=SqlFeedback(database),
        evaluation=SqlEvaluations(database),
        cache=LocalCache(None, 10),
    )

    async def settled() -> None:
        """Nothing is being answered."""

    async def erase(whose: Principal, user_id: str | None) -> Forgotten:
        return Forgotten(*await conversations.forget(whose, user_id))

    service = FakeService(conversations=LocalConversations(adapters, settled, erase))
    app = create_app(service, Settings(), "secret")

    def who(request: Request) -> Caller:
        name, role = request.headers["x-who"].split()
        return Caller(Principal("acme", name), role)  # type: ignore[arg-type]

    app.dependency_overrides[current_caller] = who
    transport = httpx2.ASGITransport(app)

    def client(who: str) -> httpx2.AsyncClient:
        headers = {"x-who": who}
        return httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers)

    async with client("eva reader") as eva, client("ada admin") as admin:
        yield SimpleNamespace(eva=eva, admin=admin, service=service)


async def test_a_reader_sees_changes_and_deletes_their_own(http: Any) -> None:
    listed = (await http.eva.get(PATH)).json()
    [room] = listed["conversations"]
    assert listed["total"] == 1
    assert room == {
        "room": "r1",
        "user_id": "",
        "title": "One?",
        "turns": 2,
        "errors": 0,
        "created_at": "1970-01-01T00:01:40.000+00:00",
        "updated_at": "1970-01-01T00:01:40.000+00:00",
    }
    found = (await http.eva.get(f"{PATH}/r1", params={"limit": 1})).json()
    [turn] = found["turns"]
    assert turn["block"]["conversations"][0]["content"] == "Two?"
    assert turn["block"]["user_id"] == ""
    assert turn["notes"]["answer"]["citations"][0]["start"] == 5
    assert (await http.eva.get(f"{PATH}/r1", params={"tokens": "rag"})).json() == {"tokens": 240}
    renamed = await http.eva.patch(f"{PATH}/r1", json={"title": " New\n name"})
    assert renamed.json() == {"title": "New name"}
    file = await http.eva.get(f"{PATH}/r1", params={"export": "markdown"})
    assert file.headers["content-type"].startswith("text/markdown")
    assert file.text.startswith("# New name\n")
    assert (await http.eva.delete(f"{PATH}/r1")).json() == {"deleted": "r1"}
    assert (await http.eva.get(f"{PATH}/r1")).status_code == 404
    assert (await http.admin.get(PATH, params={"user": "bob"})).json()["total"] == 1


async def test_what_was_exported_comes_back_and_blocks_of_others_too(http: Any) -> None:
    exported = (await http.eva.get(f"{PATH}/r1", params={"export": "json"})).content
    before = (await http.eva.get(f"{PATH}/r1")).json()
    await http.eva.delete(f"{PATH}/r1")
    added = await http.eva.post(f"{PATH}/import", content=exported)
    assert added.json() == {"added": 2}
    assert (await http.eva.get(f"{PATH}/r1")).json() == before
    message = {"role": "user", "content": "Old?", "created_at": "2020-01-02T03:04:05"}
    blocks = [{"version": "v3", "room_id": "old", "user_id": "u", "conversations": [message]}]
    assert (await http.eva.post(f"{PATH}/import", json=blocks)).json() == {"added": 1}
    [turn] = (await http.eva.get(f"{PATH}/old", params={"user_id": "u"})).json()["turns"]
    assert turn["at"].startswith("2020-01-0")
    theirs = await http.eva.post(f"{PATH}/import", params={"user": "bob"}, content=exported)
    assert theirs.status_code == 403


async def test_nobody_but_an_admin_names_another_user(http: Any) -> None:
    for method, path, body in (
        ("GET", PATH, None),
        ("GET", f"{PATH}/r1", None),
        ("PATCH", f"{PATH}/r1", {"title": "x"}),
        ("DELETE", f"{PATH}/r1", None),
    ):
        response = await http.eva.request(method, path, params={"user": "bob"}, json=body)
        assert response.status_code == 403, (method, path)
    assert (await http.eva.post(f"{PATH}/forget", json={"user": "bob"})).status_code == 403
    gone = await http.admin.post(f"{PATH}/forget", json={"user": "bob"})
    assert (gone.json()["rooms"], gone.json()["turns"]) == (1, 2)
    assert (await http.eva.post(f"{PATH}/forget", json={})).json()["rooms"] == 1


@in_turn(
    ("method", "path", "content", "status"),
    [
        ("GET", f"{PATH}/{'x' * 10_000}", None, 400),
        ("GET", f"{PATH}/a%00b", None, 400),
        ("GET", f"{PATH}/a%0ab", None, 404),
        ("GET", f"{PATH}/%ed%a0%80", None, 404),
        ("GET", f"{PATH}/nowhere", None, 404),
        ("DELETE", f"{PATH}/nowhere", None, 404),
        ("GET", f"{PATH}?limit=0", None, 422),
        ("GET", f"{PATH}?limit=x", None, 422),
        ("GET", f"{PATH}?offset=-1", None, 422),
        ("GET", f"{PATH}?offset={10**30}", None, 422),
        ("GET", f"{PATH}?user_id={'x' * 1000}", None, 422),
        ("GET", f"{PATH}?user_id=%00", None, 400),
        ("GET", f"{PATH}/r1?user_id=%00", None, 400),
        ("GET", f"{PATH}/r1?export=pdf", None, 422),
        ("GET", f"{PATH}/r1?tokens=all", None, 422),
        ("PATCH", f"{PATH}/r1", b"{", 400),
        ("PATCH", f"{PATH}/r1", b"{}", 422),
        ("PATCH", f"{PATH}/r1", b'{"title": ""}', 422),
        ("PATCH", f"{PATH}/r1", b'{"title": "\\u0000"}', 400),
        ("PATCH", f"{PATH}/nowhere", b'{"title": "a"}', 404),
        ("POST", f"{PATH}/import", b"{", 422),
        ("POST", f"{PATH}/import", b"\xff", 422),
        ("POST", f"{PATH}/import", b"[]", 422),
        ("POST", f"{PATH}/import", b"5", 422),
        ("POST", f"{PATH}/import", b'[{"room_id": "n"}, {"room_id": ""}]', 422),
        ("POST", f"{PATH}/import", b'[{"room_id": "n"}, {"status": "x"}]', 422),
        ("POST", f"{PATH}/import", b'[{"at": 5, "block": {"room_id": "n"}}]', 422),
        ("POST", f"{PATH}/import", b'[{"notes": 5, "block": {"room_id": "n"}}]', 422),
        ("POST", f"{PATH}/forget", b"[]", 400),
        ("POST", f"{PATH}/forget", b'{"user": 5}', 422),
        ("POST", f"{PATH}/forget", b'{"user": "\\ud800"}', 422),
        ("POST", f"{PATH}/forget", b'{"user_id": "\\ud800"}', 422),
    ],
)
async def test_bad_input_is_answered(
    http: Any, method: str, path: str, content: bytes | None, status: int
) -> None:
    headers = {"content-type": "application/json"}
    response = await http.admin.request(method, path, content=content, headers=headers)
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert error["message"].endswith((".", "?"))
    assert (await http.admin.get(PATH, params={"user": "bob"})).json()["total"] == 1


async def test_given_a_damaged_turn_then_the_error_is_clear_and_nothing_is_lost(
    http: Any, database: Database
) -> None:
    damaged = turns.update().where(turns.c.id == 1).values(conversations='{"half": ')

    async def damage(connection: Any) -> None:
        await connection.execute(damaged)

    await database.write(damage)
    response = await http.eva.get(f"{PATH}/r1")
    assert response.status_code == 422
    assert "turn 1 of this conversation is damaged" in response.json()["error"]["message"]
    [newest] = (await http.eva.get(f"{PATH}/r1", params={"limit": 1})).json()["turns"]
    assert newest["block"]["conversations"][0]["content"] == "Two?"
    remembered = await SqlConversations(database).history(conversation_key(EVA, "r1"), "rag", (), 9)
    assert [message.text for message in remembered] == ["Two?", "Two? So [1]."]


async def test_a_room_of_the_openai_dialect(http: Any) -> None:
    for body, room, user in (
        ({"room": "r1", "user": "u"}, "r1", "u"),
        ({"conversation": "r2"}, "r2", ""),
        ({"user": "u" * 1000}, None, ""),
    ):
        messages = [{"role": "user", "content": "What?"}]
        sent = {"model": "ragstone", "messages": messages, **body}
        assert (await http.eva.post("/v1/chat/completions", json=sent)).status_code == 200
        ask = http.service.asked[-1]
        assert (ask.room, ask.user_id) == (room, user)
    for wrong in (
        {"room": "x" * 10_000},
        {"room": "a\0"},
        {"room": ""},
        {"room": 5},
        {"conversation": "a\nb"},
        {"room": "r", "user": "x" * 1000},
    ):
        sent = {"model": "ragstone", "messages": messages, **wrong}
        response = await http.eva.post("/v1/chat/completions", json=sent)
        assert response.status_code == 400, wrong
        assert response.json()["error"]["type"] == "invalid_request_error"
    half = (
        b'{"model": "ragstone", "messages": [{"role": "user", "content": "a"}], "room": "\\ud800"}'
    )
    headers = {"content-type": "application/json"}
    refused = await http.eva.post("/v1/chat/completions", content=half, headers=headers)
    assert refused.status_code == 400

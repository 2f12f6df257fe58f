"""Notes keep an answer with its evidence, for who may read its documents."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
import pytest_asyncio

from ragstone.access.asking import ASKING
from ragstone.core.caller import Caller
from ragstone.core.conversation import ConversationKey
from ragstone.core.errors import InputError, UnknownNote, UnknownRoom
from ragstone.core.turn import Principal
from ragstone.http.app import create_app
from ragstone.local import Ragstone
from ragstone.plugins.sharing import service as sharing
from ragstone.plugins.sharing.contract import NOTES, KeptAnswer
from ragstone.settings import Settings
from tests.credentials import a_key, bearer
from tests.sharing.test_shares import ADA, BOB, talk
from tests.verified.test_verified import open_house

pytestmark = pytest.mark.slow


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Ragstone]:
    async with open_house(tmp_path) as service:
        yield service


async def keep(service: Ragstone, name: str = "ops.md", comment: str = "") -> KeptAnswer:
    await talk(service, "a", name)
    newest = await service.conversations.entries(ConversationKey("default", "ada", "a"), 1)
    return await NOTES.of(service).put(ADA, "a", newest[0].block.chat_id, comment)


async def test_a_note_keeps_the_answer_with_its_evidence_without_the_conversation(
    house: Ragstone,
) -> None:
    made = await keep(house, comment="For Monday")

    await house.conversations.delete(ConversationKey("default", "ada", "a"))

    (note,) = await NOTES.of(house).list_all(ADA)
    assert note == made
    assert note.comment == "For Monday"
    assert note.turn.question == "How often is the lamp changed?"
    assert "twelve weeks" in note.turn.answer
    assert note.turn.notes.answer.citations[0].path == "/ops.md"
    assert note.turn.notes.verdicts


async def test_notes_come_newest_first_in_parts_are_changed_and_removed(house: Ragstone) -> None:
    first, second = await keep(house), await keep(house, "open.md")
    notes = NOTES.of(house)
    await notes.change(ADA, first.id, "Better")

    assert [item.id for item in await notes.list_all(ADA)] == [second.id, first.id]
    assert [item.comment for item in await notes.list_all(ADA, 1, 1)] == ["Better"]
    await notes.remove(ADA, first.id)
    assert [item.id for item in await notes.list_all(ADA)] == [second.id]


async def test_notes_are_their_users_alone(house: Ragstone) -> None:
    made = await keep(house)
    notes = NOTES.of(house)

    assert await notes.list_all(BOB) == []
    with pytest.raises(UnknownNote):
        await notes.change(BOB, made.id, "mine")
    with pytest.raises(UnknownNote):
        await notes.remove(BOB, made.id)
    with pytest.raises(UnknownRoom):
        await notes.put(BOB, "a", made.turn.block.chat_id)


async def test_a_note_is_seen_only_while_its_documents_may_be_read(house: Ragstone) -> None:
    await keep(house)
    token = ASKING.set(Caller(ADA, "reader", key="k"))
    try:
        assert len(await NOTES.of(house).list_all(ADA)) == 1
        await house.readers.give(Principal(), "default", ["group:board"], paths=["/ops.md"])
        assert await NOTES.of(house).list_all(ADA) == []
    finally:
        ASKING.reset(token)


async def test_an_unknown_answer_is_no_note_and_there_is_a_most(
    house: Ragstone, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await keep(house)
    notes = NOTES.of(house)
    with pytest.raises(UnknownNote):
        await notes.put(ADA, "a", "nothing")

    monkeypatch.setattr(sharing, "MAX_NOTES", 1)
    with pytest.raises(InputError, match="Remove some"):
        await notes.put(ADA, "a", made.turn.block.chat_id)


async def test_forgetting_a_user_erases_their_notes(house: Ragstone) -> None:
    await keep(house, comment="a secret thought")

    await house.conversations.forget(ADA)

    assert await NOTES.of(house).list_all(ADA) == []


async def test_shares_and_notes_have_addresses(house: Ragstone) -> None:
    made = await keep(house, "open.md")
    ada = bearer(await a_key(house, "reader", "default", "ada", ("hr", "ops"), None))
    bob = bearer(await a_key(house, "reader", "default", "bob", (), None))
    transport = httpx2.ASGITransport(create_app(house, Settings(), "token"))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        share = (await http.post("/api/v1/shares", json={"room": "a"}, headers=ada)).json()
        shown = await http.get(f"/api/v1/shares/{share['id']}", headers=bob)
        stranger = await http.get(f"/api/v1/shares/{share['id']}")
        others = await http.get("/api/v1/shares/none", headers=bob)
        answer = made.turn.block.chat_id
        body = {"room": "a", "answer": answer, "comment": "x" * 5_001}
        long = await http.post("/api/v1/notes", json=body, headers=ada)
        kept = await http.post("/api/v1/notes", json={**body, "comment": "x"}, headers=ada)
        notes = (await http.get("/api/v1/notes", headers=ada)).json()["notes"]

    assert shown.json()["turns"][0]["block"]["room_id"] == ""
    assert (stranger.status_code, others.status_code, long.status_code) == (401, 404, 422)
    assert kept.json()["id"] == notes[0]["id"]
    assert len(notes) == 2

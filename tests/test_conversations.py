"""Conversations in a whole Ragstone: remembered, kept when things fail, forgotten."""

import asyncio
import base64
import io
import json
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import docx
import httpx2
import pytest
from pydantic import SecretStr

from ragstone import build
from ragstone.core.conversation import ConversationKey, conversation_key
from ragstone.core.errors import StateUnavailable, UnknownRoom
from ragstone.core.events import Done, Event, Failed, Note, Token
from ragstone.core.turn import Ask, Message, Principal, Turn
from ragstone.http.app import create_app
from ragstone.local import Ragstone
from ragstone.remote import connect_service
from ragstone.service import IngestRequest
from ragstone.settings import ConversationSettings, Settings
from tests.http_server import running
from tests.mongo_server import mongo_server

pytestmark = pytest.mark.slow

TEXT = "Frank Zappa was an American musician. Frank Zappa was born in Baltimore in 1940."
HERE = conversation_key(Principal(), "r1")


@asynccontextmanager
async def opened(data: Path, **changes: Any) -> AsyncIterator[Ragstone]:
    async with build.open(Settings(ragstone_data=data / "data", **changes)) as ragstone:
        if not await ragstone.collections(Principal()):
            (data / "zappa.txt").write_text(TEXT, encoding="utf-8")
            async for progress in ragstone.ingest(IngestRequest((str(data / "zappa.txt"),))):
                assert not progress.error
        yield ragstone


async def events_of(ragstone: Ragstone, ask: Ask) -> list[Event]:
    async with aclosing(ragstone.ask(ask)) as stream:
        return [event async for event in stream]


async def asked(ragstone: Ragstone, question: str, room: str | None = "r1", **changes: Any) -> Turn:
    """The finished turn, once it is kept."""
    events = await events_of(ragstone, Ask(question, room=room, **changes))
    await ragstone._answers.aclose()
    end = events[-1]
    assert isinstance(end, Done | Failed)
    return end.turn


FOLLOW_UP = "Where was he born? Who is Frank Zappa?"
"""How a follow-up is searched without a chat model: with the question that it follows."""


@pytest.fixture
async def ragstone(tmp_path: Path) -> AsyncIterator[Ragstone]:
    async with opened(tmp_path) as one:
        yield one


async def test_given_a_follow_up_in_a_room_then_it_is_understood_also_after_a_restart(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as ragstone:
        await asked(ragstone, "Who is Frank Zappa?")
    async with opened(tmp_path) as ragstone:
        turn = await asked(ragstone, "Where was he born?")
        assert turn.question == FOLLOW_UP
        assert [message.role for message in turn.ask.history] == ["user", "assistant"]
        other = await asked(ragstone, "Where was he born?", room="r2")
        assert other.question == "Where was he born?"
        [newest, oldest] = await ragstone.conversations.entries(HERE)
    assert (oldest.question, newest.question) == ("Who is Frank Zappa?", "Where was he born?")
    citation = newest.notes.answer.citations[0]
    assert TEXT[citation.start : citation.end] == citation.snippet
    assert newest.block.result.search_decision.rewritten_query[0] == FOLLOW_UP


async def test_given_rehydration_is_off_then_only_this_process_is_remembered(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as ragstone:
        await asked(ragstone, "Who is Frank Zappa?")
    off = ConversationSettings(db_rehydration_enabled=False)
    async with opened(tmp_path, conversation=off) as ragstone:
        assert (await asked(ragstone, "Where was he born?")).ask.history == ()
        assert len((await asked(ragstone, "And when?")).ask.history) == 2
        await ragstone.settings.put("global", {"rag.top_k": 5}, "admin")
        assert len((await asked(ragstone, "And where?")).ask.history) == 4


async def test_given_a_loaded_history_then_the_cache_does_as_with_a_given_one(
    ragstone: Ragstone,
) -> None:
    question = "Where was Frank Zappa born?"
    await asked(ragstone, question, room=None)
    fresh = await asked(ragstone, question, room="new")
    assert fresh.recalled is not None
    assert fresh.recalled.content == "answer"
    given = await asked(ragstone, question, room=None, history=(Message("user", "Hm?"),))
    loaded = await asked(ragstone, question, room="new")
    for turn in (given, loaded):
        assert turn.recalled is not None
        assert turn.recalled.content == "search"
        assert turn.recalled.answer_scope == ""


async def test_given_many_questions_at_once_then_each_knows_all_before_it(
    ragstone: Ragstone,
) -> None:
    ask = [Ask(f"Who is number {n}?", room="r1") for n in range(5)]
    ends = await asyncio.gather(*(events_of(ragstone, item) for item in ask))
    known = sorted(len(end[-1].turn.ask.history) for end in ends if isinstance(end[-1], Done))
    assert known == [0, 2, 4, 6, 8]


async def test_given_a_client_that_leaves_then_what_was_said_is_kept_as_idle(
    ragstone: Ragstone,
) -> None:
    async with aclosing(ragstone.ask(Ask("Who is Frank Zappa?", room="r1"))) as events:
        async for event in events:
            if isinstance(event, Token):
                break
    await asked(ragstone, "Where was he born?")
    found = await ragstone.conversations.entries(HERE)
    assert [entry.block.status for entry in found] == ["done", "idle"]
    assert found[1].block.result.final_response


async def test_given_a_question_that_fails_then_it_is_kept_as_an_error_and_not_remembered(
    ragstone: Ragstone,
) -> None:
    await asked(ragstone, "Who is Frank Zappa?", collection="nowhere")
    [entry] = await ragstone.conversations.entries(HERE)
    assert (entry.block.status, entry.block.is_error) == ("error", True)
    assert (await asked(ragstone, "Where was he born?")).ask.history == ()
    await asked(ragstone, "  ")
    assert len(await ragstone.conversations.entries(HERE)) == 2


async def test_given_a_user_is_forgotten_then_nothing_of_them_is_left(ragstone: Ragstone) -> None:
    bob = Principal(user="bob")
    await asked(ragstone, "Who is Frank Zappa?")
    await asked(ragstone, "Who is Frank Zappa?", principal=bob)
    gone = await ragstone.conversations.forget(Principal())
    assert (gone.rooms, gone.turns, gone.days) == (1, 1, 1)
    assert gone.cached
    assert (await ragstone.conversations.rooms(Principal())).total == 0
    with pytest.raises(UnknownRoom):
        await ragstone.conversations.entries(HERE)
    assert (await ragstone.conversations.rooms(bob)).total == 1
    assert [day.questions for day in (await ragstone.report(bob, 1)).days] == [1]


async def test_an_export_has_blocks_or_can_be_read_with_its_sources(ragstone: Ragstone) -> None:
    await asked(ragstone, "Where was Frank Zappa born?")
    written = json.loads(await ragstone.conversations.export(HERE, "json"))
    assert written["title"] == "Where was Frank Zappa born?"
    assert written["blocks"][0]["block"]["version"] == "v3"
    assert written["blocks"][0]["notes"]["answer"]["citations"]
    text = await ragstone.conversations.export(HERE, "markdown")
    assert text.startswith("# Where was Frank Zappa born?\n")
    assert "Baltimore" in text
    assert "- [1] zappa (" in text
    assert "characters " in text
    word = base64.b64decode(await ragstone.conversations.export(HERE, "docx"))
    said = [item.text for item in docx.Document(io.BytesIO(word)).paragraphs]
    assert said[0] == "Where was Frank Zappa born?"
    assert any(item.startswith("[1] zappa (") for item in said)


async def test_the_same_through_a_server(ragstone: Ragstone) -> None:
    await asked(ragstone, "Where was Frank Zappa born?", room="a/b ?#%é")
    here = conversation_key(Principal(), "a/b ?#%é")
    with running(create_app(ragstone, Settings(), "token")) as url:
        remote = connect_service(url, "token")
        local = ragstone.conversations
        [found] = await remote.conversations.entries(here)
        [known] = await local.entries(here)
        assert (found.block, found.notes) == (known.block, known.notes)
        assert found.at == pytest.approx(known.at, abs=0.001)
        assert await remote.conversations.export(here, "json") == await local.export(here, "json")
        assert await remote.conversations.tokens(here, "rag") == await local.tokens(here, "rag")
        assert await remote.conversations.rename(here, " New\n name ") == "New name"
        rooms = await remote.conversations.rooms(Principal())
        assert (rooms.rooms[0].room, rooms.rooms[0].title) == ("a/b ?#%é", "New name")
        text = await local.export(here, "json")
        assert await remote.conversations.take_in(Principal(user="bob"), text) == 1
        assert (await local.rooms(Principal(user="bob"))).rooms[0].room == "a/b ?#%é"
        with pytest.raises(UnknownRoom):
            await remote.conversations.delete(ConversationKey("default", "local", "other"))
        await remote.conversations.delete(here)
        assert (await remote.conversations.forget(Principal())).rooms == 0
        assert (await remote.conversations.rooms(Principal())).total == 0
        await remote.aclose()


async def test_given_mongodb_goes_and_comes_back_then_questions_are_answered_throughout(
    tmp_path: Path,
) -> None:
    (tmp_path / "mongo").mkdir()
    with mongo_server(tmp_path / "mongo") as server:
        kept = ConversationSettings(url=SecretStr(f"mongodb://127.0.0.1:{server.port}"))
        async with opened(tmp_path, conversation=kept) as ragstone:
            await asked(ragstone, "Who is Frank Zappa?")
            assert (await ragstone.ready())["conversations"] == "ok"
            server.kill()
            started = time.monotonic()
            ask = Ask("Where was Frank Zappa born?", room="r1")
            events = await events_of(ragstone, ask)
            assert isinstance(events[-1], Done)
            assert time.monotonic() - started < 25  # The driver by itself would try for 30 s.
            assert any(isinstance(e, Note) and "cannot be read" in e.text for e in events)
            answer = events[-1].turn.answer
            assert answer is not None
            assert "Baltimore" in answer.text
            with pytest.raises(StateUnavailable, match="MongoDB does not answer"):
                await ragstone.conversations.rooms(Principal())
            transport = httpx2.ASGITransport(create_app(ragstone, Settings(), "token"))
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
                refused = await http.get("/api/v1/conversations")
                unready = await http.get("/ready")
            assert (refused.status_code, refused.json()["error"]["retry"]) == (503, True)
            assert unready.status_code == 503
            said = unready.json()["checks"]
            assert "MongoDB does not answer" in said.pop("conversations")
            assert said["state"] == said["index"] == "ok"
            await ragstone._answers.aclose()
            server.start()
            await asyncio.sleep(2.1)
            turn = await asked(ragstone, "Where was he born?")
            assert turn.question == FOLLOW_UP
            assert (await ragstone.conversations.rooms(Principal())).rooms[0].turns == 2
            assert (await ragstone.report(Principal(), 1)).days[0].questions == 2

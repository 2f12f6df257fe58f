"""Every store of conversations and statistics does the same."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import SecretStr
from pymongo import AsyncMongoClient

from ragstone.core.answer import Citation, Finish, GeneratedAnswer, Sufficiency, Usage, Verdict
from ragstone.core.conversation import (
    ConversationKey,
    StoredTurn,
    TurnMessage,
    conversation_key,
    dump_turn,
    entry,
    load_turn,
)
from ragstone.core.errors import ConfigError
from ragstone.core.readers import Provenance
from ragstone.core.records import Report, StrategyUse
from ragstone.core.turn import (
    Ask,
    Message,
    Plan,
    Principal,
    RankedList,
    SearchType,
    StageTrace,
    Turn,
)
from ragstone.engine.room_queue import RoomQueue
from ragstone.plugins.mongodb.connection import make_storable as bson_values
from ragstone.ports import ConversationStore, History, Lease
from ragstone.settings import ConversationSettings, Settings, load
from ragstone.store.connect import conversation_url, open_conversations
from ragstone.store.sql.database import Database, open_database
from tests.mongo_server import MongoServer, mongo_server

EVA = Principal("acme", "eva")
CITED = Citation(1, "d1", "c1", "Title", "/a", 2, ("Intro",), 5, 9, "text \ud83d", 0.5, 0.4, 0.3)
NAMES = itertools.count()


@dataclass
class Store:
    """The two ports of one store."""

    conversations: ConversationStore
    history: History


@pytest.fixture(scope="module")
def mongo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MongoServer]:
    with mongo_server(tmp_path_factory.mktemp("mongo")) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql", "mongodb"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """An empty store."""
    name = f"test{next(NAMES)}"
    changed: dict[str, Any] = {"ragstone_data": tmp_path, "statistic_db": f"{name}_statistics"}
    if request.param == "mongodb":
        url = request.getfixturevalue("mongo").url
        changed["conversation"] = {"url": f"{url.rstrip('/')}/{name}"}
    async with AsyncExitStack() as stack:
        if request.param == "postgresql":
            open_ = request.getfixturevalue("postgres_databases").open(tmp_path)
        else:
            open_ = open_database(tmp_path / "state.sqlite")
        database = await stack.enter_async_context(open_)
        opened = open_conversations(Settings(**changed), database)
        yield Store(*await stack.enter_async_context(opened))


def a_turn(
    question: str = "Why?",
    room: str = "r1",
    who: Principal = EVA,
    finish: Finish = "stop",
    cost: float | None = 0.25,
    **asked: Any,
) -> Turn:
    answer = GeneratedAnswer(
        f"{question} So [1].", (CITED,), finish, "small", 0.75, (1,), ("More?",), True, 1.0,
        sufficiency=Sufficiency(True, 0.9, False, ("when",)),
    )  # fmt: skip
    return Turn(
        Ask(question, who, room=room, id=f"chat-{next(NAMES)}", **asked),
        question,
        queries=(question, f"{question} else"),
        answer=answer,
        verdicts=(Verdict("So [1].", "supported", 0.9, CITED),),
        usage=Usage(100, 20, 1, cost),
        trace=(StageTrace("retrieve", 0.1, "done", "3 dense"),),
    )


def at(room: str = "r1", who: Principal = EVA, user_id: str = "") -> ConversationKey:
    return conversation_key(who, room, user_id)


async def say(store: Store, *turns: Turn, now: float | None = None) -> None:
    for turn in turns:
        here = conversation_key(turn.ask.principal, turn.ask.room or "", turn.ask.user_id)
        await store.conversations.append(here, entry(turn, time.time() if now is None else now))


async def says(
    store: Store, origin: Provenance | None, room: str = "r1", who: Principal = EVA
) -> None:
    """A turn of this origin, whose question is the origin's text."""
    turn = a_turn(origin.text if origin else "unknown", room)
    kept = replace(entry(turn, time.time()), origin=origin)
    await store.conversations.append(at(room), kept)


async def heard(
    store: Store,
    here: ConversationKey | None = None,
    search_type: SearchType = "rag",
    classes: tuple[str, ...] = (),
    most: int = 10,
    since: float = 0.0,
) -> list[str]:
    """The questions that a model would be shown."""
    found = await store.conversations.history(here or at(), search_type, classes, most, since)
    return [message.text for message in found if message.role == "user"]


async def test_given_a_turn_then_all_of_it_comes_back(store: Store) -> None:
    turn = a_turn("Why \ud83d?", classes=("Law", "A"))
    kept = entry(turn, 1000.5)
    await store.conversations.append(at(), kept)
    [found] = await store.conversations.entries(at(), 10)
    assert found.at == 1000.5
    assert found.notes.verdicts[0].citation is not None
    assert found.notes.answer.citations[0].section == ("Intro",)
    assert (found.notes.answer.citations[0].start, found.notes.answer.citations[0].end) == (5, 9)
    assert found.notes.answer.sufficiency == Sufficiency(True, 0.9, False, ("when",))
    assert found.notes.usage == Usage(100, 20, 1, 0.25)
    assert found.notes.trace == turn.trace
    assert found.block.block_classes == ("Law", "A")
    assert found.block.chat_id == turn.ask.id
    assert found.block.result.usage.total_tokens == 120
    assert found.block.result.search_decision.rewritten_query[1].endswith("else")
    assert found.block.result.references[0]["document_id"] == "d1"
    assert [message.role for message in found.block.conversations] == ["user", "assistant"]
    assert found.block.conversations[1].created_at == "1970-01-01T00:16:40.500+00:00"


async def test_given_turns_then_the_last_ones_are_history_in_order(store: Store) -> None:
    await say(store, *(a_turn(f"{n}?") for n in range(5)))
    found = await store.conversations.history(at(), "rag", (), 2)
    assert found == [
        Message("user", "3?"),
        Message("assistant", "3? So [1]."),
        Message("user", "4?"),
        Message("assistant", "4? So [1]."),
    ]
    assert await heard(store, at("nowhere")) == []


@pytest.mark.conforms("chat-core", "8.1", "History: no errors, same type, user and filter values")
@pytest.mark.conforms("chat-core", "14.2", "History of the user and the room alone")
async def test_history_leaves_out_errors_other_types_users_and_classes(store: Store) -> None:
    await say(
        store,
        a_turn("plain"),
        a_turn("law", classes=("Law", "Tax")),
        a_turn("tax", classes=("Tax",)),
        a_turn("failed", finish="error"),
        a_turn("cut", finish="cancelled"),
        a_turn("gpt", search_type="gpt"),
        a_turn("account", user_id="u1"),
    )
    assert await heard(store) == ["plain", "law", "tax", "cut"]
    assert await heard(store, classes=("Law",)) == ["law"]
    assert await heard(store, classes=("Tax", "None")) == ["law", "tax"]
    assert await heard(store, classes=("None", "\ud83d\0")) == []
    assert await heard(store, search_type="gpt") == ["gpt"]
    assert await heard(store, search_type="pa") == []
    assert await heard(store, at(user_id="u1")) == ["account"]


async def test_history_can_begin_at_a_time(store: Store) -> None:
    await say(store, a_turn("early"), now=100.0)
    await say(store, a_turn("late"), now=200.0)
    assert await heard(store, since=150.0) == ["late"]


@pytest.mark.parametrize("other", [Principal("acme", "bob"), Principal("bolt", "eva")])
async def test_nobody_else_sees_a_room(store: Store, other: Principal) -> None:
    await say(store, a_turn("eva's"))
    conversations = store.conversations
    assert await heard(store, at(who=other)) == []
    assert await conversations.entries(at(who=other), 10) == []
    assert await conversations.room(at(who=other)) is None
    assert (await conversations.rooms(other, None, 10)).total == 0
    assert await conversations.tokens(at(who=other), "rag") == 0
    assert not await conversations.rename(at(who=other), "mine")
    assert not await conversations.delete(at(who=other))
    assert await conversations.forget(other, None) == (0, 0)
    assert await heard(store) == ["eva's"]


def working(turn: Turn) -> StoredTurn:
    """The turn while its tools are called."""
    kept = entry(replace(turn, answer=GeneratedAnswer(finish="cancelled")), 1.0)
    called = TurnMessage("assistant", "", ({"id": "c1", "function": {"a.b": 2**70}},))
    result = TurnMessage("tool", "found", (), "c1", "search", "2026-01-01T00:00:00+00:00")
    said = (*kept.block.conversations, called, result)
    block = replace(kept.block, status="idle", is_tool_block=True, conversations=said)
    return replace(kept, block=replace(block, is_error=False))


@pytest.mark.conforms("chat-core", "8.2", "Tool messages are removed, the answer stays")
async def test_given_a_turn_with_tools_when_it_is_over_then_only_the_answer_stays(
    store: Store,
) -> None:
    turn = a_turn("Look it up")
    await store.conversations.append(at(), working(turn))
    [unfinished] = await store.conversations.entries(at(), 10)
    assert [m.role for m in unfinished.block.conversations] == ["user", "assistant", "tool"]
    assert unfinished.block.conversations[2].tool_call_id == "c1"
    tools = (TurnMessage("assistant", "", ({"id": "c1"},)), TurnMessage("tool", "found"))
    await store.conversations.append(at(), entry(turn, 2.0, tools))
    [found] = await store.conversations.entries(at(), 10)
    assert found.block.is_tool_block
    assert [(m.role, m.content) for m in found.block.conversations] == [
        ("user", "Look it up"),
        ("assistant", "Look it up So [1]."),
    ]
    room = await store.conversations.room(at())
    assert room is not None
    assert room.turns == 1


async def test_given_an_unfinished_turn_of_a_dead_process_then_the_next_one_prunes_it(
    store: Store,
) -> None:
    await store.conversations.append(at(), working(a_turn("Died?")))
    await say(store, a_turn("Next?"))
    newest, oldest = await store.conversations.entries(at(), 10)
    assert newest.question == "Next?"
    assert [m.role for m in oldest.block.conversations] == ["user"]


async def test_rooms_are_listed_the_newest_first_by_pages(store: Store) -> None:
    for n in range(5):
        await say(store, a_turn(f"What  is\n{n}?", room=f"room {n}"), now=100.0 + n)
    await say(store, a_turn("Again?", room="room 1", finish="error"), now=200.0)
    await say(store, a_turn("Other?", room="room 1", user_id="u1"), now=300.0)
    page = await store.conversations.rooms(EVA, None, 3)
    assert [(r.room, r.user_id) for r in page.rooms] == [
        ("room 1", "u1"),
        ("room 1", ""),
        ("room 4", ""),
    ]
    assert page.total == 6
    again = page.rooms[1]
    assert (again.title, again.turns, again.errors) == ("What is 1?", 2, 1)
    assert (again.created_at, again.updated_at) == (101.0, 200.0)
    rest = await store.conversations.rooms(EVA, None, 10, 5)
    assert [r.room for r in rest.rooms] == ["room 0"]
    mine = await store.conversations.rooms(EVA, "u1", 10)
    assert (len(mine.rooms), mine.total) == (1, 1)


async def test_a_room_is_renamed_and_deleted(store: Store) -> None:
    await say(store, a_turn("One?"), a_turn("Two?", room="r2"))
    assert await store.conversations.rename(at(), "New $name.")
    assert await store.conversations.delete(at("r2"))
    assert not await store.conversations.delete(at("r2"))
    [room] = (await store.conversations.rooms(EVA, None, 10)).rooms
    assert (room.room, room.title) == ("r1", "New $name.")
    assert await store.conversations.entries(at("r2"), 10) == []
    await say(store, a_turn("Three?", room="r2"))
    assert await heard(store, at("r2")) == ["Three?"]


async def test_a_turn_is_removed_and_its_room_with_the_last(store: Store) -> None:
    turns = [a_turn("One?"), a_turn("Two?", finish="error")]
    await say(store, *turns)
    first, second = (turn.ask.id for turn in turns)

    assert not await store.conversations.remove(at(who=Principal("acme", "bob")), first)
    assert not await store.conversations.remove(at(), "none")
    assert await store.conversations.remove(at(), second)

    room = await store.conversations.room(at())
    assert room is not None
    assert (room.turns, room.errors) == (1, 0)
    assert [item.block.chat_id for item in await store.conversations.entries(at(), 9)] == [first]
    assert await store.conversations.remove(at(), first)
    assert await store.conversations.room(at()) is None


async def test_entries_come_by_pages(store: Store) -> None:
    await say(store, *(a_turn(f"{n}?") for n in range(5)))
    pages = [await store.conversations.entries(at(), 2, offset) for offset in (0, 2, 4, 6)]
    assert [[e.question for e in page] for page in pages] == [
        ["4?", "3?"],
        ["2?", "1?"],
        ["0?"],
        [],
    ]


@pytest.mark.conforms("chat-core", "9.1", "Tokens add up by room and type")
async def test_tokens_are_those_of_the_room_and_search_type(store: Store) -> None:
    await say(
        store,
        a_turn(),
        a_turn(finish="error"),
        a_turn(search_type="gpt"),
        a_turn(room="r2"),
        a_turn(user_id="u1"),
    )
    tokens = store.conversations.tokens
    assert await tokens(at(), "rag") == 240
    assert await tokens(at(), "gpt") == 120
    assert await tokens(at(user_id="u1"), "rag") == 120
    assert await tokens(at(), "pa") == 0


async def test_a_user_is_forgotten_whole_or_by_account(store: Store) -> None:
    turns = [
        a_turn("1"),
        a_turn("2", room="r2"),
        a_turn("3", user_id="u1"),
        a_turn("4", who=Principal("acme", "bob")),
    ]
    await say(store, *turns)
    for turn in turns:
        await store.history.save(turn)
    assert await store.conversations.forget(EVA, "u1") == (1, 1)
    assert await store.history.forget(EVA, "u1") == 1
    assert await heard(store) == ["1"]
    assert await store.conversations.forget(EVA, None) == (2, 2)
    assert await store.history.forget(EVA, None) == 1
    assert (await store.conversations.rooms(EVA, None, 10)).total == 0
    assert await heard(store, at(who=Principal("acme", "bob"))) == ["4"]
    [day] = (await store.history.report("acme", 1)).days
    assert day.questions == 1


async def test_strange_names_are_kept_apart(store: Store) -> None:
    names = ["a.b", "$a", "a/b", "日本 😀", "x" * 255, "'; DROP TABLE rooms; --", "a", "A"]
    for name in names:
        await say(store, a_turn(f"In {name}?", room=name, user_id=name))
    for name in names:
        assert await heard(store, at(name, user_id=name)) == [f"In {name}?"]
    assert (await store.conversations.rooms(EVA, None, 100)).total == len(names)


async def test_many_turns_at_once_are_all_kept(store: Store) -> None:
    await asyncio.gather(*(say(store, a_turn(f"{n}")) for n in range(20)))
    assert sorted(map(int, await heard(store, most=50))) == list(range(20))
    room = await store.conversations.room(at())
    assert room is not None
    assert room.turns == 20


async def test_a_lease_has_one_holder_until_it_is_released_or_stands_still(store: Store) -> None:
    take, conversations = store.conversations.take, store.conversations
    assert await take(at(), "one", None) == Lease("one", 0)
    assert await take(at(), "two", None) == Lease("one", 0)
    assert await take(at("r2"), "two", None) == Lease("two", 0)
    await conversations.beat(at(), "one")
    await conversations.beat(at(), "two")
    assert await take(at(), "two", Lease("one", 0)) == Lease("one", 1)
    assert (await take(at(), "two", Lease("one", 1))).holder == "two"
    await conversations.release(at(), "one")
    assert (await take(at(), "three", None)).holder == "two"
    await conversations.release(at(), "two")
    assert await take(at(), "three", None) == Lease("three", 0)


async def test_of_many_who_take_a_lease_at_once_one_gets_it(store: Store) -> None:
    found = await asyncio.gather(
        *(store.conversations.take(at(), f"h{n}", None) for n in range(20))
    )
    assert len({lease.holder for lease in found}) == 1


@pytest.mark.conforms("chat-core", "9.2", "Statistics by the user_id that requests name")
async def test_statistics_by_account_are_of_the_users_that_requests_name(store: Store) -> None:
    for account in ("eva", "bob", "eva"):
        turn = a_turn()
        await store.history.save(replace(turn, ask=replace(turn.ask, user_id=account)))
    found = await store.history.use("acme", 1, "user_id")
    assert [(item.name, item.questions) for item in found] == [("bob", 1), ("eva", 2)]


@pytest.mark.conforms("chat-core", "9.2", "Statistics by day, user, room and model")
async def test_statistics_add_up_by_day_and_strategy_of_one_tenant(store: Store) -> None:
    found = (RankedList("bm25", "Why?", ()),)
    searched = replace(a_turn(), plan=Plan(strategy="bm25"), lists=found)
    unrated = replace(searched, answer=None, trace=(StageTrace("retrieve", 0.3, "done"),))
    others = (a_turn(finish="refused", cost=None), a_turn(finish="blocked", search_type="gpt"))
    await asyncio.gather(*(store.history.save(t) for t in (searched, unrated, *others)))
    await store.history.save(a_turn(who=Principal("bolt", "eva")))
    report = await store.history.report("acme", 1)
    [day] = report.days
    assert (day.day, day.questions) == (str(datetime.now(UTC).date()), 4)
    assert (day.refused, day.blocked) == (1, 1)
    assert (day.prompt_tokens, day.completion_tokens, day.cost) == (400, 80, 0.75)
    [user] = await store.history.use("acme", 1, "user")
    assert (user.name, user.questions, user.prompt_tokens, user.cost) == ("eva", 4, 400, 0.75)
    assert [item.questions for item in await store.history.use("acme", 1, "room")] == [4]
    assert await store.history.use("acme", 1, "day", user="bob") == []
    assert sum(item.questions for item in await store.history.use("acme", 1, "model")) == 4
    assert report.strategies == (StrategyUse("bm25", 2, pytest.approx(0.2), 0.75),)
    assert await store.history.report("nobody", 30) == Report((), ())


@pytest.mark.conforms("chat-core", "5.2", "conversationBlock version v3, every field")
async def test_blocks_have_the_fields_of_the_document(store: Store) -> None:
    await say(store, a_turn())
    [found] = await store.conversations.entries(at(), 1)
    dumped = dump_turn(found.block)
    assert list(dumped) == [
        "version",
        "status",
        "block_classes",
        "search_type",
        "conversations",
        "room_id",
        "chat_id",
        "user_id",
        "is_tool_block",
        "is_error",
        "result",
    ]
    assert load_turn(dumped) == found.block


async def test_two_servers_on_one_store_let_one_turn_of_a_room_at_a_time(store: Store) -> None:
    one = RoomQueue(store.conversations)
    other = RoomQueue(store.conversations) if store.conversations.shared else one
    inside, most = 0, 0

    async def turn(queue: RoomQueue) -> None:
        nonlocal inside, most
        async with queue.turn(at()):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.01)
            inside -= 1

    await asyncio.gather(*(turn(queue) for queue in (one, other, one, other)))
    assert most == 1


@pytest.mark.conforms("chat-core", "9.2", "MongoDB: the collection and the shape printed")
async def test_documents_in_mongodb_have_the_shapes_of_the_document(mongo: MongoServer) -> None:
    kept = ConversationSettings(url=SecretStr(f"{mongo.url.rstrip('/')}/shapes"))
    settings = Settings(conversation=kept, statistic_db="shapes_statistics")
    turn = a_turn(user_id="user_456", room="room_123")
    async with open_conversations(settings, cast(Database, None)) as (conversations, history):
        await say(Store(conversations, history), turn)
        await history.save(turn)
        await history.save(turn)
    async with AsyncMongoClient(mongo.url) as client:
        [block] = await client["shapes"]["blocks"].find({}).to_list()
        [sums] = await client["shapes_statistics"]["rag"].find({}).to_list()
    wanted = dump_turn(entry(turn, 0.0).block)
    assert {name: type(block[name]) for name in wanted} == {n: type(v) for n, v in wanted.items()}
    assert block["result"] == bson_values(wanted["result"])
    assert {name: sums[name] for name in ("user_id", "room_id", "date", "model", "usage")} == {
        "user_id": "user_456",
        "room_id": "room_123",
        "date": str(datetime.now(UTC).date()),
        "model": "rag",
        "usage": {
            "prompt_tokens": 200,
            "completion_tokens": 40,
            "total_tokens": 240,
            "type": "usage",
        },
    }


@pytest.mark.parametrize("url", ["redis://127.0.0.1", "mongodb://", "mongodb://a:b:c", "x"])
async def test_an_address_of_no_mongodb_is_refused(url: str) -> None:
    settings = Settings(conversation=ConversationSettings(url=SecretStr(url)))
    with pytest.raises(ConfigError):
        async with open_conversations(settings, cast(Database, None)):
            pass


@pytest.mark.conforms("chat-core", "10.1", "DB__HOST and DB__PORT")
def test_the_names_of_the_document_choose_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    assert conversation_url(load()) == ""
    monkeypatch.setenv("DB__HOST", "10.30.1.196")
    assert conversation_url(load()) == "mongodb://10.30.1.196:27017"
    monkeypatch.setenv("DB__PORT", "27018")
    assert conversation_url(load()) == "mongodb://10.30.1.196:27018"
    monkeypatch.setenv("CONVERSATION__URL", "mongodb://other")
    assert conversation_url(load()) == "mongodb://other"


LAW, PAY = Provenance(("c1",)), Provenance(("c1", "c2"), (("group:hr", "group:ops"),))


async def test_turns_keep_what_they_were_answered_from(store: Store) -> None:
    for origin in (LAW, PAY, None):
        await says(store, origin)
    found = await store.conversations.entries(at(), 10)
    assert [item.origin for item in found] == [None, PAY, LAW]
    known = await store.conversations.origins(EVA, "", "r1")
    assert sorted(known) == sorted(["", LAW.text, PAY.text])
    assert await store.conversations.origins(EVA, "other") == []
    assert await store.conversations.origins(Principal("acme", "otto")) == []


async def test_only_what_was_answered_from_these_origins_is_remembered(store: Store) -> None:
    for origin in (LAW, PAY, None, LAW):
        await says(store, origin)

    async def remembered(origins: list[str] | None, most: int = 10) -> list[str]:
        found = await store.conversations.history(at(), "rag", (), most, origins=origins)
        return [message.text for message in found if message.role == "user"]

    assert len(await remembered(None)) == 4
    assert await remembered([LAW.text], 2) == [LAW.text, LAW.text]
    assert await remembered(["", PAY.text]) == [PAY.text, "unknown"]
    assert await remembered([]) == []


async def test_only_rooms_of_these_origins_alone_are_listed(store: Store) -> None:
    await says(store, LAW, "law")
    await says(store, PAY, "pay")
    await says(store, LAW, "both")
    await says(store, PAY, "both")
    await says(store, None, "old")

    async def listed(origins: list[str] | None) -> tuple[set[str], int]:
        page = await store.conversations.rooms(EVA, None, 10, origins=origins)
        return {room.room for room in page.rooms}, page.total

    assert await listed(None) == ({"law", "pay", "both", "old"}, 4)
    assert await listed([LAW.text]) == ({"law"}, 1)
    assert await listed([LAW.text, PAY.text]) == ({"law", "pay", "both"}, 3)
    assert await listed(["", PAY.text]) == ({"pay", "old"}, 2)
    assert await listed([]) == (set(), 0)


@pytest.mark.conforms("Query pipeline", "Step 8", "One session across modes")
async def test_given_no_search_type_then_history_is_that_of_all(store: Store) -> None:
    await say(store, a_turn("documents"), a_turn("general", search_type="gpt"))
    found = await store.conversations.history(at(), None, (), 10)
    assert [item.text for item in found if item.role == "user"] == ["documents", "general"]

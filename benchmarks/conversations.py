"""Conversations: what it costs to remember one among many, and to sum a year of statistics."""

import asyncio
import random
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from sqlalchemy.ext.asyncio import AsyncConnection

from benchmarks.row import Row
from ragstone.core.answer import Citation, GeneratedAnswer, Usage, Verdict
from ragstone.core.conversation import ConversationKey, StoredTurn, entry
from ragstone.core.turn import Ask, Principal, StageTrace, Turn
from ragstone.plugins.evaluation.measures import percentile
from ragstone.ports import ConversationStore, History
from ragstone.settings import ConversationSettings, Settings
from ragstone.store.connect import open_conversations
from ragstone.store.sql.database import Database, open_database
from ragstone.store.sql.entry_codec import to_row
from ragstone.store.sql.tables import rooms, statistics, turns
from tests.mongo_server import mongo_server

TURNS, ROOMS, USERS = 10_000, 100_000, 100
MONGO_TURNS = 1_000
ROOMS_A_DAY = 100
ASKED, MEMORY = 300, 15
WHO = Principal(user="user 0")
LONG = ConversationKey("default", "user 0", "long")
CITED = Citation(1, "d1", "c1", "Title", "/a.md", 2, ("Intro",), 5, 9, "text " * 40, 0.5)


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as directory:
        yield from asyncio.run(_embedded(Path(directory)))
    with tempfile.TemporaryDirectory() as directory:
        yield from asyncio.run(_mongo(Path(directory)))


async def _embedded(data: Path) -> list[Row]:
    async with _open_store(Settings(ragstone_data=data), data) as (
        conversations,
        history,
        database,
    ):
        await database.write(_fill)
        pick = random.Random(7)

        async def long() -> None:
            assert len(await conversations.history(LONG, "rag", (), MEMORY)) == 2 * MEMORY

        async def any_room() -> None:
            user, room = pick.randrange(USERS), pick.randrange(ROOMS // USERS)
            here = ConversationKey("default", f"user {user}", f"room {room}")
            assert len(await conversations.history(here, "rag", (), MEMORY)) == 2

        async def filtered() -> None:
            assert not await conversations.history(LONG, "rag", ("Law",), MEMORY)

        async def listed() -> None:
            assert (await conversations.rooms(WHO, None, 50)).total > 1

        async def kept() -> None:
            await conversations.append(LONG, _entry("Why?"))

        async def year() -> None:
            assert len((await history.report("default", 365)).days) == 365

        many = f"{TURNS:,} turns and {ROOMS:,} rooms"
        return [
            Row(f"Conversations: history of 15 turns among {many}, p95", await _p95(long), "ms",
                most=10),
            Row("Conversations: the same of any room, p95", await _p95(any_room), "ms", most=10),
            Row("Conversations: the same where no turn has the class asked for, p95",
                await _p95(filtered, 50), "ms", detail=True),
            Row("Conversations: a page of a user's rooms, p95", await _p95(listed, 50), "ms",
                detail=True),
            Row("Conversations: keeping a turn, p95", await _p95(kept, 100), "ms", detail=True),
            Row(f"Conversations: statistics of a year, {ROOMS_A_DAY} rooms a day, p95",
                await _p95(year, 30), "ms", most=100),
        ]  # fmt: skip


async def _mongo(data: Path) -> list[Row]:
    with mongo_server(data) as server:
        kept_there = ConversationSettings(url=SecretStr(server.url))
        settings = Settings(ragstone_data=data, conversation=kept_there)
        async with _open_store(settings, data) as (conversations, _, _):
            for number in range(MONGO_TURNS):
                await conversations.append(LONG, _entry(f"{number}?"))

            async def long() -> None:
                assert len(await conversations.history(LONG, "rag", (), MEMORY)) == 2 * MEMORY

            what = f"history of 15 of {MONGO_TURNS:,} turns on the MongoDB server of the tests, p95"
            return [Row(f"Conversations: {what}", await _p95(long, 100), "ms", detail=True)]


@asynccontextmanager
async def _open_store(
    settings: Settings, data: Path
) -> AsyncIterator[tuple[ConversationStore, History, Database]]:
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(open_database(data / "state.sqlite"))
        opened = await stack.enter_async_context(open_conversations(settings, database))
        yield (*opened, database)


async def _p95(work: Callable[[], Awaitable[None]], times: int = ASKED) -> float:
    await work()
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        await work()
        taken.append(1000 * (time.perf_counter() - started))
    return percentile(taken, 95)


def _entry(question: str) -> StoredTurn:
    """Return a turn as large as one with five sources is."""
    cited = tuple(replace(CITED, number=n) for n in range(1, 6))
    answer = GeneratedAnswer("An answer [1] of some length. " * 20, cited, "stop", "model", 0.8)
    verdicts = tuple(Verdict("An answer [1].", "supported", 0.9, item) for item in cited)
    trace = tuple(StageTrace(f"stage {n}", 0.01, "done", "decided", "a reason") for n in range(17))
    turn = Turn(Ask(question, WHO, room="r", id=question), question, answer=answer)
    turn = replace(turn, verdicts=verdicts, trace=trace, usage=Usage(900, 100, 1, 0.001))
    return entry(turn, time.time())


async def _fill(connection: AsyncConnection) -> None:
    """Everything in one transaction; as single turns it would take half an hour."""
    row = to_row(_entry("Why is that so?"))
    places = [
        {"tenant": "default", "user": f"user {user}", "user_id": "", "room": f"room {room}"}
        for user in range(USERS)
        for room in range(ROOMS // USERS)
    ]
    long = {"tenant": "default", "user": "user 0", "user_id": "", "room": LONG.room}
    about = {"title": "Why?", "turns": 1, "errors": 0, "created_at": 1.0}
    for place in (places[at : at + 10_000] for at in range(0, ROOMS, 10_000)):
        made = [{**item, **about, "updated_at": random.random()} for item in place]
        await connection.execute(rooms.insert(), made)
        await connection.execute(turns.insert(), [{**item, **row} for item in place])
    await connection.execute(rooms.insert(), [{**long, **about, "updated_at": 2.0}])
    for _ in range(TURNS // 1000):
        await connection.execute(turns.insert(), [{**long, **row}] * 1000)
    await connection.execute(statistics.insert(), list(_year()))


def _year() -> Iterator[dict[str, Any]]:
    today = datetime.now(UTC).date()
    sums = {"questions": 5, "refused": 1, "prompt_tokens": 900, "completion_tokens": 90}
    for day in range(365):
        for room in range(ROOMS_A_DAY):
            place = {"tenant": "default", "user": f"user {room % USERS}", "room": f"room {room}"}
            date = today - timedelta(days=day)
            yield {"day": date, **place, "model": "model", **sums, "cost": 0.1}

"""Conversations and statistics: what was asked, what was answered, what it cost."""

import time
from dataclasses import asdict

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.answer import Answer
from ragstone.records import Report
from ragstone.state.database import Database
from ragstone.state.rows import insert
from ragstone.state.statistics import count, report
from ragstone.state.tables import blocks, conversations
from ragstone.turn import Ask, Message, Principal, Turn


class SqlHistory:
    """`ports.History` on the state store. Methods raise StorageFull and StateUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, turn: Turn) -> None:
        """Count the turn, and keep question and answer if the question names a room.

        A turn without an answer is only counted. Saving a turn twice counts it twice.
        """
        now = time.time()

        async def work(connection: AsyncConnection) -> None:
            if turn.ask.room and turn.answer is not None:
                await _keep(connection, turn, turn.ask.room, turn.answer, now)
            await count(connection, turn, now)

        await self._database.write(work, alone=False)

    async def report(self, tenant: str, days: int) -> Report:
        """`ports.History`."""
        async with self._database.reading() as connection:
            return await report(connection, tenant, days, time.time())

    async def load(self, principal: Principal, room: str, limit: int = 20) -> list[Message]:
        """The last `limit` messages of the principal's own room, oldest first."""
        theirs = select(blocks.c.question, blocks.c.answer).where(
            blocks.c.tenant == principal.tenant,
            blocks.c.user == principal.user,
            blocks.c.room == room,
        )
        newest = theirs.order_by(blocks.c.id.desc()).limit((limit + 1) // 2)
        async with self._database.reading() as connection:
            rows = (await connection.execute(newest)).all()
        messages: list[Message] = []
        for question, answer in reversed(rows):
            messages += [Message("user", question), Message("assistant", answer)]
        return messages[-limit:] if limit > 0 else []


def _place(ask: Ask) -> dict[str, str]:
    return {"tenant": ask.principal.tenant, "user": ask.principal.user, "room": ask.room or ""}


async def _keep(
    connection: AsyncConnection, turn: Turn, room: str, answer: Answer, now: float
) -> None:
    """Add the turn to its conversation, which begins with its first turn."""
    ask, place = turn.ask, _place(turn.ask)
    conversation = insert(connection, conversations).values(**place, created_at=now, updated_at=now)
    await connection.execute(
        conversation.on_conflict_do_update(
            index_elements=list(place), set_={"updated_at": conversation.excluded.updated_at}
        )
    )
    block = {
        **place,
        "ask_id": ask.id,
        "collection": ask.collection,
        "level": ask.level,
        "question": ask.question,
        "answer": answer.text,
        "finish": answer.finish,
        "model": answer.model,
        "confidence": answer.confidence,
        "citations": [asdict(citation) for citation in answer.citations],
        "verdicts": [asdict(verdict) for verdict in turn.verdicts],
        "usage": asdict(turn.usage),
        "trace": [asdict(traced) for traced in turn.trace],
        "created_at": now,
    }
    await connection.execute(insert(connection, blocks).values(**block))

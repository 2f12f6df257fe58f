"""What people think of answers, on the state store."""

from dataclasses import asdict, fields

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.records import Feedback
from ragstone.core.turn import Principal
from ragstone.store.sql.database import Database
from ragstone.store.sql.rows import put
from ragstone.store.sql.tables import feedback as table

_COLUMNS = tuple(field.name for field in fields(Feedback))


class SqlFeedback:
    """`ports.FeedbackStore` on the state store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, feedback: Feedback) -> None:
        """`ports.FeedbackStore`."""
        await self._database.write(lambda connection: put(connection, table, asdict(feedback)))

    async def latest(self, tenant: str, limit: int) -> list[Feedback]:
        """`ports.FeedbackStore`."""
        newest = (
            select(*(table.c[name] for name in _COLUMNS))
            .where(table.c.tenant == tenant)
            .order_by(table.c.at.desc())
            .limit(limit)
        )
        async with self._database.reading() as connection:
            return [Feedback(**row) for row in (await connection.execute(newest)).mappings()]

    async def forget(self, principal: Principal) -> None:
        """`ports.FeedbackStore`."""
        theirs = (table.c.tenant == principal.tenant) & (table.c.user == principal.user)

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(delete(table).where(theirs))

        await self._database.write(work)

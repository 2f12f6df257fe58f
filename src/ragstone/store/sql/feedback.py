"""What people think of answers, on the state store."""

from dataclasses import asdict, fields

from sqlalchemy import select

from ragstone.core.records import Feedback
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
        return await self._database.read(
            lambda connection: [Feedback(**row) for row in connection.execute(newest).mappings()]
        )

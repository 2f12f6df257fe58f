"""Statistics: the questions per day and user, and their cost."""

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.clock import state_time
from ragstone.core.records import By, Report, Use
from ragstone.core.turn import Principal, Turn
from ragstone.store.sql.database import Database
from ragstone.store.sql.idempotency_key import first_time
from ragstone.store.sql.statistics import count, report, use
from ragstone.store.sql.tables import statistics


class SqlHistory:
    """`ports.History` on the state store. Methods raise StorageFull and StateUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, turn: Turn) -> None:
        """Count the turn: twice if it is saved twice, unless its ask wants to be kept `once`."""
        now = state_time()

        def work(connection: Connection) -> None:
            if not turn.ask.idempotent or first_time(connection, turn.ask.id, now):
                count(connection, turn, now)

        await self._database.keep(work)

    async def report(self, tenant: str, days: int) -> Report:
        """`ports.History`."""
        now = state_time()
        return await self._database.read(lambda c: report(c, tenant, days, now))

    async def use(self, tenant: str, days: int, by: By, user: str | None = None) -> list[Use]:
        """`ports.History`."""
        now = state_time()
        return await self._database.read(lambda c: use(c, tenant, days, by, user, now))

    async def forget(self, principal: Principal, user_id: str | None) -> int:
        """`ports.History`."""
        theirs = [
            statistics.c.tenant == principal.tenant,
            statistics.c.user == principal.user,
        ]
        if user_id is not None:
            theirs.append(statistics.c.user_id == user_id)

        async def work(connection: AsyncConnection) -> int:
            days = select(func.count(statistics.c.day.distinct())).where(*theirs)
            held = (await connection.execute(days)).scalar_one()
            await connection.execute(delete(statistics).where(*theirs))
            return int(held)

        return await self._database.write(work)

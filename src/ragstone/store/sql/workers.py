"""The processes that run jobs, as they see each other through the database."""

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.store.sql.database import Database
from ragstone.store.sql.rows import insert
from ragstone.store.sql.tables import job_workers


class SqlWorkers:
    """The workers that run jobs, and their heartbeats. Methods raise StateUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def enter(self, worker: str, host: str) -> None:
        """Begin to be seen."""

        async def work(connection: AsyncConnection) -> None:
            row = insert(connection, job_workers).values(id=worker, host=host, beat=0)
            await connection.execute(row.on_conflict_do_nothing())

        await self._database.write(work)

    async def beat(self, worker: str) -> bool:
        """Say that it lives; False if another process has taken it for dead."""

        async def work(connection: AsyncConnection) -> bool:
            this = update(job_workers).where(job_workers.c.id == worker)
            return (await connection.execute(this.values(beat=job_workers.c.beat + 1))).rowcount > 0

        return await self._database.write(work)

    async def beats(self) -> dict[str, int]:
        """How often each has said that it lives."""
        async with self._database.read_view() as connection:
            rows = await connection.execute(select(job_workers.c.id, job_workers.c.beat))
            return {row.id: row.beat for row in rows.all()}

    async def leave(self, *workers: str) -> None:
        """Forget workers that stopped or died."""

        async def work(connection: AsyncConnection) -> None:
            gone = delete(job_workers).where(job_workers.c.id.in_(workers))
            await connection.execute(gone)

        await self._database.write(work)

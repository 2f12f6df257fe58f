"""Jobs and how far they are, readable by every process that opens the database."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.state.database import Database
from ragstone.state.rows import insert
from ragstone.state.tables import jobs

RUNNING = "running"


@dataclass(frozen=True, slots=True)
class Job:
    """One job. `state` is running, done, failed or what else `finish` was told."""

    id: str
    kind: str
    request: dict[str, Any]
    progress: dict[str, Any]
    state: str
    error: str
    created_at: float
    updated_at: float


class SqlJobs:
    """Keeps jobs in the state store. Methods raise StorageFull and StateUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, id: str, kind: str, request: dict[str, Any]) -> None:
        """Record a running job; one that is known already stays as it is."""
        now = time.time()

        async def work(connection: AsyncConnection) -> None:
            row = insert(connection, jobs).values(
                id=id,
                kind=kind,
                request=request,
                progress={},
                state=RUNNING,
                error="",
                created_at=now,
                updated_at=now,
            )
            await connection.execute(row.on_conflict_do_nothing())

        await self._database.write(work)

    async def update(self, id: str, progress: dict[str, Any]) -> None:
        """Record how far a job is; a report that comes after its end is dropped."""
        await self._change(id, progress=progress)

    async def finish(self, id: str, state: str, error: str = "") -> None:
        """Record the end of a job; the first end counts."""
        await self._change(id, state=state, error=error)

    async def get(self, id: str) -> Job | None:
        """The job of this id, if there is one."""
        async with self._database.reading() as connection:
            found = await connection.execute(select(jobs).where(jobs.c.id == id))
            row = found.mappings().first()
        return None if row is None else _job(row)

    async def unfinished(self) -> list[Job]:
        """The jobs that run or were interrupted, oldest first."""
        running = select(jobs).where(jobs.c.state == RUNNING)
        async with self._database.reading() as connection:
            rows = await connection.execute(running.order_by(jobs.c.created_at, jobs.c.id))
            return [_job(row) for row in rows.mappings()]

    async def _change(self, id: str, **values: Any) -> None:
        running = (jobs.c.id == id) & (jobs.c.state == RUNNING)

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(
                update(jobs).where(running).values(**values, updated_at=time.time())
            )

        await self._database.write(work)


def _job(row: Mapping[Any, Any]) -> Job:
    return Job(**{field.name: row[field.name] for field in fields(Job)})

"""Parts of running jobs: rows of `jobs` that name the job which they are a part of.

They are claimed like jobs. Whose part is taken away, because its process seemed dead or the job
has ended, may still be writing: what it has begun is `lost`, and it can begin nothing more.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict

from sqlalchemy import ColumnElement, Connection, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.clock import state_time
from ragstone.core.errors import JobEnded
from ragstone.ports.jobs import QUEUED, READ_PART, RUNNING, Job, NewPart
from ragstone.store.sql import revising
from ragstone.store.sql.database import Database
from ragstone.store.sql.job_claims import to_job
from ragstone.store.sql.rows import insert
from ragstone.store.sql.tables import job_workers, jobs


class SqlParts:
    """`ports.Parts` on the state store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def others(self) -> int:
        count = select(func.count()).select_from(job_workers)
        return max(0, await self._database.read(lambda c: int(c.execute(count).scalar_one())) - 1)

    async def offer(self, job: str, parts: Sequence[NewPart]) -> None:
        running = select(jobs).where(jobs.c.id == job, jobs.c.state == RUNNING)

        def work(connection: Connection) -> None:
            row = connection.execute(running).mappings().first()
            if row is None:
                return
            whole, now = to_job(row), state_time()
            new = [asdict(_part(whole, part, now)) for part in parts]
            connection.execute(jobs.insert(), new)

        await self._database.keep(work)

    async def list_parts(self, job: str) -> Sequence[Job]:
        told = [column for column in jobs.c if column.name != "request"]
        mine = select(*told).where(jobs.c.part_of == job).order_by(jobs.c.created_at, jobs.c.id)
        return await self._database.read(
            lambda c: [to_job({**row, "request": {}}) for row in c.execute(mine).mappings()]
        )

    async def withdraw(self, ids: Sequence[str]) -> Collection[str]:
        gone = delete(jobs).where(jobs.c.id.in_(ids), jobs.c.part_of != "")
        gone = gone.where(jobs.c.state != RUNNING)
        return await self._database.keep(
            lambda c: set(c.execute(gone.returning(jobs.c.id)).scalars())
        )

    async def drop(self, job: str) -> None:
        await self._database.keep(lambda c: drop(c, [job]))


def drop(connection: Connection, ids: Sequence[str]) -> None:
    """Forget all parts of these jobs."""
    mine = jobs.c.part_of.in_(ids)
    lose(connection, mine)
    connection.execute(delete(jobs).where(mine))


def lose(connection: Connection, which: ColumnElement[bool]) -> None:
    """Take what is being written for these parts from its writers."""
    read = select(jobs.c.request).where(jobs.c.kind == READ_PART, jobs.c.state == RUNNING, which)
    ids = [
        str(file["document"]["id"])
        for (request,) in connection.execute(read)
        for file in request["files"]
    ]
    revising.lose(connection, document_ids=ids)


def check_claim(connection: Connection, part: Job) -> None:
    """Raise JobEnded unless its worker still has a part."""
    held = select(jobs.c.id).where(
        jobs.c.id == part.id,
        jobs.c.worker == part.worker,
        jobs.c.attempts == part.attempts,
        jobs.c.state == RUNNING,
    )
    if connection.execute(held).first() is None:
        raise JobEnded("This part of an ingest is another process's by now.")


def _part(whole: Job, part: NewPart, now: float) -> Job:
    return Job(
        part.id,
        part.kind,
        part.request,
        {},
        QUEUED,
        "",
        now,
        now,
        whole.tenant,
        whole.user,
        list(whole.groups),
        whole.collection,
        whole.priority,
        part_of=whole.id,
    )


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
        """Tell how often each has said that it lives."""
        async with self._database.read_view() as connection:
            rows = await connection.execute(select(job_workers.c.id, job_workers.c.beat))
            return {row.id: row.beat for row in rows.all()}

    async def leave(self, *workers: str) -> None:
        """Forget workers that stopped or died."""

        async def work(connection: AsyncConnection) -> None:
            gone = delete(job_workers).where(job_workers.c.id.in_(workers))
            await connection.execute(gone)

        await self._database.write(work)

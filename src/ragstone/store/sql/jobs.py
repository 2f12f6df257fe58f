"""Jobs: what is to be done and by whom. Of all processes that share the database, one gets a job.

A job is handed out in the transaction that marks it with its worker, and everything that the
worker says of it later counts only while that mark stands. So a job that was taken from a process,
because it seemed dead, was cancelled or paused, cannot be ended by that process any more.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.clock import state_time
from ragstone.core.errors import QueueFull
from ragstone.ports.jobs import (
    CANCELLED,
    ENDED,
    FAILED,
    INGEST,
    NOTHING,
    QUEUED,
    RUNNING,
    Job,
    NewJob,
    State,
    Unable,
)
from ragstone.store.sql.database import Database
from ragstone.store.sql.job_claims import (
    OF_RUNNING,
    READY,
    awaits,
    can_do,
    claim,
    lock_queue,
    to_job,
)
from ragstone.store.sql.parts import drop, lose
from ragstone.store.sql.rows import insert
from ragstone.store.sql.tables import job_kinds, jobs

FULL_SECONDS = 5.0
"""When a submission that found the queue full is to be tried again."""


def add_job(connection: Connection, new: NewJob) -> Job:
    """Queue a job, in a transaction that has locked the queue."""
    now = state_time()
    row = {**asdict(new), "groups": sorted(new.groups)}
    job = Job(**row, progress={}, state=QUEUED, error="", created_at=now, updated_at=now)
    connection.execute(insert(connection, jobs).values(**asdict(job)))
    return job


class SqlJobs:
    """`ports.JobStore` on the state store. Methods raise StorageFull and StateUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def submit(self, new: NewJob, most: int, same: bool = False) -> Job:
        """Queue a job, or return the one that it is already: of this id unless it failed, was
        cancelled or is forgotten; with `same`, also an equal one of its owner that has not ended.

        Raises QueueFull if `most` jobs of the kind wait.
        """
        if new.kind == INGEST:
            await self._database.backend.need_room()  # Else its end could not be recorded.
        now = state_time()

        async def work(connection: AsyncConnection) -> Job:
            await lock_queue(connection)
            known = await _first_job(connection, select(jobs).where(jobs.c.id == new.id))
            if known and not (known.state in (FAILED, CANCELLED) or _is_expired(known, now)):
                return known
            if same and (twin := await _find_duplicate(connection, new)):
                return twin
            waiting = await connection.scalar(
                select(func.count()).where(jobs.c.kind == new.kind, jobs.c.state == QUEUED)
            )
            if (waiting or 0) >= most:
                raise QueueFull(
                    f"{most:,} jobs of the kind {new.kind} already wait. Try again later.",
                    FULL_SECONDS,
                )
            if known:
                await connection.execute(delete(jobs).where(jobs.c.id == new.id))
            return await connection.run_sync(add_job, new)

        return await self._database.write(work)

    async def claim(
        self, worker: str, free: Mapping[str, int], unable: Unable = NOTHING
    ) -> list[Job]:
        """Give the next jobs of each kind to `worker`, at most as many as it has free: first of the
        tenant that has the fewest of the kind running, in order of priority, then of age. What may
        not begin yet (see `next_due`) stays."""
        return await self._database.write(lambda c: claim(c, worker, free, unable))

    async def next_due(self, kinds: Collection[str], unable: Unable = NOTHING) -> float | None:
        """Return when the first of the waiting jobs of these kinds may begin, None for not by
        itself: its kind is paused, or another job is changing its collection."""
        waiting = select(func.min(jobs.c.due_at)).where(
            jobs.c.kind.in_(list(kinds)), can_do(unable), *READY
        )
        async with self._database.read_view() as connection:
            due: float | None = await connection.scalar(waiting)
        return due

    async def is_awaited(self, job: Job, place: bool, begun_too: bool) -> bool:
        """Whether others wait for what a running job has: its collection, or its `place`, which
        would be theirs next. Without `begun_too`, those that were begun before do not count."""
        async with self._database.read_view() as connection:
            return await awaits(connection, job, place, begun_too)

    async def has_unfinished_ingest(self, tenant: str, collection: str) -> bool:
        """Tell whether an ingest into a collection has begun, and waits to be gone on with."""
        begun = select(jobs.c.id).where(
            jobs.c.state == QUEUED, jobs.c.kind == INGEST, jobs.c.attempts > 0,
            jobs.c.tenant == tenant, jobs.c.collection == collection,
        )  # fmt: skip
        async with self._database.read_view() as connection:
            return await connection.scalar(begun.limit(1)) is not None

    async def list_claimed(self, worker: str) -> dict[str, int]:
        """The jobs that `worker` has, and which attempt of each; parts while the whole runs."""
        mine = select(jobs.c.id, jobs.c.attempts).where(*_claim_by_conditions(worker), OF_RUNNING)
        async with self._database.read_view() as connection:
            rows = (await connection.execute(mine)).all()
        return {row.id: row.attempts for row in rows}

    async def report(self, job: Job, progress: Mapping[str, Any]) -> None:
        """Record how far a claimed job is; nothing, if it was taken away."""
        await self._change(_claim_conditions(job), progress=dict(progress))

    async def finish(self, job: Job, state: State, expires_at: float, **values: Any) -> bool:
        """Record the end of a claimed job; False if it was taken away."""
        return (
            await self._change(_claim_conditions(job), state=state, expires_at=expires_at, **values)
            == 1
        )

    async def again(
        self, job: Job, due_at: float, error: str, code: str, failed: bool = True
    ) -> bool:
        """Queue a claimed job that failed for a passing reason, or that may not be done yet; False
        if it was taken away."""
        values = {"state": QUEUED, "worker": "", "due_at": due_at, "error": error, "code": code}
        failures = jobs.c.failures + int(failed)
        return await self._change(_claim_conditions(job), **values, failures=failures) == 1

    async def release(self, worker: str) -> None:
        """Queue the unfinished jobs of a worker that stops."""
        await self._change(_claim_by_conditions(worker), state=QUEUED, worker="")

    async def give_back(self, id: str, worker: str) -> None:
        """Queue one of a worker's jobs, which it does not run."""
        await self._change(
            [jobs.c.id == id, *_claim_by_conditions(worker)], state=QUEUED, worker=""
        )

    async def orphans(self, alive: Collection[str]) -> set[str]:
        """Workers that have jobs and are not among `alive`."""
        others = select(jobs.c.worker).where(
            jobs.c.state == RUNNING, jobs.c.worker.not_in(list(alive))
        )
        async with self._database.read_view() as connection:
            return set((await connection.scalars(others.distinct())).all())

    async def requeue_orphans(self, dead: Collection[str], deaths: int, expires_at: float) -> int:
        """Queue what dead workers had; a job that lost its process `deaths` times fails."""
        theirs = [jobs.c.state == RUNNING, jobs.c.worker.in_(list(dead))]
        again = {"worker": "", "deaths": jobs.c.deaths + 1, "updated_at": state_time()}
        lost = {
            "state": FAILED,
            "code": "worker_died",
            "expires_at": expires_at,
            "error": f"The process that ran it died {deaths} times, so it was given up. "
            "The server's log may say why; retry it with 'ragstone jobs retry'.",
        }

        async def work(connection: AsyncConnection) -> int:
            led = select(jobs.c.id).where(*theirs, jobs.c.kind == INGEST)
            await connection.run_sync(drop, (await connection.scalars(led)).all())
            await connection.run_sync(lose, and_(*theirs))
            hopeless = [*theirs, jobs.c.deaths + 1 >= deaths]
            await connection.execute(update(jobs).where(*hopeless).values(**again, **lost))
            done = await connection.execute(
                update(jobs).where(*theirs).values(**again, state=QUEUED)
            )
            return done.rowcount

        return await self._database.write(work)

    async def move(
        self, id: str, states: Collection[State], state: State, **values: Any
    ) -> Job | None:
        """Bring a job that is in one of `states` into another; the job before, None if it was in
        none of them. Its worker loses it."""

        async def work(connection: AsyncConnection) -> Job | None:
            this = select(jobs).where(jobs.c.id == id, jobs.c.state.in_(list(states)))
            job = await _first_job(connection, this.with_for_update())
            if job:
                new = {"state": state, "worker": "", "updated_at": state_time(), **values}
                await connection.execute(update(jobs).where(jobs.c.id == id).values(**new))
                await connection.run_sync(drop, [id])
            return job

        return await self._database.write(work)

    async def get(self, id: str) -> Job | None:
        """The job of this id, unless it is unknown, its time is over or it is a part of one."""
        whole = select(jobs).where(jobs.c.id == id, jobs.c.part_of == "")
        async with self._database.read_view() as connection:
            job = await _first_job(connection, whole)
        return None if job is None or _is_expired(job, state_time()) else job

    async def list_all(
        self, tenant: str, kind: str | None, state: str | None, limit: int, user: str | None = None
    ) -> list[Job]:
        """Return jobs of a tenant (of one user), newest first."""
        now = state_time()
        found = select(jobs).where(jobs.c.tenant == tenant, jobs.c.part_of == "")
        found = found.where(jobs.c.expires_at.is_(None) | (jobs.c.expires_at > now))
        for column, value in ((jobs.c.kind, kind), (jobs.c.state, state), (jobs.c.user, user)):
            found = found if value is None else found.where(column == value)
        return await self._select_jobs(
            found.order_by(jobs.c.created_at.desc(), jobs.c.id).limit(limit)
        )

    async def list_unfinished(self, kinds: Collection[str]) -> list[Job]:
        """Return the jobs of these kinds that have not ended, oldest first."""
        found = select(jobs).where(jobs.c.state.not_in(ENDED), jobs.c.kind.in_(list(kinds)))
        return await self._select_jobs(found.order_by(jobs.c.created_at, jobs.c.id))

    async def counts(self) -> dict[tuple[str, str], int]:
        """Tell how many jobs there are of each kind and state."""
        whole = select(jobs.c.kind, jobs.c.state, func.count()).where(jobs.c.part_of == "")
        grouped = whole.group_by(jobs.c.kind, jobs.c.state)
        async with self._database.read_view() as connection:
            rows = (await connection.execute(grouped)).all()
        return {(kind, state): number for kind, state, number in rows}

    async def forget(self, tenant: str, states: Collection[State], before: float) -> int:
        """Forget the jobs of a tenant that have been in one of these states since a time, and
        return how many."""
        ended = [jobs.c.tenant == tenant, jobs.c.state.in_(list(states)), jobs.c.part_of == ""]
        return await self._delete([*ended, jobs.c.updated_at <= before])

    async def sweep(self) -> None:
        """Forget the jobs whose time is over, and parts that none is left of."""
        over = jobs.c.expires_at <= state_time()
        await self._delete([(over & (jobs.c.part_of == "")) | ~OF_RUNNING])

    async def list_paused_kinds(self) -> set[str]:
        """Return the kinds of which no job is begun."""
        async with self._database.read_view() as connection:
            paused = select(job_kinds.c.kind).where(job_kinds.c.paused)
            return set((await connection.scalars(paused)).all())

    async def pause_kind(self, kind: str, paused: bool) -> None:
        """Pause or resume the jobs of a kind."""

        async def work(connection: AsyncConnection) -> None:
            row = insert(connection, job_kinds).values(kind=kind, paused=paused)
            await connection.execute(
                row.on_conflict_do_update(index_elements=["kind"], set_={"paused": paused})
            )

        await self._database.write(work)

    async def _select_jobs(self, statement: Select[Any]) -> list[Job]:
        return await self._database.read(
            lambda connection: [to_job(row) for row in connection.execute(statement).mappings()]
        )

    async def _change(self, where: Sequence[ColumnElement[bool]], **values: Any) -> int:
        async def work(connection: AsyncConnection) -> int:
            new = {"updated_at": state_time(), **values}
            done = await connection.execute(update(jobs).where(*where).values(**new))
            return done.rowcount

        return await self._database.write(work)

    async def _delete(self, where: Sequence[ColumnElement[bool]]) -> int:
        async def work(connection: AsyncConnection) -> int:
            return (await connection.execute(delete(jobs).where(*where))).rowcount

        return await self._database.write(work)


def _claim_by_conditions(worker: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return (jobs.c.state == RUNNING, jobs.c.worker == worker)


def _claim_conditions(job: Job) -> list[ColumnElement[bool]]:
    """Return the conditions that a claimed job still has its worker and its attempt."""
    return [jobs.c.id == job.id, jobs.c.attempts == job.attempts, *_claim_by_conditions(job.worker)]


def _is_expired(job: Job, now: float) -> bool:
    return job.expires_at is not None and job.expires_at <= now


async def _first_job(connection: AsyncConnection, statement: Select[Any]) -> Job | None:
    row = (await connection.execute(statement)).mappings().first()
    return None if row is None else to_job(row)


async def _find_duplicate(connection: AsyncConnection, new: NewJob) -> Job | None:
    """Return the unfinished job with the same owner, kind and request."""
    like = select(jobs).where(
        jobs.c.kind == new.kind,
        jobs.c.state.not_in(ENDED),
        jobs.c.tenant == new.tenant,
        jobs.c.user == new.user,
        jobs.c.collection == new.collection,
    )
    for row in (await connection.execute(like)).mappings():
        if row["request"] == new.request and list(row["groups"]) == sorted(new.groups):
            return to_job(row)
    return None

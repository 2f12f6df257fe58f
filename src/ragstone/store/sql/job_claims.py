"""Which of the waiting jobs are begun next."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.ports.jobs import QUEUED, RUNNING, WRITING, Job
from ragstone.store.sql.tables import job_kinds, jobs

CROWD = 20
"""Waiting jobs looked at for each free place, where those of one collection wait for each other."""

QUEUE_LOCK = 0x7261_6773_746F_6E65
"""A lock number unused elsewhere in the same database."""

_other = jobs.alias()
READY = (
    jobs.c.state == QUEUED,
    jobs.c.kind.not_in(select(job_kinds.c.kind).where(job_kinds.c.paused)),
    jobs.c.kind.not_in(WRITING)
    | ~(
        select(_other.c.id)
        .where(_other.c.state == RUNNING, _other.c.kind.in_(WRITING))
        .where(_other.c.tenant == jobs.c.tenant, _other.c.collection == jobs.c.collection)
        .exists()
    ),
)
"""Waiting jobs that may begin when they are due."""


async def claim(connection: AsyncConnection, worker: str, free: Mapping[str, int]) -> list[Job]:
    """Give the next jobs of each kind to `worker`, at most as many as it has free."""
    await in_turn(connection)
    now = time.time()
    claimed: list[Job] = []
    for kind, places in free.items():
        waiting = (
            select(jobs)
            .where(jobs.c.kind == kind, jobs.c.due_at <= now, *READY)
            .order_by(jobs.c.priority, jobs.c.created_at, jobs.c.id)
            .limit(places * CROWD if kind in WRITING else places)
            # A job that is cancelled in this instant is either not found or waits for this.
            .with_for_update(skip_locked=True)
        )
        found = [to_job(row) for row in (await connection.execute(waiting)).mappings()]
        claimed += _one_per_collection(found, claimed)[:places]
    if claimed:
        mine = {"state": RUNNING, "worker": worker, "updated_at": now, "error": "", "code": ""}
        these = update(jobs).where(jobs.c.id.in_([job.id for job in claimed]))
        await connection.execute(these.values(**mine, attempts=jobs.c.attempts + 1))
    return [
        replace(job, state=RUNNING, worker=worker, attempts=job.attempts + 1) for job in claimed
    ]


async def in_turn(connection: AsyncConnection) -> None:
    """Let one process at a time decide what is queued and begun; SQLite always does."""
    if connection.dialect.name == "postgresql":
        await connection.execute(select(func.pg_advisory_xact_lock(QUEUE_LOCK)))


def to_job(row: Mapping[Any, Any]) -> Job:
    """A row of the table."""
    return Job(**{field.name: row[field.name] for field in fields(Job)})


def _one_per_collection(found: Sequence[Job], claimed: Sequence[Job]) -> list[Job]:
    """The jobs, with at most one job that changes each collection."""
    places = {(job.tenant, job.collection) for job in claimed if job.kind in WRITING}
    chosen = []
    for job in found:
        place = job.tenant, job.collection
        if job.kind not in WRITING or place not in places:
            chosen.append(job)
            places |= {place} if job.kind in WRITING else set()
    return chosen

"""Which of the waiting jobs are begun next: of the tenant that has the fewest running, the first by
priority, then by how long it waits."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, case, func, or_, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.clock import state_time
from ragstone.ports.jobs import NOTHING, QUEUED, RUNNING, WRITING, Job, Unable
from ragstone.store.sql.tables import job_kinds, jobs

CROWD = 20
"""Waiting jobs looked at for each free place, where those of one collection wait for each other."""

QUEUE_LOCK = 0x7261_6773_746F_6E65
"""A lock number unused elsewhere in the same database."""

_other = jobs.alias()
_whole = jobs.alias()

OF_RUNNING = or_(
    jobs.c.part_of == "",
    select(_whole.c.id).where(_whole.c.id == jobs.c.part_of, _whole.c.state == RUNNING).exists(),
)
"""Jobs, and parts of those that are running."""

_WAITS = (
    jobs.c.state == QUEUED,
    jobs.c.kind.not_in(select(job_kinds.c.kind).where(job_kinds.c.paused)),
)

READY = (
    *_WAITS,
    jobs.c.kind.not_in(WRITING)
    | ~(
        select(_other.c.id)
        .where(_other.c.state == RUNNING, _other.c.kind.in_(WRITING))
        .where(_other.c.tenant == jobs.c.tenant, _other.c.collection == jobs.c.collection)
        .exists()
    ),
    OF_RUNNING,
)
"""Waiting jobs that may begin when they are due."""

_SINCE = case((jobs.c.due_at > jobs.c.created_at, jobs.c.due_at), else_=jobs.c.created_at)
"""Since when a job waits: one that was tried, or had a turn, goes behind those that were there."""

_WAITING = text(
    "WITH RECURSIVE waiting(tenant) AS ("
    "SELECT min(tenant) FROM jobs WHERE kind = :kind AND state = 'queued' UNION ALL "
    "SELECT (SELECT min(tenant) FROM jobs WHERE kind = :kind AND state = 'queued' "
    "AND tenant > waiting.tenant) FROM waiting WHERE waiting.tenant IS NOT NULL) "
    "SELECT tenant FROM waiting WHERE tenant IS NOT NULL"
)
"""The tenants of waiting jobs of a kind, from one to the next in an index: it costs nothing that
one of them has thousands."""


async def claim(
    connection: AsyncConnection, worker: str, free: Mapping[str, int], unable: Unable = NOTHING
) -> list[Job]:
    """Give the next jobs of each kind to `worker`, at most as many as it has free."""
    await lock_queue(connection)
    now = state_time()
    claimed: list[Job] = []
    for kind, places in free.items():
        waiting = (await connection.execute(_WAITING, {"kind": kind})).scalars().all()
        which = jobs.c.kind == kind, jobs.c.due_at <= now, can_do(unable), *READY
        if len(waiting) > 1:
            claimed += await _by_turns(connection, worker, kind, which, places, waiting)
        elif waiting:
            claimed += await _next(connection, worker, kind, which, places)
    return claimed


async def _by_turns(
    connection: AsyncConnection,
    worker: str,
    kind: str,
    which: Sequence[ColumnElement[bool]],
    places: int,
    waiting: Sequence[str],
) -> list[Job]:
    """Return the next jobs of several tenants, one after the other."""
    counted = await _count_running(connection, kind)
    running = {tenant: counted.get(tenant, 0) for tenant in waiting}
    claimed: list[Job] = []
    while running and len(claimed) < places:
        fewest = min(running.values())
        first = [tenant for tenant, number in running.items() if number == fewest]
        of_first = (*which, jobs.c.tenant.in_(first))
        if found := await _next(connection, worker, kind, of_first, 1):
            running[found[0].tenant] += 1
            claimed += found
        else:  # What these have must not begin yet.
            for tenant in first:
                del running[tenant]
    return claimed


async def _next(
    connection: AsyncConnection,
    worker: str,
    kind: str,
    which: Sequence[ColumnElement[bool]],
    places: int,
) -> list[Job]:
    """Give the first jobs of a kind to `worker`."""
    waiting = (
        select(jobs)
        .where(*which)
        .order_by(jobs.c.priority, _SINCE, jobs.c.id)
        .limit(places * CROWD if kind in WRITING and places > 1 else places)
        # A job that is cancelled in this instant is either not found or waits for this.
        .with_for_update(skip_locked=True)
    )
    found = [to_job(row) for row in (await connection.execute(waiting)).mappings()]
    begun = _pick_per_collection(found)[:places]
    if begun:
        now = state_time()
        mine = {"state": RUNNING, "worker": worker, "updated_at": now, "error": "", "code": ""}
        these = update(jobs).where(jobs.c.id.in_([job.id for job in begun]))
        await connection.execute(these.values(**mine, attempts=jobs.c.attempts + 1))
    return [replace(job, state=RUNNING, worker=worker, attempts=job.attempts + 1) for job in begun]


async def awaits(connection: AsyncConnection, job: Job, place: bool, begun_too: bool) -> bool:
    """Tell whether others wait for the collection of a running job, or for its `place`, and would
    get it. Without `begun_too`, those that were begun before do not count."""
    first = [*_WAITS, jobs.c.due_at <= state_time(), jobs.c.priority <= job.priority]
    if not begun_too:
        first.append(jobs.c.attempts == 0)
    same = jobs.c.tenant == job.tenant, jobs.c.collection == job.collection
    for_collection = select(jobs.c.id).where(*first, *same, jobs.c.kind.in_(WRITING)).limit(1)
    if await connection.scalar(for_collection) is not None:
        return True
    if not place:
        return False
    for_place = select(jobs.c.tenant).where(*first, *READY, jobs.c.kind == job.kind).distinct()
    waiting = (await connection.scalars(for_place)).all()
    running = await _count_running(connection, job.kind) if waiting else {}
    # Whoever has more running already would not get it.
    most = running.get(job.tenant, 1) - 1
    return any(tenant == job.tenant or running.get(tenant, 0) <= most for tenant in waiting)


async def _count_running(connection: AsyncConnection, kind: str) -> dict[str, int]:
    """Tell how many jobs of a kind each tenant has running."""
    going = select(jobs.c.tenant, func.count()).where(jobs.c.kind == kind, jobs.c.state == RUNNING)
    rows = await connection.execute(going.group_by(jobs.c.tenant))
    return {row[0]: row[1] for row in rows}


def can_do(unable: Unable) -> ColumnElement[bool]:
    """Return the condition that a process can do a job."""
    refused = [
        and_(jobs.c.kind == kind, jobs.c.part_of.in_(list(of))) for kind, of in unable.items() if of
    ]
    return ~or_(*refused) if refused else jobs.c.id.is_not(None)


async def lock_queue(connection: AsyncConnection) -> None:
    """Let one process at a time decide what is queued and begun; SQLite always does."""
    await connection.run_sync(lock_queue_now)


def lock_queue_now(connection: Connection) -> None:
    """`lock_queue`, in a transaction that runs whole in a thread."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(QUEUE_LOCK)))


def to_job(row: Mapping[Any, Any]) -> Job:
    """Return a row of the table."""
    return Job(**{field.name: row[field.name] for field in fields(Job)})


def _pick_per_collection(found: Sequence[Job]) -> list[Job]:
    """Return the jobs, with at most one job that changes each collection."""
    places: set[tuple[str, str]] = set()
    chosen = []
    for job in found:
        place = job.tenant, job.collection
        if job.kind not in WRITING or place not in places:
            chosen.append(job)
            places |= {place} if job.kind in WRITING else set()
    return chosen

"""Statistics: the questions per day and user, and their cost.

Traces of single questions on the state store.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Table, cast, delete, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.clock import state_time
from ragstone.core.records import (
    By,
    DayUse,
    Feedback,
    QuestionTrace,
    Report,
    StageUse,
    StrategyUse,
    Use,
)
from ragstone.core.turn import Principal, StageTrace, Turn
from ragstone.language.unicode import replace_unstorable
from ragstone.store.sql.database import Database
from ragstone.store.sql.rows import add_statement, insert, put, put_statement
from ragstone.store.sql.tables import done_once, statistics, strategies, traces
from ragstone.store.sql.tables import feedback as table

_ASKED = ("questions", "refused", "blocked", "prompt_tokens", "completion_tokens", "cost")
_SEARCHED = ("executions", "seconds", "rated", "confidence")


def count(connection: Connection, turn: Turn, now: float) -> None:
    """Add the turn to the sums of its day (UTC), place and model, and of its strategy."""
    answer, usage, ask = turn.answer, turn.usage, turn.ask
    place = {
        "tenant": ask.principal.tenant,
        "user": ask.principal.user,
        "user_id": replace_unstorable(ask.user_id),
        "room": replace_unstorable(ask.room or ""),
        "search_type": ask.search_type,
    }
    refused = int(answer is not None and answer.refused)
    blocked = int(answer is not None and answer.finish == "blocked")
    tokens = (usage.prompt_tokens, usage.completion_tokens)
    key = {"day": _day(now), **place, "model": answer.model if answer else ""}
    amounts = (1, refused, blocked, *tokens, usage.cost or 0.0)
    row = {**key, **dict(zip(_ASKED, amounts, strict=True))}
    connection.execute(add_statement(connection.dialect.name, statistics, _ASKED), row)
    if turn.lists:
        sure = answer.confidence if answer else None
        seconds = turn.seconds
        searched = (1, seconds, int(sure is not None), sure or 0.0)
        by = {"day": _day(now), "tenant": place["tenant"], "strategy": turn.plan.strategy}
        row = {**by, **dict(zip(_SEARCHED, searched, strict=True))}
        connection.execute(add_statement(connection.dialect.name, strategies, _SEARCHED), row)


def report(connection: Connection, tenant: str, days: int, now: float) -> Report:
    """Return the sums of a tenant for today (UTC) and the days before it, `days` in all."""
    since = _day(now) - timedelta(days=days - 1)
    asked = _sums(connection, statistics, "day", _ASKED, tenant, since)
    searched = _sums(connection, strategies, "strategy", _SEARCHED, tenant, since)
    return Report(
        tuple(DayUse(str(day), *amounts) for day, *amounts in asked),
        tuple(
            StrategyUse(name, times, seconds / times, sure / rated if rated else None)
            for name, times, seconds, rated, sure in searched
        ),
    )


def use(
    connection: Connection, tenant: str, days: int, by: By, user: str | None, now: float
) -> list[Use]:
    """Return the sums of a tenant, or one user of it, by day, user, account, room or model."""
    since = _day(now) - timedelta(days=days - 1)
    found = _sums(connection, statistics, by, _ASKED, tenant, since, user)
    return [Use(str(name), *amounts) for name, *amounts in found]


def _sums(
    connection: Connection,
    table: Table,
    by: str,
    names: tuple[str, ...],
    tenant: str,
    since: date,
    user: str | None = None,
) -> list[Any]:
    """Return rows of `by` and the sums of `names`, in the order of `by`."""
    # PostgreSQL adds up integers to decimals.
    sums = (cast(func.sum(table.c[name]), table.c[name].type) for name in names)
    rows = select(table.c[by], *sums).where(table.c.tenant == tenant, table.c.day >= since)
    if user is not None:
        rows = rows.where(table.c.user == user)
    found = connection.execute(rows.group_by(table.c[by]).order_by(table.c[by]))
    # PostgreSQL adds whole numbers up to decimals.
    return [[int(a) if isinstance(a, Decimal) else a for a in row] for row in found.all()]


def _day(now: float) -> date:
    return datetime.fromtimestamp(now, UTC).date()


REMEMBERED = 30 * 86_400.0
"""Seconds after which finished work is not retried."""


def first_time(connection: Connection, key: str, now: float) -> bool:
    """Note in the transaction that does it that something is done; False if it was before."""
    connection.execute(delete(done_once).where(done_once.c.at < now - REMEMBERED))
    row = insert(connection, done_once).values(key=key, at=now).on_conflict_do_nothing()
    # PostgreSQL's driver counts no rows of an INSERT.
    return connection.execute(row.returning(done_once.c.key)).first() is not None


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
        now = state_time()
        return await self._database.read(lambda c: report(c, tenant, days, now))

    async def use(self, tenant: str, days: int, by: By, user: str | None = None) -> list[Use]:
        now = state_time()
        return await self._database.read(lambda c: use(c, tenant, days, by, user, now))

    async def forget(self, principal: Principal, user_id: str | None) -> int:
        theirs = [statistics.c.tenant == principal.tenant, statistics.c.user == principal.user]
        if user_id is not None:
            theirs.append(statistics.c.user_id == user_id)

        async def work(connection: AsyncConnection) -> int:
            days = select(func.count(statistics.c.day.distinct())).where(*theirs)
            held = (await connection.execute(days)).scalar_one()
            await connection.execute(delete(statistics).where(*theirs))
            return int(held)

        return await self._database.write(work)


_COLUMNS = tuple(field.name for field in fields(Feedback))


class SqlFeedback:
    """`ports.FeedbackStore` on the state store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, feedback: Feedback) -> None:
        await self._database.write(lambda connection: put(connection, table, asdict(feedback)))

    async def latest(self, tenant: str, limit: int) -> list[Feedback]:
        newest = (
            select(*(table.c[name] for name in _COLUMNS))
            .where(table.c.tenant == tenant)
            .order_by(table.c.at.desc())
            .limit(limit)
        )
        return await self._database.read(
            lambda connection: [Feedback(**row) for row in connection.execute(newest).mappings()]
        )


_OF_TRACE = tuple(field.name for field in fields(QuestionTrace))
_OF_A_STAGE = tuple(field.name for field in fields(StageTrace))
DAY = 86_400.0
SWEEP_SECONDS = 600.0
"""How often old traces are looked for."""

MAX_MEASURED = 10_000
"""The newest traces that stage times are measured over."""


class SqlTraces:
    """`ports.Traces` on the state store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._swept = 0.0

    async def keep(self, trace: QuestionTrace, days: int) -> None:
        row = {name: getattr(trace, name) for name in _OF_TRACE}
        row["stages"] = [
            {name: getattr(stage, name) for name in _OF_A_STAGE} for stage in trace.stages
        ]
        now = state_time()
        sweeps = now - self._swept > SWEEP_SECONDS

        def work(connection: Connection) -> None:
            connection.execute(put_statement(connection.dialect.name, traces, _OF_TRACE), row)
            if sweeps:
                connection.execute(delete(traces).where(traces.c.at < now - days * DAY))

        await self._database.keep(work)
        if sweeps:
            self._swept = now

    async def get(self, tenant: str, id: str) -> QuestionTrace | None:
        one = select(traces).where(traces.c.tenant == tenant, traces.c.id == id)
        async with self._database.read_view() as connection:
            row = (await connection.execute(one)).mappings().first()
        return None if row is None else _trace(row)

    async def latest(
        self,
        tenant: str,
        limit: int,
        before: float | None = None,
        user: str | None = None,
        origins: Sequence[str] | None = None,
    ) -> list[QuestionTrace]:
        wanted = select(traces).where(traces.c.tenant == tenant)
        if before is not None:
            wanted = wanted.where(traces.c.at < before)
        if user is not None:
            wanted = wanted.where(traces.c.user == user)
        if origins is not None:
            wanted = wanted.where(traces.c.origin.in_(origins))
        newest = wanted.order_by(traces.c.at.desc()).limit(limit)
        return await self._database.read(
            lambda connection: [_trace(row) for row in connection.execute(newest).mappings()]
        )

    async def origins(self, tenant: str) -> list[str]:
        known = select(traces.c.origin).where(traces.c.tenant == tenant).distinct()
        async with self._database.read_view() as connection:
            return list((await connection.execute(known)).scalars())

    async def stages(
        self, tenant: str, since: float, origins: Sequence[str] | None = None
    ) -> Sequence[StageUse]:
        wanted = select(traces.c.stages).where(traces.c.tenant == tenant, traces.c.at >= since)
        if origins is not None:
            wanted = wanted.where(traces.c.origin.in_(origins))
        seconds: defaultdict[str, list[float]] = defaultdict(list)
        failed: defaultdict[str, int] = defaultdict(int)
        async with self._database.read_view() as connection:
            newest = wanted.order_by(traces.c.at.desc()).limit(MAX_MEASURED)
            for stages in (await connection.execute(newest)).scalars():
                for stage in stages:
                    seconds[stage["stage"]].append(stage["seconds"])
                    failed[stage["stage"]] += stage["status"] in ("failed", "timeout")
        return [_stage_use(stage, times, failed[stage]) for stage, times in seconds.items()]


def _stage_use(stage: str, times: list[float], failed: int) -> StageUse:
    times = sorted(times)
    p95 = times[min(len(times) - 1, int(0.95 * len(times)))]
    return StageUse(stage, len(times), failed, sum(times) / len(times), p95)


def _trace(row: Mapping[Any, Any]) -> QuestionTrace:
    known: dict[str, Any] = {name: row[name] for name in _OF_TRACE}
    return QuestionTrace(**{**known, "stages": tuple(StageTrace(**item) for item in row["stages"])})

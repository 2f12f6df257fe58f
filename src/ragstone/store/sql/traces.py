"""Traces of single questions on the state store."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import Connection, delete, select

from ragstone.core.clock import state_time
from ragstone.core.records import QuestionTrace, StageUse
from ragstone.core.turn import StageTrace
from ragstone.store.sql.database import Database
from ragstone.store.sql.rows import put_statement
from ragstone.store.sql.tables import traces

_COLUMNS = tuple(field.name for field in fields(QuestionTrace))
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
        row = {name: getattr(trace, name) for name in _COLUMNS}
        row["stages"] = [
            {name: getattr(stage, name) for name in _OF_A_STAGE} for stage in trace.stages
        ]
        now = state_time()
        sweeps = now - self._swept > SWEEP_SECONDS

        def work(connection: Connection) -> None:
            connection.execute(put_statement(connection.dialect.name, traces, _COLUMNS), row)
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
    known: dict[str, Any] = {name: row[name] for name in _COLUMNS}
    return QuestionTrace(**{**known, "stages": tuple(StageTrace(**item) for item in row["stages"])})

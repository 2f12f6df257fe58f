"""Sums per day: what was asked and what it cost, and how each strategy did."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import Table, cast, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.records import By, DayUse, Report, StrategyUse, Use
from ragstone.state.rows import insert
from ragstone.state.tables import statistics, strategies
from ragstone.text.unicode import storable
from ragstone.turn import Turn

_ASKED = ("questions", "refused", "blocked", "prompt_tokens", "completion_tokens", "cost")
_SEARCHED = ("executions", "seconds", "rated", "confidence")


async def count(connection: AsyncConnection, turn: Turn, now: float) -> None:
    """Add the turn to the sums of its day (UTC), place and model, and of its strategy."""
    answer, usage, ask = turn.answer, turn.usage, turn.ask
    place = {
        "tenant": ask.principal.tenant,
        "user": ask.principal.user,
        "user_id": storable(ask.user_id),
        "room": storable(ask.room or ""),
        "search_type": ask.search_type,
    }
    refused = int(answer is not None and answer.refused)
    blocked = int(answer is not None and answer.finish == "blocked")
    tokens = (usage.prompt_tokens, usage.completion_tokens)
    key = {"day": _day(now), **place, "model": answer.model if answer else ""}
    amounts = (1, refused, blocked, *tokens, usage.cost or 0.0)
    await _add(connection, statistics, key, dict(zip(_ASKED, amounts, strict=True)))
    if turn.lists:
        sure = answer.confidence if answer else None
        seconds = turn.seconds
        searched = (1, seconds, int(sure is not None), sure or 0.0)
        by = {"day": _day(now), "tenant": place["tenant"], "strategy": turn.plan.strategy}
        await _add(connection, strategies, by, dict(zip(_SEARCHED, searched, strict=True)))


async def report(connection: AsyncConnection, tenant: str, days: int, now: float) -> Report:
    """The sums of a tenant for today (UTC) and the days before it, `days` in all."""
    since = _day(now) - timedelta(days=days - 1)
    asked = await _sums(connection, statistics, "day", _ASKED, tenant, since)
    searched = await _sums(connection, strategies, "strategy", _SEARCHED, tenant, since)
    return Report(
        tuple(DayUse(str(day), *amounts) for day, *amounts in asked),
        tuple(
            StrategyUse(name, times, seconds / times, sure / rated if rated else None)
            for name, times, seconds, rated, sure in searched
        ),
    )


async def use(
    connection: AsyncConnection, tenant: str, days: int, by: By, user: str | None, now: float
) -> list[Use]:
    """The sums of a tenant, or one user of it, by day, user, room or model."""
    since = _day(now) - timedelta(days=days - 1)
    found = await _sums(connection, statistics, by, _ASKED, tenant, since, user)
    return [Use(str(name), *amounts) for name, *amounts in found]


async def _sums(
    connection: AsyncConnection,
    table: Table,
    by: str,
    names: tuple[str, ...],
    tenant: str,
    since: date,
    user: str | None = None,
) -> list[Any]:
    """Rows of `by` and the sums of `names`, in the order of `by`."""
    # PostgreSQL adds up integers to decimals.
    sums = (cast(func.sum(table.c[name]), table.c[name].type) for name in names)
    rows = select(table.c[by], *sums).where(table.c.tenant == tenant, table.c.day >= since)
    if user is not None:
        rows = rows.where(table.c.user == user)
    found = await connection.execute(rows.group_by(table.c[by]).order_by(table.c[by]))
    # PostgreSQL adds whole numbers up to decimals.
    return [[int(a) if isinstance(a, Decimal) else a for a in row] for row in found.all()]


async def _add(
    connection: AsyncConnection, table: Table, key: Mapping[str, Any], amounts: Mapping[str, Any]
) -> None:
    row = insert(connection, table).values(**key, **amounts)
    sums = {name: table.c[name] + row.excluded[name] for name in amounts}
    await connection.execute(row.on_conflict_do_update(index_elements=list(key), set_=sums))


def _day(now: float) -> date:
    return datetime.fromtimestamp(now, UTC).date()

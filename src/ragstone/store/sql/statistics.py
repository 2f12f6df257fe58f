"""Sums per day: questions, their cost, and the results of each strategy."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Table, cast, func, select

from ragstone.core.records import By, DayUse, Report, StrategyUse, Use
from ragstone.core.turn import Turn
from ragstone.language.unicode import storable
from ragstone.store.sql.rows import add_statement
from ragstone.store.sql.tables import statistics, strategies

_ASKED = ("questions", "refused", "blocked", "prompt_tokens", "completion_tokens", "cost")
_SEARCHED = ("executions", "seconds", "rated", "confidence")


def count(connection: Connection, turn: Turn, now: float) -> None:
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
    """The sums of a tenant for today (UTC) and the days before it, `days` in all."""
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
    """The sums of a tenant, or one user of it, by day, user, room or model."""
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
    """Rows of `by` and the sums of `names`, in the order of `by`."""
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

"""Prints the figures of questions, and what became of single ones."""

from datetime import UTC, datetime
from typing import cast

from ragstone.cli.printing import out_json, print_text, table
from ragstone.core.records import By, QuestionTrace, StageUse
from ragstone.core.turn import Principal
from ragstone.service import Service

STAGE = "stage"
KINDS = ("day", "user", "user_id", "room", "model", STAGE)


async def show(service: Service, days: int, by: str, as_json: bool) -> int:
    """Print the sums by one of KINDS."""
    tenant = Principal().tenant
    if by == STAGE:
        return _stages(await service.statistics.stages(tenant, days), as_json)
    found = await service.statistics.use(tenant, days, cast(By, by))
    if as_json:
        out_json({"use": found})
        return 0
    head = (by, "questions", "refused", "blocked", "prompt tokens", "answer tokens", "cost in $")
    rows = [
        (
            item.name or "-",
            item.questions,
            item.refused,
            item.blocked,
            item.prompt_tokens,
            item.completion_tokens,
            f"{item.cost:.4f}",
        )
        for item in found
    ]
    if rows:
        table(head, rows)
    else:
        print_text(f"Nothing was asked in the last {days} days.")
    return 0


def _stages(found: list[StageUse], as_json: bool) -> int:
    if as_json:
        out_json({"stages": found})
    elif not found:
        print_text("No traces are kept; STATISTICS__TRACE_DAYS says how long they are.")
    else:
        head = ("stage", "questions", "failed", "mean ms", "p95 ms")
        table(head, [(s.stage, s.runs, s.failed, _ms(s.mean), _ms(s.p95)) for s in found])
    return 0


async def traces(service: Service, limit: int, as_json: bool) -> int:
    """Print the newest questions."""
    found = await service.statistics.traces(Principal().tenant, limit)
    if as_json:
        out_json({"traces": found})
    elif not found:
        print_text("No traces are kept; STATISTICS__TRACE_DAYS says how long they are.")
    else:
        head = ("id", "at", "user", "level", "finish", "cached", "ms", "tokens", "cost in $")
        table(head, [_row(item) for item in found])
    return 0


def _row(item: QuestionTrace) -> tuple[object, ...]:
    tokens = item.prompt_tokens + item.completion_tokens
    cost = "-" if item.cost is None else f"{item.cost:.4f}"
    finish = f"{item.finish} ({item.error})" if item.error else item.finish
    said = (item.id, _time(item.at), item.user, item.level, finish, item.cached or "-")
    return (*said, _ms(item.seconds), tokens, cost)


async def trace(service: Service, id: str, as_json: bool) -> int:
    """Print what each stage did for one question."""
    one = await service.statistics.trace(Principal().tenant, id)
    if as_json:
        out_json(one)
        return 0
    print_text(
        f"{one.id}, asked by {one.user} at {_time(one.at)}: {one.finish}, {_ms(one.seconds)} ms"
    )
    if one.question:
        print_text(one.question)
    print_text()
    rows = [(s.stage, _ms(s.seconds), s.status, s.decision, s.reason) for s in one.stages]
    table(("stage", "ms", "status", "decision", "reason"), rows)
    return 0


def _ms(seconds: float) -> float:
    return round(1000 * seconds, 1)


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")

"""The data of quotas, and the month that they are for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from ragstone.core.errors import InputError
from ragstone.core.turn import Principal

WARN_AT = 0.8
"""The share of a quota from which who asks is warned."""

Kind = Literal["user", "group", "tenant"]
Subject = tuple[Kind, str]
"""Who a quota is for: a user or a group by name, or the whole tenant, with an empty name."""

EVERY_USER: Subject = ("user", "*")
"""Each user that has no quota of its own."""


@dataclass(frozen=True, slots=True)
class MonthUse:
    """What was used of chat models in a month; `cost` in US dollars, as far as prices are known."""

    tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Quota:
    """Tokens and US dollars (`cost`) for each calendar month (UTC), None for no limit, with what is
    used of them, and when the month ends in seconds since 1970. `subject` is `user:NAME`,
    `group:NAME`, `tenant` for all together, or `user:*` for each user without a quota of its own,
    which shows the use of the one who used most."""

    subject: str
    tokens: int | None
    cost: float | None
    used_tokens: int = 0
    used_cost: float = 0.0
    ends_at: float = 0.0

    @property
    def share(self) -> float:
        """The share that is used, of tokens or money, whichever is more."""
        shares = [
            used / limit if limit else 1.0
            for used, limit in ((self.used_tokens, self.tokens), (self.used_cost, self.cost))
            if limit is not None
        ]
        return max(shares, default=0.0)


def parse_subject(text: str) -> Subject:
    """Return who a quota is for. Raises InputError."""
    kind, _, name = text.strip().partition(":")
    if kind == "tenant" and not name:
        return "tenant", ""
    if kind in ("user", "group") and name.strip() and name.isprintable():
        return ("user" if kind == "user" else "group"), name.strip()
    raise InputError(
        f"Not a valid subject: {text[:100]!r}. Use 'user:NAME', 'group:NAME', 'user:*' or 'tenant'."
    )


def format_subject(subject: Subject) -> str:
    """Return the inverse of `parse_subject`."""
    kind, name = subject
    return kind if kind == "tenant" else f"{kind}:{name}"


def list_subjects(principal: Principal) -> Sequence[Subject]:
    """Return whom the use of somebody counts for: who asks, all groups, and the tenant."""
    user: list[Subject] = [("user", principal.user)] if principal.user else []
    return [*user, *(("group", name) for name in dict.fromkeys(principal.groups)), ("tenant", "")]


def format_month(at: float) -> str:
    """Return the calendar month (UTC) of a time, such as 2026-11."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m")


def month_end(at: float) -> float:
    """Return when the month of a time ends."""
    day = datetime.fromtimestamp(at, UTC)
    year, month = (day.year + 1, 1) if day.month == 12 else (day.year, day.month + 1)
    return datetime(year, month, 1, tzinfo=UTC).timestamp()


def describe_use(quota: Quota) -> str:
    """Return what is used of a quota, for people."""
    parts = []
    if quota.tokens is not None:
        parts.append(f"{quota.used_tokens:,} of {quota.tokens:,} tokens")
    if quota.cost is not None:
        parts.append(f"${quota.used_cost:,.2f} of ${quota.cost:,.2f}")
    return f"{' and '.join(parts)} of {quota.subject}"


def format_end(quota: Quota) -> str:
    """Return the first day of the next month."""
    return datetime.fromtimestamp(quota.ends_at, UTC).strftime("%Y-%m-%d")

"""How much a credential used in the last minute, counted in this process.

A sliding window out of two fixed ones: what the minute before used counts by the share of it that
still lies within the last 60 seconds. Twice the limit can never pass at a minute's end.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Allowance:
    """The rest of a limit: `remaining` units now, all of them in `reset` seconds; `wait` is in
    how many seconds one more passes, 0 if this one did."""

    limit: int
    remaining: int
    reset: float
    wait: float = 0.0


class Rates(Protocol):
    """Counts by name."""

    async def take(self, name: str, limit: int, cost: int = 1) -> Allowance:
        """Use `cost` of `limit` a minute, or nothing if that is too much; 0 only looks."""
        ...

    async def add(self, name: str, cost: int) -> None:
        """Use `cost` whatever the limit is."""
        ...

    async def aclose(self) -> None: ...


class LocalRates:
    """`Rates` in this process. `clock` is in seconds."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._minute = 0
        self._used: dict[str, int] = {}
        self._before: dict[str, int] = {}

    async def take(self, name: str, limit: int, cost: int = 1) -> Allowance:
        now = self._advance()
        before, used = self._before.get(name, 0), self._used.get(name, 0)
        allowance = compute_allowance(before, used, limit, cost, now)
        if cost and not allowance.wait:
            self._used[name] = used + cost
        return allowance

    async def add(self, name: str, cost: int) -> None:
        self._advance()
        self._used[name] = self._used.get(name, 0) + cost

    async def aclose(self) -> None: ...

    def _advance(self) -> float:
        """Drop the counts of past minutes; returns the time now."""
        now = self._clock()
        minute = int(now // MINUTE)
        if minute != self._minute:
            self._before = self._used if minute == self._minute + 1 else {}
            self._used, self._minute = {}, minute
        return now


def compute_allowance(before: int, used: int, limit: int, cost: int, now: float) -> Allowance:
    """Tell whether `cost` more fits, where the minute before used `before` and this one `used`.

    One that only looks (cost 0) needs room for a unit.
    """
    into = now % MINUTE
    total = used + before * (1 - into / MINUTE)
    wanted = max(cost, 1)
    reset = MINUTE - into + (MINUTE if used else 0)
    if total + wanted <= limit:
        return Allowance(limit, max(0, math.floor(limit - total - cost)), reset)
    return Allowance(limit, 0, reset, _wait(before, used, limit - wanted, into))


def _wait(before: int, used: int, most: int, into: float) -> float:
    """Seconds until the window holds at most `most`."""
    if used <= most and before:
        return max(0.1, MINUTE * (1 - (most - used) / before) - into)
    left = MINUTE - into
    return max(0.1, left + MINUTE * (1 - max(0, most) / used)) if used else left

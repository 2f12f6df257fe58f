"""The time that all servers of one state agree on: that of its database.

A time that one machine writes is compared by another: when a job is due, until when a key holds,
which conversation went on last. The clocks of two machines may be hours apart, so each server that
shares a database goes by that one's clock.
"""

import asyncio
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

EARLIEST, LATEST = -62_135_596_800.0, 253_402_300_799.0
"""Seconds from 1970 to the beginning of the year 1, and to the end of 9999."""

TOLERATED = 1.0
"""Seconds by which two clocks may differ: what a slow answer of the database makes of it is no
difference, and time does not jump with every connection."""

_ahead = 0.0


def state_time() -> float:
    """Return seconds since 1970 by the clock of the state."""
    return time.time() + _ahead


def calendar_time(seconds: float) -> float:
    """Return a time that a file, a client or a source tells, or 0, which stands for none, where no
    calendar has it."""
    return seconds if EARLIEST <= seconds <= LATEST else 0.0


def compare(there: float, asked: float, answered: float) -> float:
    """Go by another clock, which said `there` between two times of this machine's. How many seconds
    it is ahead by what is new; 0 where nothing is."""
    global _ahead

    def agrees(ahead: float) -> bool:
        return asked - TOLERATED <= there - ahead <= answered + TOLERATED

    if agrees(_ahead):
        return 0.0
    # Clocks that agree about are left alone: then times are those of this machine.
    _ahead = 0.0 if agrees(0.0) else there - (asked + answered) / 2
    return _ahead


@dataclass(frozen=True, slots=True)
class Limit:
    """`seconds` that `setting` allows, which are over at `end` of `time.monotonic`."""

    seconds: float = math.inf
    end: float = math.inf
    setting: str = ""

    @classmethod
    def start(cls, seconds: float, setting: str) -> "Limit":
        """Return the limit that begins now."""
        return cls(seconds, time.monotonic() + seconds, setting)

    @property
    def remaining(self) -> float:
        """Seconds until it is over."""
        return self.end - time.monotonic()

    def earlier(self, other: "Limit") -> "Limit":
        """Return whichever is over first."""
        return self if self.end <= other.end else other


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """By when an answer should begin, and must have ended. Nothing of it leaves before its end
    unless it `streams`; then it must have ended by `stream`."""

    begins: Limit = Limit()
    ends: Limit = Limit()
    streams: bool = True
    stream: Limit = Limit()

    def for_stream(self) -> "TimeLimits":
        """Return those of an answer that is streamed."""
        begins = self.begins.earlier(self.stream)
        return replace(self, begins=begins, ends=self.stream, streams=True)


UNLIMITED = TimeLimits()
TIME_LIMITS: ContextVar[TimeLimits] = ContextVar("ragstone_time_limits", default=UNLIMITED)
"""Set for each request as it comes; tasks that it starts inherit it."""


@contextmanager
def apply_limit(limit: Limit) -> Iterator[None]:
    """Keep to `limit` too, for what is done inside."""
    limits = TIME_LIMITS.get()
    narrower = replace(limits, begins=limits.begins.earlier(limit), ends=limits.ends.earlier(limit))
    token = TIME_LIMITS.set(narrower)
    try:
        yield
    finally:
        TIME_LIMITS.reset(token)


def has_failed(task: "asyncio.Task[Any]") -> bool:
    """Tell whether the task ended without a result."""
    return task.done() and (task.cancelled() or task.exception() is not None)

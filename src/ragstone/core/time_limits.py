"""How long an answer may take: known to whoever waits for something on its way, such as a model."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Limit:
    """`seconds` that `setting` allows, which are over at `end` of `time.monotonic`."""

    seconds: float = math.inf
    end: float = math.inf
    setting: str = ""

    @classmethod
    def of(cls, seconds: float, setting: str) -> "Limit":
        """The limit that begins now."""
        return cls(seconds, time.monotonic() + seconds, setting)

    @property
    def left(self) -> float:
        """Seconds until it is over."""
        return self.end - time.monotonic()

    def earlier(self, other: "Limit") -> "Limit":
        """Whichever is over first."""
        return self if self.end <= other.end else other


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """By when an answer should begin, and must have ended. Nothing of it leaves before its end
    unless it `streams`; then it must have ended by `stream`."""

    begins: Limit = Limit()
    ends: Limit = Limit()
    streams: bool = True
    stream: Limit = Limit()

    def streaming(self) -> "TimeLimits":
        """Those of an answer that is streamed."""
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

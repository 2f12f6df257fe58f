"""Lets a model rest that failed several times in a row, and tries it again with one call.

None of the libraries fits: pybreaker holds a thread's lock for the length of a call and knows
asyncio only through tornado; in purgatory and circuitbreaker every caller comes through when the
rest is over, and a caller who leaves counts as a failure or as a success.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Literal

from ragstone.core.errors import Busy

State = Literal["closed", "open", "half open"]


class Resting(Exception):
    """The model is not asked; `seconds` until it is tried again."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"resting for {seconds:.1f} s")
        self.seconds = seconds


class BreakerCall:
    """One call that was let through; its caller reports how it goes."""

    def __init__(self, breaker: "Breaker", probe: bool) -> None:
        self._breaker = breaker
        self.probe = probe
        self.outcome: Literal["left", "good", "bad"] = "left"

    def mark_begun(self) -> None:
        """The model says something: others may ask it again, though one more failure ends that."""
        if self.probe:
            self.probe = False
            self._breaker.half_close()

    def mark_succeeded(self) -> None:
        self.outcome = "good"

    def mark_failed(self) -> None:
        self.outcome = "bad"


class Breaker:
    """Closed, it lets every call through; `failures` in a row open it; after `recovery` seconds
    one call goes through, and its outcome closes it or opens it again. A call whose caller left,
    or that failed by what its caller wanted, proves nothing. `failures` of 0 keeps it closed."""

    def __init__(
        self, failures: int, recovery: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = failures
        self._recovery = recovery
        self._clock = clock
        self._failed = 0
        self._opened: float | None = None
        self._probing = False

    @property
    def state(self) -> State:
        if self._opened is None:
            return "closed"
        return "open" if self.seconds > 0 else "half open"

    @property
    def seconds(self) -> float:
        """How long it stays open; 0 when it is not."""
        if self._opened is None:
            return 0.0
        return max(0.0, self._opened + self._recovery - self._clock())

    @contextmanager
    def call(self) -> Iterator[BreakerCall]:
        """Make one call; raises Resting."""
        probe = self._opened is not None
        if self.seconds > 0 or (probe and self._probing):
            # While a probe is on its way the rest is over, but its outcome is not known yet: the
            # model is not asked twice, and who waits asks again soon.
            raise Resting(self.seconds or 1.0)
        self._probing = self._probing or probe
        call = BreakerCall(self, probe)
        try:
            yield call
        finally:
            self._record_outcome(call)

    def close(self) -> None:
        """Let calls through, as the model answers."""
        self._failed, self._opened = 0, None

    def half_close(self) -> None:
        """Let calls through, but open at the next failure."""
        self._probing = False
        self._opened = None
        # A model that begins to speak is not well yet: its very next failure opens the breaker.
        self._failed = self._most - 1

    def _record_outcome(self, call: BreakerCall) -> None:
        if call.probe:
            self._probing = False
        if call.outcome == "good":
            self.close()
        elif call.outcome == "bad":
            self._failed += 1
            # Of calls that began before it opened, a late failure must not lengthen the rest.
            tripped = self._opened is None and self._failed >= self._most
            if self._most and (call.probe or tripped):
                self._opened = self._clock()


class CallQueue:
    """At most `most` at a time (0 is no limit); who waited `patience` seconds gets Busy."""

    def __init__(self, name: str, most: int, patience: float) -> None:
        self._name = name
        self._free = asyncio.Semaphore(most) if most else None
        self._patience = patience

    @asynccontextmanager
    async def turn(self, seconds: float = math.inf) -> AsyncIterator[None]:
        """Wait for a turn, no longer than `seconds`, and hold it."""
        if self._free is None:
            yield
            return
        await self._wait(self._free, min(seconds, self._patience))
        try:
            yield
        finally:
            self._free.release()

    async def _wait(self, free: asyncio.Semaphore, seconds: float) -> None:
        if not free.locked():
            await free.acquire()
            return
        try:
            async with asyncio.timeout(seconds):
                await free.acquire()
        except TimeoutError as error:
            raise Busy(
                f"The model {self._name!r} is busy: no turn came within {seconds:.3g} s. "
                "Try again later.",
                retry_after=self._patience,
            ) from error

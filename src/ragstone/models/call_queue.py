"""So many calls of a model at a time; the others wait in turn, but not for ever."""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ragstone.core.errors import Busy


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

"""Places for questions: so many at a time, so many waiting, and the next one is sent away."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ragstone.core.errors import TooManyRequests


class Slots:
    """`places` questions run at a time; at most `queue` more wait, each for at most `patience`
    seconds. `each` is how many one credential may have, waiting ones too; 0 for no limit."""

    def __init__(self, places: int, queue: int, patience: float, each: int) -> None:
        self._free = asyncio.Semaphore(places)
        self._queue = queue
        self._patience = patience
        self._each = each
        self._waiting = 0
        self._of: Counter[str] = Counter()

    @asynccontextmanager
    async def place(self, key: str) -> AsyncIterator[None]:
        """Hold a place for the credential `key`, empty for one without limits of its own."""
        if key and self._each and self._of[key] >= self._each:
            raise TooManyRequests(
                f"This credential already has {self._each} questions under way. "
                "Wait for one of them.",
                1.0,
            )
        self._of[key] += 1
        try:
            await self._acquire()
            try:
                yield
            finally:
                self._free.release()
        finally:
            self._of[key] -= 1
            if not self._of[key]:
                del self._of[key]

    async def _acquire(self) -> None:
        if not self._free.locked():
            await self._free.acquire()
            return
        if self._waiting >= self._queue:
            raise self._full_error()
        self._waiting += 1
        try:
            async with asyncio.timeout(self._patience):
                await self._free.acquire()
        except TimeoutError as error:
            raise self._full_error() from error
        finally:
            self._waiting -= 1

    def _full_error(self) -> TooManyRequests:
        return TooManyRequests(
            "The server is answering as many questions as it can. Try again in a moment.",
            self._patience,
        )

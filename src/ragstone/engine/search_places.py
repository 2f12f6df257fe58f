"""How many questions search at a time where the index is on a server."""

import asyncio
from types import TracebackType
from typing import Any

SLOW_SECONDS = 1.0
"""After that time a search surely waits, which takes nothing from the others: for the index, or for
a reranker of this machine, each of which has one thread for all. That is why it need not be known
which of the two it is."""


class SearchPlaces:
    """`most` tasks at a time are in `async with places:`, besides those that have been there for
    over `slow` seconds: a collection whose searches hang keeps no other waiting."""

    def __init__(self, most: int, slow: float = SLOW_SECONDS) -> None:
        self._free = asyncio.Semaphore(most)
        self._slow = slow
        self._held: dict[asyncio.Task[Any] | None, asyncio.TimerHandle] = {}

    async def __aenter__(self) -> None:
        await self._free.acquire()
        task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        self._held[task] = loop.call_later(self._slow, self._leave, task)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave(asyncio.current_task())

    def _leave(self, task: asyncio.Task[Any] | None) -> None:
        timer = self._held.pop(task, None)
        if timer is not None:
            timer.cancel()
            self._free.release()

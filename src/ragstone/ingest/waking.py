"""Work on collections in the background, one pass of each at a time."""

import asyncio
from collections.abc import Awaitable, Callable

from ragstone.core.clock import TIME_LIMITS, UNLIMITED
from ragstone.core.records import Collection


class Waking:
    """Runs `work` for a collection whenever it is woken; again if it was woken meanwhile."""

    def __init__(self, work: Callable[[Collection], Awaitable[None]]) -> None:
        self._work = work
        self._running: dict[Collection, asyncio.Task[None]] = {}
        self._again: set[Collection] = set()

    def wake(self, collection: Collection) -> None:
        """Do it now, or after what is being done."""
        if collection in self._running:
            self._again.add(collection)
            return
        task = asyncio.ensure_future(self._run(collection))
        self._running[collection] = task
        task.add_done_callback(lambda _: self._finish(collection))

    async def _run(self, collection: Collection) -> None:
        # Whatever woke it, nobody waits for this.
        TIME_LIMITS.set(UNLIMITED)
        await self._work(collection)

    def _finish(self, collection: Collection) -> None:
        del self._running[collection]
        if collection in self._again:
            self._again.discard(collection)
            self.wake(collection)

    async def drain(self) -> None:
        """Return when everything is done that was to be done."""
        while self._running:
            await asyncio.wait(list(self._running.values()))
            await asyncio.sleep(0)

    async def aclose(self, seconds: float = 3.0) -> None:
        """Wait some seconds for what is running, then stop it."""
        self._again.clear()
        tasks = list(self._running.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

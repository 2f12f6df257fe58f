"""Whose turn it is where several want the same few places.

Work on collections in the background, one pass of each at a time.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from ragstone.core.clock import TIME_LIMITS, UNLIMITED
from ragstone.core.records import Collection


class Owner(NamedTuple):
    """Whom a file is read for."""

    tenant: str
    collection: str


NOBODY = Owner("", "")


class Turns:
    """Places for whoever asks, first for the tenant, then the collection, that has the fewest.

    So that nobody's files hold up all others, there is one place more for a collection that has
    none, and another one for a tenant that has none.
    """

    def __init__(self, places: int) -> None:
        self._places = places
        self._held: Counter[Owner] = Counter()
        self._waiting: list[tuple[Owner, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def place(self, owner: Owner) -> AsyncIterator[None]:
        """A place, once it is the owner's turn."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((owner, turn))
        self._give()
        try:
            await turn
            yield
        finally:
            if turn.cancelled():
                self._waiting.remove((owner, turn))
            else:
                self._held -= Counter([owner])
            self._give()

    def _give(self) -> None:
        """Give the free places to those whose turn it is."""
        while may := [item for item in self._waiting if not item[1].done() and self._may(item[0])]:
            owner, turn = min(may, key=lambda item: (self._of_tenant(item[0]), self._held[item[0]]))
            self._waiting.remove((owner, turn))
            self._held += Counter([owner])
            turn.set_result(None)

    def _may(self, owner: Owner) -> bool:
        # Who has none gets in although all places are taken, at most by two.
        more = (not self._held[owner]) + (not self._of_tenant(owner))
        return self._held.total() < self._places + more

    def _of_tenant(self, owner: Owner) -> int:
        return sum(count for held, count in self._held.items() if held.tenant == owner.tenant)


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

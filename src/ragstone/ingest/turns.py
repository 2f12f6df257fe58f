"""Whose turn it is where several want the same few places."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple


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

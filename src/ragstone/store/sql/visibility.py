"""Which revisions must not be seen, and who is looking."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import NamedTuple


class Change(NamedTuple):
    """The changes of a transaction to the hidden revisions."""

    hide: tuple[str, ...] = ()
    show: tuple[str, ...] = ()


class Visibility:
    """The hidden revisions, as of the last commit, and the searches that go on under them."""

    def __init__(self, hidden: Iterable[str]) -> None:
        self._hidden = frozenset(hidden)
        self._readers: set[asyncio.Event] = set()

    def apply(self, change: Change) -> None:
        """Take over a committed change: one assignment, so a search sees all of it or nothing."""
        self._hidden = (self._hidden | set(change.hide)) - set(change.show)

    def replace(self, hidden: Iterable[str]) -> None:
        """Hide just these, in one assignment too."""
        self._hidden = frozenset(hidden)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[frozenset[str]]:
        """The hidden revisions; `drained` waits for the exit."""
        left = asyncio.Event()
        self._readers.add(left)
        try:
            yield self._hidden
        finally:
            self._readers.discard(left)
            left.set()

    async def drained(self) -> None:
        """Return when everyone who is looking now has left; later ones are not waited for."""
        for left in tuple(self._readers):
            await left.wait()

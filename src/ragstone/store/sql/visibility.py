"""Which revisions must not be seen, and who is looking."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

from ragstone.store.sql.editions import Key


class Revision(NamedTuple):
    """A revision by its name, with the tenant and id of its collection."""

    tenant: str
    collection: str
    name: str


class Change(NamedTuple):
    """The changes of a transaction to the hidden revisions."""

    hide: tuple[Revision, ...] = ()
    show: tuple[Revision, ...] = ()


NOTHING: frozenset[str] = frozenset()


class Visibility:
    """The hidden revisions of each collection, as of the last commit, and the searches that go on
    under them."""

    def __init__(self, hidden: Iterable[Revision]) -> None:
        self._hidden = _by_collection(hidden)
        self._readers: set[asyncio.Event] = set()

    def apply(self, change: Change) -> None:
        """Take over a committed change: one assignment, so a search sees all of it or nothing."""
        hide, show = _by_collection(change.hide), _by_collection(change.show)
        hidden = dict(self._hidden)
        for key in {*hide, *show}:
            names = (hidden.pop(key, NOTHING) | hide.get(key, NOTHING)) - show.get(key, NOTHING)
            if names:
                hidden[key] = names
        self._hidden = hidden

    def replace(self, hidden: Iterable[Revision]) -> None:
        """Hide just these, in one assignment too."""
        self._hidden = _by_collection(hidden)

    @asynccontextmanager
    async def snapshot(self, key: Key | None) -> AsyncIterator[frozenset[str]]:
        """The hidden revisions of a collection, of all without one; `drained` waits for the
        exit."""
        left = asyncio.Event()
        self._readers.add(left)
        try:
            if key is None:
                yield NOTHING.union(*self._hidden.values())
            else:
                yield self._hidden.get(key, NOTHING)
        finally:
            self._readers.discard(left)
            left.set()

    async def drain(self) -> None:
        """Return when everyone who is looking now has left; later ones are not waited for."""
        for left in tuple(self._readers):
            await left.wait()


def _by_collection(several: Iterable[Revision]) -> Mapping[Key, frozenset[str]]:
    found: dict[Key, set[str]] = {}
    for revision in several:
        found.setdefault((revision.tenant, revision.collection), set()).add(revision.name)
    return {key: frozenset(names) for key, names in found.items()}

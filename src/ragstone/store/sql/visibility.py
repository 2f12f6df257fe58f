"""Which revisions must not be seen, and who is looking."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from sqlalchemy import Connection, String, cast, select, update

from ragstone.store.sql.rows import batches, insert
from ragstone.store.sql.tables import documents, editions

Key = tuple[str, str]
"""A collection's tenant and id."""

ALLOWED = cast(documents.c.allowed, String)
"""As JSON: the documents of a collection have few different lists, which are read once each."""

FIRST_BITS = 48
"""A first number is drawn by lot: a collection that is made again has never had it."""


def read_readers(connection: Connection, key: Key) -> set[str]:
    """Return names that documents of a collection which answer are allowed to."""
    tenant, collection = key
    mine = (documents.c.tenant == tenant) & (documents.c.collection == collection)
    lists = select(ALLOWED).where(mine, documents.c.version > 0).distinct()
    return {name for listed in connection.execute(lists).scalars() for name in json.loads(listed)}


def read_number(connection: Connection, key: Key) -> int:
    """Return the number of a collection; its first one, if it has none yet."""
    place = (editions.c.tenant == key[0]) & (editions.c.collection == key[1])
    known = connection.execute(select(editions.c.number).where(place)).scalar()
    if known is not None:
        return int(known)
    first = secrets.randbits(FIRST_BITS)
    row = {"tenant": key[0], "collection": key[1], "number": first}
    connection.execute(insert(connection, editions), row)
    return first


def next_number(connection: Connection, key: Key) -> int:
    """Give a collection another number."""
    place = (editions.c.tenant == key[0]) & (editions.c.collection == key[1])
    counted = update(editions).where(place).values(number=editions.c.number + 1)
    found = connection.execute(counted.returning(editions.c.number)).scalar()
    return read_number(connection, key) if found is None else int(found)


def visible_readers(connection: Connection, document_ids: Sequence[str]) -> Mapping[Key, set[str]]:
    """Return the collections of those documents that answer, and who may read them."""
    found: dict[Key, set[str]] = {}
    for ids in batches(document_ids):
        rows = connection.execute(
            select(documents.c.tenant, documents.c.collection, documents.c.allowed).where(
                documents.c.id.in_(ids), documents.c.version > 0
            )
        )
        for tenant, collection, allowed in rows:
            found.setdefault((tenant, collection), set()).update(allowed)
    return found


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
        # One assignment: a search that begins now sees all of the change or nothing of it.
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
        # Of the moment: searches that begin later already see what is hidden.
        for left in tuple(self._readers):
            await left.wait()


def _by_collection(several: Iterable[Revision]) -> Mapping[Key, frozenset[str]]:
    found: dict[Key, set[str]] = {}
    for revision in several:
        found.setdefault((revision.tenant, revision.collection), set()).add(revision.name)
    return {key: frozenset(names) for key, names in found.items()}

"""What questions ask of the catalog, and how it stays right when something is written."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from collections.abc import Collection as Several
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, NamedTuple, Protocol

from sqlalchemy import Connection, delete
from sqlalchemy.exc import IntegrityError

from ragstone.core.errors import UnknownCollection
from ragstone.core.records import Collection
from ragstone.ports import Edition
from ragstone.store.sql import revising
from ragstone.store.sql.database import Database
from ragstone.store.sql.tables import editions
from ragstone.store.sql.visibility import (
    Change,
    Key,
    Revision,
    Visibility,
    next_number,
    read_number,
    read_readers,
    visible_readers,
)

Work = Callable[[Connection], Change]


class View(Protocol):
    """Collections, editions and hidden revisions, as of the last commit of any server; keys are
    tenant and id."""

    async def collection(self, key: Key) -> Collection | None: ...

    async def find_by_name(self, tenant: str, name: str) -> Collection | None: ...

    async def some(self, tenant: str, ids: Several[str]) -> list[Collection]: ...

    async def collections(self) -> list[Collection]: ...

    async def edition(self, key: Key) -> Edition | None: ...

    def snapshot(
        self, collection: Collection | None
    ) -> AbstractAsyncContextManager[frozenset[str]]: ...

    async def drain(self) -> None: ...

    def keep_all(self) -> AbstractAsyncContextManager[None]: ...

    async def is_kept(self) -> bool: ...

    async def at_index(self, place: str) -> None: ...

    async def other_index(self) -> bool: ...

    def alone(self, key: Key) -> AbstractAsyncContextManager[None]: ...

    def publish(self, connection: Connection, document_ids: Sequence[str], work: Work) -> Any:
        """Run `work`, which changes these documents' visibility.

        Returns:
            What `apply_publication` takes once that is committed.
        """
        ...

    def apply_publication(self, done: Any) -> None: ...

    def apply_change(self, change: Change) -> None:
        """Hide or show revisions as a committed transaction of this process did."""
        ...

    def insert_edition(self, connection: Connection, collection: Collection) -> None:
        """A collection is being inserted or replaced."""
        ...

    def put(self, collection: Collection) -> None: ...

    def apply_drop(self, key: Key, change: Change) -> None: ...

    def replace_rows(self, connection: Connection) -> Any:
        """Take up that every row was replaced; `apply_replacement` takes what this returns."""
        ...

    def apply_replacement(self, done: Any) -> None: ...


class ViewWriters:
    """One holder of each key at a time, in this process."""

    def __init__(self) -> None:
        self._locks: dict[Key, asyncio.Lock] = {}

    def __call__(self, key: Key) -> asyncio.Lock:
        return self._locks.setdefault(key, asyncio.Lock())


class Shown(NamedTuple):
    """The number of what a collection shows, and who may read that."""

    number: int
    readers: frozenset[str]


def _read_edition(connection: Connection, key: Key) -> Shown | None:
    try:
        return Shown(read_number(connection, key), frozenset(read_readers(connection, key)))
    except IntegrityError:  # It was dropped meanwhile.
        return None


class MemoryView:
    """In the memory of the only process that has the database open."""

    def __init__(
        self, database: Database, hidden: Iterable[Revision], known: Iterable[Collection]
    ) -> None:
        self._database = database
        self._visibility = Visibility(hidden)
        # Every question asks for its collection, and nobody else can change them.
        self._set_collections(known)
        self._shown: dict[Key, Shown] = {}
        self._turns = ViewWriters()
        self._keeping = 0

    def _set_collections(self, known: Iterable[Collection]) -> None:
        self._known = {(collection.tenant, collection.id): collection for collection in known}
        self._named = {(item.tenant, item.name): item.id for item in self._known.values()}

    async def collection(self, key: Key) -> Collection | None:
        return self._known.get(key)

    async def find_by_name(self, tenant: str, name: str) -> Collection | None:
        id = self._named.get((tenant, name))
        return None if id is None else self._known[tenant, id]

    async def some(self, tenant: str, ids: Several[str]) -> list[Collection]:
        return [self._known[tenant, id] for id in ids if (tenant, id) in self._known]

    async def collections(self) -> list[Collection]:
        return list(self._known.values())

    async def edition(self, key: Key) -> Edition | None:
        known = self._known.get(key)
        if known is None:
            return None
        if key not in self._shown:
            # In turn with the writers, so that no change falls between reading and keeping.
            await self._database.keep(partial(_read_edition, key=key), partial(self._show, key))
        shown = self._shown.get(key)
        if shown is None:
            return None
        stamp = f"{shown.number:032x}/{known.fingerprint}/{known.build}"
        return Edition(stamp, shown.readers)

    def _show(self, key: Key, shown: "Shown | None") -> None:
        if key in self._known and shown is not None:
            self._shown[key] = shown

    def snapshot(
        self, collection: Collection | None
    ) -> AbstractAsyncContextManager[frozenset[str]]:
        key = None if collection is None else (collection.tenant, collection.id)
        if collection is not None and key not in self._known:
            raise UnknownCollection(collection.name)
        return self._visibility.snapshot(key)

    async def drain(self) -> None:
        await self._visibility.drain()

    @asynccontextmanager
    async def keep_all(self) -> AsyncIterator[None]:
        self._keeping += 1
        try:
            yield
        finally:
            self._keeping -= 1

    async def is_kept(self) -> bool:
        return self._keeping > 0

    async def at_index(self, place: str) -> None:
        """Do nothing: nobody else asks."""

    async def other_index(self) -> bool:
        return False

    @asynccontextmanager
    async def alone(self, key: Key) -> AsyncIterator[None]:
        async with self._turns(key):
            yield

    def publish(
        self, connection: Connection, document_ids: Sequence[str], work: Work
    ) -> tuple[Change, Mapping[Key, Shown]]:
        before = visible_readers(connection, document_ids)
        change = work(connection)
        after = visible_readers(connection, document_ids)
        return change, {
            key: Shown(next_number(connection, key), frozenset(after.get(key, ())))
            for key in {*before, *after}
        }

    def apply_publication(self, done: tuple[Change, Mapping[Key, Shown]]) -> None:
        """Change visibility and edition in the same instant."""
        self._visibility.apply(done[0])
        for key, shown in done[1].items():
            if known := self._shown.get(key):
                # Names only come: one too many makes two principals differ that need not.
                self._shown[key] = Shown(shown.number, known.readers | shown.readers)

    def apply_change(self, change: Change) -> None:
        self._visibility.apply(change)

    def insert_edition(self, connection: Connection, collection: Collection) -> None:
        pass

    def put(self, collection: Collection) -> None:
        tenant, id = collection.tenant, collection.id
        old = self._known.get((tenant, id))
        if old is not None:
            del self._named[tenant, old.name]
        self._known[tenant, id] = collection
        self._named[tenant, collection.name] = id

    def apply_drop(self, key: Key, change: Change) -> None:
        self._visibility.apply(change)
        old = self._known.pop(key, None)
        if old is not None:
            del self._named[old.tenant, old.name]
        self._shown.pop(key, None)

    def replace_rows(self, connection: Connection) -> revising.Read:
        """Every collection gets a number that it has never had."""
        connection.execute(delete(editions))
        return revising.read(connection)

    def apply_replacement(self, done: revising.Read) -> None:
        hidden, known = done
        self._visibility.replace(hidden)
        self._set_collections(known)
        self._shown = {}

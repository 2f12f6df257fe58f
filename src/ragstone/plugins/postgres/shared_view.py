"""The catalog's view when several servers share the database: nothing is kept that may be old."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from collections.abc import Collection as Several
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from sqlalchemy import Connection, Text, cast, delete, select, text

from ragstone.core.records import Collection
from ragstone.plugins.postgres.leases import Leases
from ragstone.ports import Edition
from ragstone.ports.jobs import PARTS, RUNNING
from ragstone.store.sql import revising
from ragstone.store.sql.database import Database
from ragstone.store.sql.job_claims import OF_RUNNING
from ragstone.store.sql.rows import batches, insert, to_collection
from ragstone.store.sql.tables import collections, documents, editions, jobs, readers
from ragstone.store.sql.view import ViewWriters, Work
from ragstone.store.sql.visibility import Change, Key, visible_readers

PART_SECONDS = 0.25
"""How often it is looked whether parts have ended."""

_NOW = text("(extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
"""A collection's first number: one that is dropped and made anew has never had it."""


class SharedView:
    """Asks PostgreSQL each time, so that what one server has committed holds in all of them."""

    def __init__(self, database: Database, leases: Leases) -> None:
        self._database = database
        self._leases = leases
        self._turns = ViewWriters()
        self._readers: dict[Key, tuple[int, frozenset[str]]] = {}

    @classmethod
    async def open(cls, database: Database, leases: Leases) -> "SharedView":
        """Join the servers of this database; the first one repairs the state after a crash."""
        lonely = await leases.is_alone()

        def work(connection: Connection) -> None:
            if lonely:
                revising.recover(connection)
            _complete_editions(connection)

        await database.keep(work)
        return cls(database, leases)

    async def collection(self, key: Key) -> Collection | None:
        return await self._fetch_collection(_select_collection(key))

    async def find_by_name(self, tenant: str, name: str) -> Collection | None:
        mine = (collections.c.tenant == tenant) & (collections.c.name == name)
        return await self._fetch_collection(select(collections).where(mine))

    async def some(self, tenant: str, ids: Several[str]) -> list[Collection]:
        found: list[Collection] = []
        async with self._database.read_view() as connection:
            for some in batches(sorted(ids)):
                mine = (collections.c.tenant == tenant) & collections.c.id.in_(some)
                rows = (await connection.execute(select(collections).where(mine))).mappings()
                found += [to_collection(dict(row)) for row in rows]
        return found

    async def _fetch_collection(self, wanted: Any) -> Collection | None:
        async with self._database.read_view() as connection:
            row = (await connection.execute(wanted)).mappings().first()
        return None if row is None else to_collection(dict(row))

    async def collections(self) -> list[Collection]:
        async with self._database.read_view() as connection:
            rows = (await connection.execute(select(collections))).mappings()
            return [to_collection(dict(row)) for row in rows]

    async def edition(self, key: Key) -> Edition | None:
        """Names of readers are only added, so only the new ones are read."""
        numbered = (
            _select_collection(key)
            .add_columns(editions.c.number)
            .join(
                editions,
                (editions.c.tenant == collections.c.tenant)
                & (editions.c.collection == collections.c.id),
            )
        )
        async with self._database.read_view() as connection:
            row = (await connection.execute(numbered)).mappings().first()
            if row is None:
                return None
            number, known = self._readers.get(key, (0, frozenset[str]()))
            if row["number"] != number:
                mine = (readers.c.tenant == key[0]) & (readers.c.collection == key[1])
                new = select(readers.c.name).where(mine, readers.c.since > number)
                known |= set((await connection.execute(new)).scalars())
                self._readers[key] = row["number"], known
        stamp = f"{row['number']:032x}/{row['fingerprint']}/{row['build']}"
        return Edition(stamp, known)

    def snapshot(
        self, collection: Collection | None
    ) -> AbstractAsyncContextManager[frozenset[str]]:
        return self._leases.snapshot(collection)

    async def drain(self) -> None:
        await self._leases.drain()

    def keep_all(self) -> AbstractAsyncContextManager[None]:
        return self._leases.keep_all()

    async def is_kept(self) -> bool:
        return await self._leases.is_kept()

    async def at_index(self, place: str) -> None:
        await self._leases.at_index(place)

    async def other_index(self) -> bool:
        return await self._leases.other_index()

    @asynccontextmanager
    async def alone(self, key: Key) -> AsyncIterator[None]:
        async with self._turns(key), self._leases.alone(*key):
            while await self._is_helped(key):  # noqa: ASYNC110  other processes tell nothing
                await asyncio.sleep(PART_SECONDS)
            yield

    async def _is_helped(self, key: Key) -> bool:
        """Tell whether others still do parts of an ingest whose own process has gone."""
        part = select(jobs.c.id).where(
            jobs.c.kind.in_(PARTS), jobs.c.state == RUNNING, jobs.c.tenant == key[0]
        )
        part = part.where(jobs.c.collection == key[1], OF_RUNNING)
        return await self._database.read(lambda c: c.execute(part).first() is not None)

    def publish(self, connection: Connection, document_ids: Sequence[str], work: Work) -> Any:
        before = visible_readers(connection, document_ids)
        work(connection)
        after = visible_readers(connection, document_ids)
        for key in sorted({*before, *after}):
            _renumber(connection, key, after.get(key, set()))

    def apply_publication(self, done: Any) -> None:
        """The database knows."""

    def apply_change(self, change: Change) -> None:
        """The database knows."""

    def insert_edition(self, connection: Connection, collection: Collection) -> None:
        first = insert(connection, editions).values(
            tenant=collection.tenant, collection=collection.id, number=_NOW
        )
        connection.execute(first.on_conflict_do_nothing())

    def put(self, collection: Collection) -> None:
        """The database knows."""

    def apply_drop(self, key: Key, change: Change) -> None:
        self._readers.pop(key, None)

    def replace_rows(self, connection: Connection) -> Any:
        """Every collection gets a number that it has never had."""
        connection.execute(delete(readers))
        connection.execute(delete(editions))
        _complete_editions(connection)

    def apply_replacement(self, done: Any) -> None:
        self._readers.clear()


def _select_collection(key: Key) -> Any:
    return select(collections).where(collections.c.tenant == key[0], collections.c.id == key[1])


def _renumber(connection: Connection, key: Key, names: set[str]) -> None:
    """The next edition of a collection, with those of its readers that are new."""
    place = {"tenant": key[0], "collection": key[1]}
    next_ = insert(connection, editions).values(**place, number=_NOW)
    next_ = next_.on_conflict_do_update(
        index_elements=list(place), set_={"number": editions.c.number + 1}
    )
    number = connection.execute(next_.returning(editions.c.number)).scalar_one()
    if names:
        rows = [{**place, "name": name, "since": number} for name in sorted(names)]
        connection.execute(insert(connection, readers).on_conflict_do_nothing(), rows)


def _complete_editions(connection: Connection) -> None:
    """Number imported collections, and delete readers of documents that no longer exist."""
    some = select(collections.c.tenant, collections.c.id, _NOW)
    numbers = insert(connection, editions).from_select(["tenant", "collection", "number"], some)
    connection.execute(numbers.on_conflict_do_nothing())
    allowed = cast(documents.c.allowed, Text)
    now = select(documents.c.tenant, documents.c.collection, allowed).where(documents.c.version > 0)
    known = select(readers.c.tenant, readers.c.collection, readers.c.name)
    names = {
        (tenant, collection, name)
        for tenant, collection, listed in connection.execute(now.distinct())
        for name in json.loads(listed)
    }
    before = {tuple(row) for row in connection.execute(known)}
    for tenant, collection, name in before - names:
        connection.execute(
            delete(readers).where(
                readers.c.tenant == tenant,
                readers.c.collection == collection,
                readers.c.name == name,
            )
        )
    rows = [
        {"tenant": tenant, "collection": collection, "name": name, "since": 1}
        for tenant, collection, name in sorted(names - before)
    ]
    if rows:
        connection.execute(insert(connection, readers).on_conflict_do_nothing(), rows)

"""Collections, documents and their revisions: which exist, which answer, which are hidden."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import fields, replace
from functools import partial
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.chunk import revision
from ragstone.core.records import Collection, Document, DocumentStatus
from ragstone.ports import Edition
from ragstone.store.sql import revising
from ragstone.store.sql.database import Database
from ragstone.store.sql.rows import batches, put, to_document
from ragstone.store.sql.tables import collections, documents, revisions
from ragstone.store.sql.view import MemoryView, View
from ragstone.store.sql.visibility import Change


class SqlCatalog:
    """`ports.Catalog` on the state store; on SQLite one process at a time may have it open.

    Writes raise StorageFull and StateUnavailable, reads StateUnavailable. The row of a document
    describes the version that answers: only `publish` changes its title, permissions, hash and
    counts once there is one.
    """

    def __init__(self, database: Database, view: View) -> None:
        self._database = database
        self._view = view

    @classmethod
    async def open(cls, database: Database) -> "SqlCatalog":
        """The catalog in `database`, with the hidden revisions as the last process left them."""
        if database.shared:
            from ragstone.store.sql.shared_view import SharedView

            return cls(database, await SharedView.open(database))
        hidden, known = await database.write(revising.read)
        return cls(database, MemoryView(database, hidden, known))

    async def collection(self, tenant: str, name: str) -> Collection | None:
        return await self._view.collection((tenant, name))

    async def collections(self, tenant: str | None = None) -> list[Collection]:
        """By tenant and name."""
        known = {(one.tenant, one.name): one for one in await self._view.collections()}
        return [known[key] for key in sorted(known) if tenant in (None, key[0])]

    async def put_collection(self, collection: Collection) -> None:
        row = {field.name: getattr(collection, field.name) for field in fields(collection)}

        async def work(connection: AsyncConnection) -> None:
            await put(connection, collections, row)
            await self._view.putting(connection, collection)

        await self._database.write(work, lambda _: self._view.put(collection))

    async def drop_collection(self, tenant: str, name: str) -> None:
        async def work(connection: AsyncConnection) -> Change:
            names = select(revisions.c.name).where(
                revisions.c.tenant == tenant, revisions.c.collection == name
            )
            gone = (await connection.execute(names)).scalars().all()
            # Documents and revisions go with it, by their foreign keys.
            await connection.execute(
                delete(collections).where(
                    collections.c.tenant == tenant, collections.c.name == name
                )
            )
            return Change(show=tuple(gone))

        await self._database.write(work, lambda gone: self._view.dropped((tenant, name), gone))

    async def document(self, document_id: str) -> Document | None:
        one = select(documents).where(documents.c.id == document_id)
        async with self._database.reading() as connection:
            row = (await connection.execute(one)).mappings().first()
        return None if row is None else to_document(dict(row))

    async def documents(
        self,
        tenant: str,
        collection: str | None = None,
        *,
        status: DocumentStatus | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Document]:
        """By path; the same path in two collections by collection."""
        some = select(documents).where(documents.c.tenant == tenant)
        if collection is not None:
            some = some.where(documents.c.collection == collection)
        if status is not None:
            some = some.where(documents.c.status == status)
        some = some.order_by(documents.c.path, documents.c.collection, documents.c.id)
        async with self._database.reading() as connection:
            rows = await connection.execute(some.limit(limit).offset(offset or None))
            return [to_document(dict(row)) for row in rows.mappings()]

    async def begin(self, document: Document) -> int:
        """Open the next version; see `ports.Catalog`. Raises UnknownCollection.

        Returns when every search that began before has ended: those do not know the version's
        name yet, and would see it half written. So do not call this while `snapshot`.
        """
        version = await self._database.write(
            partial(revising.begin, document=document),
            lambda number: self._view.changed(Change(hide=(revision(document.id, number),))),
        )
        await self._view.drained()
        return version

    async def publish(self, document: Document, version: int) -> None:
        """Make `version` the one that answers; see `ports.Catalog`.

        A document that was retired while it was being written stays forgotten. Raises
        UnknownCollection if its collection was dropped.
        """
        row = replace(document, version=version, status="text", error="")
        await self._showing([row.id], partial(revising.publish, document=row))

    async def embedded(self, document_ids: Sequence[str]) -> None:
        async def work(connection: AsyncConnection) -> Change:
            for ids in batches(document_ids):
                await connection.execute(
                    documents.update()
                    .where(documents.c.id.in_(ids), documents.c.status == "text")
                    .values(status="ready")
                )
            return Change()

        await self._showing(document_ids, work)

    async def fail(self, document: Document, error: str) -> None:
        """Record why the newest content is not indexed; see `ports.Catalog`.

        Raises UnknownCollection.
        """
        row = replace(document, version=0, status="failed", error=error)
        await self._database.write(partial(revising.fail, document=row))

    async def retire(self, document_ids: Sequence[str]) -> None:
        await self._showing(document_ids, partial(revising.retire, document_ids=document_ids))

    async def _showing(
        self, document_ids: Sequence[str], work: Callable[[AsyncConnection], Awaitable[Change]]
    ) -> None:
        """Change what these documents show: visibility and edition in the same instant."""
        await self._database.write(
            lambda connection: self._view.showing(connection, document_ids, work),
            self._view.shown,
        )

    async def edition(self, tenant: str, collection: str) -> Edition | None:
        """What the collection is now; see `ports.Catalog`."""
        return await self._view.edition((tenant, collection))

    async def revisions(self, collection: Collection) -> frozenset[str]:
        """`ports.Catalog`."""
        mine = select(revisions.c.name).where(
            revisions.c.tenant == collection.tenant, revisions.c.collection == collection.name
        )
        async with self._database.reading() as connection:
            return frozenset((await connection.execute(mine)).scalars())

    async def replacing(self, connection: AsyncConnection) -> Any:
        """The store's rows have been replaced in this transaction; `replaced` takes what it
        returns once that is committed."""
        return await self._view.replacing(connection)

    def replaced(self, done: Any) -> None:
        """What is in memory becomes what was committed."""
        self._view.replaced(done)

    async def retired(self) -> list[tuple[Collection, str]]:
        # In turn with the writers: between a commit and its `apply`, a search could still begin
        # that sees what this would return for purging.
        return await self._database.write(revising.retired)

    async def purged(self, revisions: Sequence[str]) -> None:
        await self._database.write(partial(revising.purged, names=revisions), self._view.changed)

    def snapshot(self) -> AbstractAsyncContextManager[frozenset[str]]:
        return self._view.snapshot()

    async def drained(self) -> None:
        await self._view.drained()

    def alone(self, tenant: str, collection: str) -> AbstractAsyncContextManager[None]:
        return self._view.alone((tenant, collection))

    async def ready(self) -> None:
        await self._database.ready()

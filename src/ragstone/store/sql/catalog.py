"""Collections, documents and their revisions: which exist, which answer, which are hidden."""

from collections.abc import Callable, Mapping, Sequence, Set
from collections.abc import Collection as Several
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, replace
from functools import partial
from itertools import islice
from typing import Any

from sqlalchemy import Connection, delete, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.chunk import revision
from ragstone.core.errors import Conflict, UnknownCollection
from ragstone.core.filters import Scalar, tokens
from ragstone.core.readers import FolderReaders
from ragstone.core.records import Collection, Document, DocumentStatus, new_collection_id
from ragstone.ports import Begun, Edition, Look, StatusCount, Total, ValueCount
from ragstone.ports.jobs import Job
from ragstone.settings.scope import of_collection
from ragstone.store.sql import listing, revising, rights
from ragstone.store.sql.database import Database, SharedBackend
from ragstone.store.sql.parts import check_claim
from ragstone.store.sql.rows import batches, insert, to_collection, to_document
from ragstone.store.sql.settings import forget_scope
from ragstone.store.sql.tables import (
    awaited_collections,
    collections,
    documents,
    revisions,
    store_files,
    vector_stores,
    verified_answers,
    versions,
)
from ragstone.store.sql.tallies import Tallies
from ragstone.store.sql.view import MemoryView, View
from ragstone.store.sql.visibility import Change, Revision

ROWS = 500
"""Rows of documents that are fetched at a time where it is not known how many are needed."""

_DROPPED, _TAKEN = "(the collection was deleted)", "(another collection has the name now)"
"""Who the settings' log says it was."""


class SqlCatalog:
    """`ports.Catalog` on the state store; on SQLite one process at a time may have it open.

    Writes raise StorageFull and StateUnavailable, reads StateUnavailable. The row of a document
    describes the version that answers: only `publish` changes its title, permissions, hash and
    counts once there is one.
    """

    def __init__(self, database: Database, view: View) -> None:
        self._database = database
        self._view = view
        self._tallies = Tallies(database, self.edition)

    @classmethod
    async def open(cls, database: Database) -> "SqlCatalog":
        """The catalog in `database`, with the hidden revisions as the last process left them."""
        if isinstance(database.backend, SharedBackend):
            return cls(database, await database.backend.open_view(database))
        hidden, known = await database.keep(revising.read)
        return cls(database, MemoryView(database, hidden, known))

    async def collection(self, tenant: str, name: str) -> Collection | None:
        return await self._view.find_by_name(tenant, name)

    async def find_by_id(self, tenant: str, id: str) -> Collection | None:
        return await self._view.collection((tenant, id))

    async def identity(self, tenant: str, name: str, *, make: bool = True) -> str:
        known = await self._view.find_by_name(tenant, name)
        if known is not None:
            return known.id
        there = select(collections.c.id).where(
            collections.c.tenant == tenant, collections.c.name == name
        )
        to_come = select(awaited_collections.c.id).where(
            awaited_collections.c.tenant == tenant, awaited_collections.c.name == name
        )
        # In this order: one that comes between the two is found by the second, though the view,
        # which learns of it a moment later, has not seen it.
        async with self._database.read_view() as connection:
            id: str | None = await connection.scalar(to_come) or await connection.scalar(there)
        if id is not None or not make:
            return id or ""

        async def work(connection: AsyncConnection) -> str:
            for wanted in (there, to_come):
                found: str | None = await connection.scalar(wanted)
                if found is not None:
                    return found
            row = {"tenant": tenant, "name": name, "id": new_collection_id()}
            await connection.execute(insert(connection, awaited_collections), row)
            return row["id"]

        return await self._database.write(work)

    async def names(self, tenant: str, ids: Several[str]) -> Mapping[str, str]:
        names = {item.id: item.name for item in await self._view.some(tenant, ids)}
        missing = sorted(set(ids) - names.keys())
        for some in batches(missing):
            async with self._database.read_view() as connection:
                for table in (awaited_collections, collections):  # As in `identity`.
                    named = select(table.c.id, table.c.name).where(
                        table.c.tenant == tenant, table.c.id.in_(some)
                    )
                    names.update((id, name) for id, name in await connection.execute(named))
        return names

    async def collections(self, tenant: str | None = None) -> list[Collection]:
        """List the collections by tenant and name."""
        known = {
            (collection.tenant, collection.name): collection
            for collection in await self._view.collections()
        }
        return [known[key] for key in sorted(known) if tenant in (None, key[0])]

    async def put_collection(self, collection: Collection, *, known: bool = False) -> None:
        row = asdict(collection)
        place = ("tenant", "id")
        kept = {name: value for name, value in row.items() if name not in (*place, "name")}

        mine = (collections.c.tenant == collection.tenant) & (collections.c.id == collection.id)

        async def work(connection: AsyncConnection) -> Collection:
            if known and not await connection.scalar(select(collections.c.id).where(mine)):
                raise UnknownCollection(collection.name)
            await connection.run_sync(
                revising.leave_index, collection.tenant, collection.id, collection.build
            )
            new = insert(connection, collections).values(row)
            new = new.on_conflict_do_update(index_elements=place, set_=kept)
            try:
                put = await connection.execute(new.returning(*collections.c))
            except IntegrityError as error:
                raise _name_conflict(collection.name) from error
            stored = to_collection(dict(put.mappings().one()))
            if stored.name == collection.name:
                await _end_waiting(connection, stored)
            await connection.run_sync(self._view.insert_edition, stored)
            return stored

        await self._database.write(work, self._view.put)

    async def rename_collection(self, collection: Collection, name: str) -> Collection:
        tenant, old = collection.tenant, collection.name
        mine = (collections.c.tenant == tenant) & (collections.c.id == collection.id)

        async def work(connection: AsyncConnection) -> Collection:
            renamed = update(collections).where(mine, collections.c.name == old).values(name=name)
            try:
                rows = await connection.execute(renamed.returning(*collections.c))
            except IntegrityError as error:
                raise _name_conflict(name) from error
            row = rows.mappings().first()
            if row is None:
                raise UnknownCollection(old)
            stored = to_collection(dict(row))
            await _end_waiting(connection, stored)
            return stored

        return await self._database.write(work, self._view.put)

    async def drop_collection(self, tenant: str, id: str) -> None:
        async def work(connection: AsyncConnection) -> Change:
            names = select(revisions.c.name).where(
                revisions.c.tenant == tenant, revisions.c.collection == id
            )
            found = (await connection.execute(names)).scalars().all()
            gone = tuple(Revision(tenant, id, name) for name in found)
            await forget_scope(connection, of_collection(tenant, id), _DROPPED)
            # Before the row goes: it says which index is to be dropped.
            await connection.run_sync(revising.leave_index, tenant, id)
            await connection.run_sync(rights.forget_rules, (tenant, id))
            for table in (vector_stores, store_files, verified_answers):
                mine = (table.c.tenant == tenant) & (table.c.collection == id)
                await connection.execute(delete(table).where(mine))
            mine = (documents.c.tenant == tenant) & (documents.c.collection == id)
            await connection.run_sync(revising.keep_last_readers, mine)
            # Documents and revisions go with it, by their foreign keys.
            await connection.execute(
                delete(collections).where(collections.c.tenant == tenant, collections.c.id == id)
            )
            return Change(show=gone)

        await self._database.write(work, lambda gone: self._view.apply_drop((tenant, id), gone))

    async def list_unused(self) -> Sequence[Collection]:
        return await self._database.read(revising.list_unused)

    async def forget_dropped(self, unused: Sequence[Collection]) -> None:

        await self._database.keep(partial(revising.forget_dropped, unused=unused))

    async def document(self, document_id: str) -> Document | None:
        found = await self.find_documents([document_id])
        return found.get(document_id)

    async def find_documents(self, document_ids: Sequence[str]) -> Mapping[str, Document]:

        def read(connection: Connection) -> dict[str, Document]:
            found = {}
            for ids in batches(document_ids):
                some = select(documents).where(documents.c.id.in_(ids))
                for row in connection.execute(some).mappings():
                    found[row["id"]] = to_document(dict(row))
            return found

        return await self._database.read(read)

    async def find_readers(self, document_ids: Sequence[str]) -> Mapping[str, tuple[str, ...]]:

        def read(connection: Connection) -> dict[str, tuple[str, ...]]:
            found: dict[str, tuple[str, ...]] = {}
            for ids in batches(document_ids):
                deleted = select(versions.c.document_id, versions.c.last_readers).where(
                    versions.c.document_id.in_(ids), versions.c.last_readers.is_not(None)
                )
                here = select(documents.c.id, documents.c.allowed).where(documents.c.id.in_(ids))
                for wanted in (deleted, here):
                    found.update((id, tuple(names)) for id, names in connection.execute(wanted))
            return found

        return await self._database.read(read)

    async def documents(
        self,
        tenant: str,
        collection: str | None = None,
        *,
        status: DocumentStatus | None = None,
        readers: Several[str] | None = None,
        named: Sequence[str] | None = None,
        below: str = "",
        having: Mapping[str, Scalar] | None = None,
        after: str = "",
        limit: int | None = None,
        offset: int = 0,
        skipped: bool = True,
    ) -> list[Document]:
        """List documents by path; the same path in two collections by collection."""
        wanted = listing.select_documents(tenant, collection, status, after, skipped)
        if below.strip("/"):
            wanted = wanted.where(listing.folder_condition(below))
        if having:
            # Most may be read for nothing: those that are not needed are not fetched.
            wanted = wanted.where(listing.metadata_condition(having)).execution_options(
                yield_per=ROWS
            )
        else:
            wanted = wanted.limit(limit).offset(offset or None)

        def read(connection: Connection) -> list[Document]:
            some = wanted
            if readers is not None:
                some = some.where(listing.readable_condition(connection, readers))
            if named is not None:
                some = some.where(listing.place_condition(named))
            with connection.execute(some) as rows:
                found = map(to_document, map(dict, rows.mappings()))
                if not having:
                    return list(found)
                said = set(tokens(having))
                # SQL compares texts; 1 and 1.0 are equal only here (`filters.token`).
                fitting = (item for item in found if said <= set(tokens(item.metadata or {})))
                return list(islice(fitting, offset, None if limit is None else offset + limit))

        return await self._database.read(read)

    async def list_unread(
        self, tenant: str, collection: str, readers: Several[str], endings: Several[str]
    ) -> Sequence[Document]:
        wanted = listing.select_unread(tenant, collection, endings)

        def read(connection: Connection) -> list[Document]:
            some = wanted.where(listing.readable_condition(connection, readers))
            return [to_document(dict(row)) for row in connection.execute(some).mappings()]

        return await self._database.read(read)

    async def folders(
        self, tenant: str, collection: str, readers: Several[str], below: str, limit: int
    ) -> Mapping[str, int]:

        def read(connection: Connection) -> dict[str, int]:
            some = listing.select_folders(connection, tenant, collection, below)
            some = some.where(listing.readable_condition(connection, readers)).limit(limit)
            return {row.name: row.documents for row in connection.execute(some)}

        return await self._database.read(read)

    async def ids(
        self, tenant: str, collection: str, readers: Several[str] | None, named: str | None = None
    ) -> list[str]:
        wanted = listing.select_ids(tenant, collection)
        if named is not None:
            wanted = wanted.where(listing.below_condition(named))

        def read(connection: Connection) -> list[str]:
            some = wanted
            if readers is not None:
                some = some.where(listing.readable_condition(connection, readers))
            return list(connection.execute(some).scalars())

        return await self._database.read(read)

    async def sources(
        self,
        tenant: str,
        collection: str,
        at: Sequence[str] | None = None,
        below: Sequence[str] = (),
    ) -> Mapping[str, Sequence[str]]:
        read = partial(listing.read_sources, place=(tenant, collection), at=at, below=below)
        return await self._database.read(read)

    async def find_including(
        self, tenant: str, collection: str, files: Sequence[str]
    ) -> Sequence[str]:
        place = (tenant, collection)
        return await self._database.read(partial(listing.find_including, place=place, files=files))

    async def statuses(self, tenant: str, collection: str) -> Sequence[StatusCount]:
        return await self._tallies.statuses(tenant, collection)

    async def counts(
        self, tenant: str, collection: str | None = None
    ) -> Mapping[str, Sequence[StatusCount]]:
        return await self._tallies.counts(tenant, collection)

    async def totals(self) -> Sequence[Total]:
        return await self._tallies.totals()

    async def metadata_keys(
        self, tenant: str, collection: str
    ) -> Mapping[str, frozenset[tuple[str, ...]]]:
        return await self._tallies.metadata_keys(tenant, collection)

    async def metadata_values(
        self, tenant: str, collection: str, keys: Several[str]
    ) -> Mapping[str, Sequence[ValueCount]]:
        return await self._tallies.metadata_values(tenant, collection, keys)

    async def begin(self, document: Document) -> int:
        """Open the next version; see `ports.Catalog`. Raises UnknownCollection.

        Returns when every search that began before has ended: those do not know the version's
        name yet, and would see it half written. So do not call this while `snapshot`.
        """
        [begun] = await self.begin_all([document])
        return begun.version

    async def begin_all(
        self, documents: Sequence[Document], part: Job | None = None
    ) -> Sequence[Begun]:

        def hide(several: list[Begun]) -> None:
            pairs = zip(documents, several, strict=True)
            hidden = (
                Revision(item.tenant, item.collection, revision(item.id, begun.version))
                for item, begun in pairs
            )
            self._view.apply_change(Change(hide=tuple(hidden)))

        def work(connection: Connection) -> list[Begun]:
            if part is not None:
                check_claim(connection, part)
            return revising.begin_all(connection, several=documents)

        begun = await self._database.keep(work, hide)
        await self._view.drain()
        return begun

    async def mark_stopped(self, revisions: Sequence[str]) -> None:
        await self._database.keep(partial(revising.mark_stopped, names=revisions))

    async def publish(self, document: Document, version: int) -> None:
        """Make `version` the one that answers; see `ports.Catalog`.

        A document that was retired while it was being written stays forgotten. Raises
        UnknownCollection if its collection was dropped.
        """
        await self.publish_all([replace(document, version=version)])

    async def publish_all(self, documents: Sequence[Document]) -> None:
        rows = [replace(document, status="text", error="") for document in documents]
        work = partial(revising.publish_all, several=rows)
        await self._change_visibility([row.id for row in rows], work)

    async def in_text(self, tenant: str, collection: str) -> list[str]:
        wanted = listing.select_ids(tenant, collection).where(documents.c.status == "text")
        return await self._database.read(lambda c: list(c.execute(wanted).scalars()))

    async def of_content(
        self, tenant: str, collection: str, hashes: Several[str]
    ) -> Mapping[str, Document]:
        mine = (documents.c.tenant == tenant) & (documents.c.collection == collection)
        ready = (documents.c.status == "ready") & (documents.c.version > 0)

        def read(connection: Connection) -> dict[str, Document]:
            found = {}
            for some in batches(sorted(hashes)):
                wanted = select(documents).where(mine, documents.c.content_hash.in_(some), ready)
                for row in connection.execute(wanted).mappings():
                    found[row["content_hash"]] = to_document(dict(row))
            return found

        return await self._database.read(read)

    async def find_copies(
        self, tenant: str, collection: str, hashes: Several[str], readers: Several[str] | None
    ) -> Mapping[str, Sequence[Document]]:

        def read(connection: Connection) -> dict[str, list[Document]]:
            found: dict[str, list[Document]] = {}
            for some in batches(sorted(hashes)):
                wanted = listing.select_copies(connection, tenant, collection, some, readers)
                for row in connection.execute(wanted).mappings():
                    document = to_document(dict(row))
                    found.setdefault(document.content_hash, []).append(document)
            return found

        return await self._database.read(read)

    async def looks(self, document_ids: Sequence[str]) -> Mapping[str, Look]:
        return await self._database.read(partial(listing.read_looks, document_ids=document_ids))

    async def put_looks(self, looks: Mapping[str, Look]) -> None:
        await self._database.keep(partial(listing.put_looks, looks=looks))

    async def mark_embedded(self, document_ids: Sequence[str]) -> None:
        def work(connection: Connection) -> Change:
            for ids in batches(document_ids):
                connection.execute(
                    documents.update()
                    .where(documents.c.id.in_(ids), documents.c.status == "text")
                    .values(status="ready")
                )
            return Change()

        await self._change_visibility(document_ids, work)

    async def fail(self, document: Document, error: str) -> None:
        """Record why the newest content is not indexed; see `ports.Catalog`.

        Raises UnknownCollection.
        """
        await self.fail_all([replace(document, error=error)])

    async def fail_all(self, documents: Sequence[Document]) -> None:
        rows = [
            replace(item, version=0, status="skipped" if item.status == "skipped" else "failed")
            for item in documents
        ]
        await self._database.keep(partial(revising.fail_all, several=rows))

    async def folder_readers(self, tenant: str, collection: str) -> Sequence[FolderReaders]:
        return await self._database.read(partial(rights.read_rules, key=(tenant, collection)))

    async def put_folder_readers(
        self, tenant: str, collection: str, rules: Sequence[FolderReaders]
    ) -> None:
        key = (tenant, collection)
        await self._database.keep(partial(rights.put_rules, key=key, rules=rules))

    async def list_unapplied_readers(self) -> Sequence[tuple[tuple[str, str], FolderReaders]]:
        return await self._database.read(rights.list_unapplied)

    async def mark_readers_applied(
        self, tenant: str, collection: str, rules: Sequence[FolderReaders]
    ) -> None:
        key = (tenant, collection)
        await self._database.keep(partial(rights.mark_applied, key=key, rules=rules))

    async def give_readers(
        self, document_ids: Sequence[str], own: tuple[str, ...] | None = None, fixed: bool = False
    ) -> None:
        work = partial(rights.set_readers, document_ids=document_ids, own=own, fixed=fixed)
        await self._change_visibility(document_ids, work)

    async def list_withheld(
        self, limit: int, tenant: str = "", collection: str = ""
    ) -> Sequence[tuple[tuple[str, str], str, tuple[str, ...]]]:
        key = (tenant, collection) if collection else None
        return await self._database.read(partial(rights.list_withheld, key=key, limit=limit))

    async def grant(self, given: Mapping[str, tuple[str, ...]]) -> None:
        ids = [name.rpartition("@")[0] for name in given]
        await self._change_visibility(ids, partial(rights.grant, given=given))

    async def retire(self, document_ids: Sequence[str]) -> None:
        await self._change_visibility(
            document_ids, partial(revising.retire, document_ids=document_ids)
        )

    async def _change_visibility(
        self, document_ids: Sequence[str], work: Callable[[Connection], Change]
    ) -> None:
        """Change the visible versions of documents, visibility and edition at once."""
        await self._database.keep(
            lambda connection: self._view.publish(connection, document_ids, work),
            self._view.apply_publication,
        )

    async def edition(self, tenant: str, collection: str) -> Edition | None:
        """Return the current collection; see `ports.Catalog`."""
        return await self._view.edition((tenant, collection))

    async def revisions(self, names: Sequence[str]) -> Set[str]:
        return await self._database.read(partial(revising.keep_known, names=names))

    def replace_rows(self, connection: Connection) -> Any:
        """Take up that all rows of the store were replaced in this transaction.

        Returns:
            What `apply_replacement` takes once that is committed.
        """
        return self._view.replace_rows(connection)

    def apply_replacement(self, done: Any) -> None:
        """Replace the state in memory with the committed one."""
        self._view.apply_replacement(done)

    async def list_retired(
        self, document_ids: Sequence[str] | None = None
    ) -> list[tuple[Collection, str]]:
        # In turn with the writers: between a commit and its `apply`, a search could still begin
        # that sees what this would return for purging.
        return await self._database.keep(partial(revising.list_retired, document_ids=document_ids))

    async def forget_revisions(self, revisions: Sequence[str]) -> None:
        await self._database.keep(
            partial(revising.forget_purged, names=revisions), self._view.apply_change
        )

    def snapshot(
        self, collection: Collection | None = None
    ) -> AbstractAsyncContextManager[frozenset[str]]:
        return self._view.snapshot(collection)

    def keep_all(self) -> AbstractAsyncContextManager[None]:
        return self._view.keep_all()

    async def is_kept(self) -> bool:
        return await self._view.is_kept()

    async def at_index(self, place: str) -> None:
        await self._view.at_index(place)

    async def other_index(self) -> bool:
        return await self._view.other_index()

    async def drain(self) -> None:
        await self._view.drain()

    def alone(self, tenant: str, collection: str) -> AbstractAsyncContextManager[None]:
        return self._view.alone((tenant, collection))

    async def ready(self) -> None:
        await self._database.ready()


async def _end_waiting(connection: AsyncConnection, collection: Collection) -> None:
    """A collection has taken this name. What waited for another one of it ends."""
    mine = (awaited_collections.c.tenant == collection.tenant) & (
        awaited_collections.c.name == collection.name
    )
    gone = delete(awaited_collections).where(mine).returning(awaited_collections.c.id)
    for id in (await connection.execute(gone)).scalars().all():
        if id != collection.id:
            await forget_scope(connection, of_collection(collection.tenant, id), _TAKEN)


def _name_conflict(name: str) -> Conflict:
    return Conflict(f"There is a collection named {name!r} already. Choose another name.")

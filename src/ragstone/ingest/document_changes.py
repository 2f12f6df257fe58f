"""Changes to documents that collections have: who may read them, and their removal.

Nothing is deleted while a search may be looking at it or a backup needs it, and a kill in between
leaves whole documents or none.
"""

import asyncio
from collections.abc import Sequence

from ragstone.core.errors import StateUnavailable
from ragstone.core.filters import AnyOf
from ragstone.core.readers import FolderReaders
from ragstone.core.records import Collection
from ragstone.ingest import readers
from ragstone.ingest.enricher import Enricher
from ragstone.ingest.move import drop_unused
from ragstone.ingest.uploads import Originals
from ragstone.ports import Catalog, ChunkIndex, erase

PURGED_AT_ONCE = 500
"""Revisions whose chunks are deleted in one step."""

HIDDEN_AT_ONCE = 100
"""Documents that are forgotten, or versions that are replaced, before their chunks are deleted."""


class DocumentChanges:
    """Changes what is known of documents, without reading their files."""

    def __init__(
        self,
        index: ChunkIndex,
        catalog: Catalog,
        originals: Originals,
        enrichers: Sequence[Enricher],
    ) -> None:
        self._index = index
        self._catalog = catalog
        self.originals = originals
        self._enrichers = enrichers

    async def give_readers(
        self, collection: Collection, document_ids: Sequence[str], own: tuple[str, ...]
    ) -> None:
        """Set the readers of documents for an administrator, none for those of their folders."""
        await readers.give_readers(
            self._index, self._catalog, collection, document_ids, own, bool(own)
        )
        self._wake(collection)

    async def tell_readers(
        self, collection: Collection, document_ids: Sequence[str], own: tuple[str, ...]
    ) -> None:
        """Give documents the readers that they come with, none for those of their folders, but for
        those of which an administrator has set them."""
        known = await self._catalog.find_documents(document_ids)
        ids = [document.id for document in known.values() if not document.readers_fixed]
        await readers.give_readers(self._index, self._catalog, collection, ids, own)
        self._wake(collection)

    async def put_folder_readers(
        self, collection: Collection, rules: Sequence[FolderReaders]
    ) -> None:
        """Have folders give these readers to what is in them and to what comes."""
        await readers.put_folder_readers(self._index, self._catalog, collection, rules)
        self._wake(collection)

    async def finish_readers(self) -> None:
        """Give readers that an earlier process has not given to the end."""
        await readers.finish_changes(self._index, self._catalog)

    async def wake_enrichers(self) -> None:
        """Have what is made of the documents of all collections brought up to date."""
        for collection in await self._catalog.collections():
            self._wake(collection)

    def _wake(self, collection: Collection) -> None:
        for enricher in self._enrichers:
            enricher.wake(collection)

    async def forget(self, collection: Collection, document_ids: Sequence[str]) -> None:
        """Delete documents, and their chunks once no search can be looking at them; so many at a
        time that no filter is long: each search of their collection has all in it that is hidden.

        A kill in between leaves whole documents.
        """
        for start in range(0, len(document_ids), HIDDEN_AT_ONCE):
            some = document_ids[start : start + HIDDEN_AT_ONCE]
            await self._catalog.retire(some)
            await self.purge(some)
        if document_ids:
            self._wake(collection)

    async def erase(self, collection: Collection, document_ids: Sequence[str], whole: bool) -> None:
        """Delete documents, or the `whole` collection that they are, so that nothing of them is
        left in files. Run again after it was cut off, it does the rest.

        Raises StateUnavailable while a backup is written, which needs them.
        """
        if await self._catalog.is_kept():
            raise StateUnavailable("A backup is being written. Try again when it has ended.")
        await asyncio.to_thread(self.originals.delete, document_ids)
        if whole:
            await self._catalog.drop_collection(collection.tenant, collection.id)
            await self.purge()
            await erase(self._index, collection, deleted=True)
            return
        # While the catalog knows them: a kill in between leaves documents without chunks, which
        # the next run finds.
        for start in range(0, len(document_ids), PURGED_AT_ONCE):
            some = tuple(document_ids[start : start + PURGED_AT_ONCE])
            await self._index.delete(collection, AnyOf("document_id", some))
        await erase(self._index, collection, deleted=True)
        await self.forget(collection, document_ids)
        self._wake(collection)

    async def purge(self, document_ids: Sequence[str] | None = None) -> bool:
        """Delete the chunks of retired revisions, of these documents or of all with the indexes
        that are not used any more, once no search can be looking at them, and what is kept of
        documents that are gone.

        False, and they stay hidden for the next time, while a backup is written that needs them.
        """
        before = {name for _, name in await self._catalog.list_retired(document_ids)}
        whole = document_ids is not None or await drop_unused(self._index, self._catalog)
        if not before:
            return whole
        await self._catalog.drain()
        # Asked after what is to go was read: a backup that begins later does not need it.
        if await self._catalog.is_kept():
            return False
        by_collection: dict[Collection, list[str]] = {}
        # Their collections may have been built anew, moved or restored since.
        for collection, name in await self._catalog.list_retired(document_ids):
            if name in before:
                by_collection.setdefault(collection, []).append(name)
        for collection, names in by_collection.items():
            for start in range(0, len(names), PURGED_AT_ONCE):
                some = names[start : start + PURGED_AT_ONCE]
                await self._index.delete(collection, AnyOf("revision", tuple(some)))
                ids = {name.rpartition("@")[0] for name in some}
                gone = ids - (await self._catalog.find_documents(sorted(ids))).keys()
                await asyncio.to_thread(self.originals.delete, gone)
                await self._catalog.forget_revisions(some)
            if document_ids is None:
                self._wake(collection)
        return whole

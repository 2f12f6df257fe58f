"""Deleting documents: hidden at once, their chunks gone when no search looks at them any more."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from ragstone.core.errors import UnknownDocument
from ragstone.core.records import Collection
from ragstone.ingest.free_memory import give_back
from ragstone.ingest.pipeline import Pipeline
from ragstone.ports import Adapters

Readers = Sequence[str] | None

PAGE = 1_000
"""Documents that are listed in one step."""


class Removal:
    """Deletes documents that `readers` may read, by the names that documents allow; None is all."""

    def __init__(self, adapters: Adapters, pipeline: Pipeline) -> None:
        self._adapters = adapters
        self._pipeline = pipeline

    async def number(
        self, readers: Readers, collection: Collection, paths: Sequence[str] | None
    ) -> int:
        """Tell how many documents `paths` name, None for all. Raises UnknownDocument."""
        if paths is not None:
            return len(await self._resolve_ids(readers, collection, paths))
        counts = await self._adapters.catalog.counts(collection.tenant, collection.id)
        counted = counts.get(collection.id, ())
        return sum(
            item.documents
            for item in counted
            if readers is None or not set(readers).isdisjoint(item.allowed)
        )

    async def remove(
        self, readers: Readers, collection: Collection, paths: Sequence[str] | None
    ) -> int:
        """Delete documents, None for the whole collection; how many went."""
        catalog = self._adapters.catalog
        if paths is not None:
            ids = await self._resolve_ids(readers, collection, paths)
            await self._pipeline.forget(collection, ids)
            await self._pipeline.purge()
            return len(ids)
        number = await self.number(readers, collection, None)
        # It may have been built anew meanwhile.
        now = await catalog.find_by_id(collection.tenant, collection.id) or collection
        # The documents first: a kill in between leaves an empty collection, never documents
        # without their chunks, and its job goes on. Then the collection, whose index the catalog
        # remembers until it is dropped.
        ids = await self._all(now)
        await catalog.retire(ids)
        await asyncio.to_thread(self._pipeline.originals.delete, ids)
        await catalog.drop_collection(collection.tenant, collection.id)
        await self._pipeline.purge()
        # A collection of few large documents is deleted without a job.
        await asyncio.to_thread(give_back)
        return number

    async def finish(
        self, readers: Readers, collection: Collection | None, paths: Sequence[str] | None
    ) -> int:
        """Go on with a `remove` that was cut off, perhaps when everything was done and the
        collection gone; how many went in this second part."""
        if collection is not None:
            with suppress(UnknownDocument):
                return await self.remove(readers, collection, paths)
        await self._pipeline.purge()
        return 0

    async def _all(self, collection: Collection) -> list[str]:
        """Return the ids of all documents of a collection, whoever may read them."""
        ids: list[str] = []
        after = ""
        while page := await self._adapters.catalog.documents(
            collection.tenant, collection.id, after=after, limit=PAGE
        ):
            ids += (item.id for item in page)
            after = page[-1].path
        return ids

    async def _resolve_ids(
        self, readers: Readers, collection: Collection, paths: Sequence[str]
    ) -> list[str]:
        """Return the ids of what `paths` name: by id, by path, or by a folder above. Raises
        UnknownDocument."""
        named: dict[str, None] = {}
        for path in paths:
            found = await self._adapters.catalog.ids(
                collection.tenant, collection.id, readers, path
            )
            if not found:
                raise UnknownDocument(path)
            named.update(dict.fromkeys(found))
        return list(named)

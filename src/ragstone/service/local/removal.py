"""Deleting documents: hidden at once, their chunks gone when no search looks at them any more."""

from collections.abc import Sequence
from contextlib import suppress

from ragstone.core.errors import UnknownCollection, UnknownDocument
from ragstone.core.records import Collection, Document
from ragstone.core.turn import Principal
from ragstone.ingest.pipeline import Pipeline
from ragstone.ports import Adapters


class Removal:
    """Deletes documents that a principal may read."""

    def __init__(self, adapters: Adapters, pipeline: Pipeline) -> None:
        self._adapters = adapters
        self._pipeline = pipeline

    async def known(self, tenant: str, name: str) -> Collection:
        """The collection of this name. Raises UnknownCollection."""
        collection = await self._adapters.catalog.collection(tenant, name)
        if collection is None:
            raise UnknownCollection(name)
        return collection

    async def readable(self, principal: Principal, collection: Collection) -> list[Document]:
        """The documents of a collection that the principal may read, by path."""
        documents = await self._adapters.catalog.documents(collection.tenant, collection.id)
        names = set(principal.names)
        return [document for document in documents if names & set(document.allowed)]

    async def named(
        self, principal: Principal, collection: Collection, paths: Sequence[str] | None
    ) -> list[Document]:
        """The documents that `paths` name, None for all. Raises UnknownDocument."""
        documents = await self.readable(principal, collection)
        return documents if paths is None else _named_documents(documents, paths)

    async def remove(
        self, principal: Principal, collection: Collection, paths: Sequence[str] | None
    ) -> int:
        """Delete documents, None for the whole collection; how many went."""
        documents = await self.named(principal, collection, paths)
        await self._adapters.catalog.retire([document.id for document in documents])
        await self._pipeline.purge()
        if paths is None:
            # It may have been built anew meanwhile.
            now = await self._adapters.catalog.identified(collection.tenant, collection.id)
            # Before its row goes: what is cut off in between is then done again by its job. And
            # after, for what a search has made again meanwhile.
            await self._adapters.index.drop(now or collection)
            await self._adapters.catalog.drop_collection(collection.tenant, collection.id)
            await self._adapters.index.drop(now or collection)
        return len(documents)

    async def finish(
        self, principal: Principal, collection: Collection | None, paths: Sequence[str] | None
    ) -> int:
        """Go on with a `remove` that was cut off, perhaps when everything was done and the
        collection gone; how many went in this second part."""
        if collection is not None:
            with suppress(UnknownDocument):
                return await self.remove(principal, collection, paths)
        await self._pipeline.purge()
        return 0


def _named_documents(documents: Sequence[Document], paths: Sequence[str]) -> list[Document]:
    """The documents that `paths` name: by id, by path, or by a folder above them."""
    named: dict[str, Document] = {}
    for path in paths:
        place = "/" + path.strip("/")
        found = [
            d
            for d in documents
            if d.id == path or d.path == place or d.path.startswith(place + "/")
        ]
        if not found:
            raise UnknownDocument(path)
        named.update((document.id, document) for document in found)
    return list(named.values())

"""Vector stores of this process's Ragstone."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from ragstone.core.errors import UnknownFile
from ragstone.core.turn import Principal
from ragstone.local.added import ServiceParts
from ragstone.plugins.responses.contract import StoreFile, VectorStore
from ragstone.plugins.responses.disposal import Disposal
from ragstone.plugins.responses.kept_files import Files
from ragstone.plugins.responses.store import SqlVectorStores
from ragstone.ports import Adapters

T = TypeVar("T", VectorStore, StoreFile)


class LocalVectorStores:
    """`contract.VectorStoreService` on the state store and the catalog."""

    def __init__(self, adapters: Adapters, files: Files, disposal: Disposal) -> None:
        self._stores = SqlVectorStores.of(adapters)
        self._catalog = adapters.catalog
        self._files = files
        self._disposal = disposal

    async def watch(self) -> None:
        """Delete what has expired, for as long as this is not cancelled."""
        await self._disposal.watch()

    async def put(self, store: VectorStore) -> None:
        id = await self._catalog.identity(store.tenant, store.collection)
        await self._stores.put(replace(store, collection=id))

    async def list_all(self, principal: Principal) -> list[VectorStore]:
        return await self._by_name(principal, await self._stores.list_all(principal.tenant))

    async def find(self, principal: Principal, collection: str) -> VectorStore | None:
        id = await self._catalog.identity(principal.tenant, collection, make=False)
        found = await self._stores.list_all(principal.tenant, id) if id else ()
        return replace(found[0], collection=collection) if found else None

    async def drop(self, principal: Principal, collection: str) -> None:
        if id := await self._catalog.identity(principal.tenant, collection, make=False):
            await self._disposal.delete_store(principal, id)

    async def put_files(self, files: Sequence[StoreFile]) -> None:
        ids = {
            name: await self._catalog.identity(tenant, name)
            for tenant, name in {(file.tenant, file.collection) for file in files}
        }
        await self._stores.put_files(
            [replace(file, collection=ids[file.collection]) for file in files]
        )

    async def files(
        self,
        principal: Principal,
        collection: str | None = None,
        file: str | None = None,
        job: str | None = None,
    ) -> list[StoreFile]:
        id = None
        if collection is not None:
            id = await self._catalog.identity(principal.tenant, collection, make=False)
            if not id:
                return []
        found = await self._stores.files(principal.tenant, collection=id, file=file, job=job)
        return await self._by_name(principal, found)

    async def remove_file(self, principal: Principal, collection: str, file: str) -> None:
        id = await self._catalog.identity(principal.tenant, collection, make=False)
        await self._stores.remove_file(principal.tenant, id, file)

    async def delete_file(self, principal: Principal, file: str) -> None:
        kept = await asyncio.to_thread(self._files.find, principal, file)
        if kept is None:
            raise UnknownFile(file)
        await self._disposal.delete_file(kept, principal)

    async def _by_name(self, principal: Principal, found: Sequence[T]) -> list[T]:
        """Give rows the names of their collections; those of collections that are gone are left."""
        names = await self._catalog.names(principal.tenant, {row.collection for row in found})
        named = (row for row in found if row.collection in names)
        return [replace(row, collection=names[row.collection]) for row in named]


def open_service(parts: ServiceParts) -> LocalVectorStores:
    """Make the operations."""
    files = Files(parts.settings.ragstone_data)
    disposal = Disposal(parts.adapters, parts.removal, parts.jobs, files)
    return LocalVectorStores(parts.adapters, files, disposal)

"""Deleting vector stores and files: when somebody wants it, and when they have expired."""

import asyncio
import logging
from contextlib import suppress

from ragstone.core.clock import state_time
from ragstone.core.errors import FileInUse, Forbidden, RagstoneError, UnknownDocument
from ragstone.core.turn import Principal
from ragstone.local.jobs import LocalJobs
from ragstone.local.removal import Removal
from ragstone.plugins.responses.contract import StoreFile
from ragstone.plugins.responses.kept_files import Files, KeptFile
from ragstone.plugins.responses.store import SqlVectorStores
from ragstone.ports import Adapters

log = logging.getLogger(__name__)

EXPIRY_SECONDS = 60.0
"""How often it is looked for what has expired."""


class Disposal:
    """Deletes vector stores with their documents, and files with what was made of them."""

    def __init__(self, adapters: Adapters, removal: Removal, jobs: LocalJobs, files: Files) -> None:
        self._stores = SqlVectorStores.of(adapters)
        self._catalog = adapters.catalog
        self._removal = removal
        self._jobs = jobs
        self._files = files

    async def watch(self) -> None:
        """Delete what has expired, from now on and for as long as this is not cancelled."""
        while True:
            await asyncio.sleep(EXPIRY_SECONDS)
            try:
                await self.delete_expired()
            except RagstoneError as error:
                log.warning("What has expired is deleted later: %s", error)

    async def delete_expired(self) -> None:
        """Delete the stores and files that have expired."""
        for store in await self._stores.list_all():
            if store.expires_at is not None and store.expires_at <= state_time():
                await self.delete_store(Principal(store.tenant), store.collection)
        for file in await asyncio.to_thread(lambda: list(self._files.list_expired())):
            with suppress(FileInUse):  # It goes when it is indexed.
                await self.delete_file(file, Principal(file.tenant, file.user))

    async def delete_store(self, principal: Principal, id: str) -> None:
        """Delete what is said of a collection, and the collection if there is one by now."""
        collection = await self._catalog.find_by_id(principal.tenant, id)
        if collection is not None:
            await self._removal.remove(principal.names, collection, None)
        else:
            await self._catalog.drop_collection(principal.tenant, id)

    async def delete_file(self, file: KeptFile, owner: Principal) -> None:
        """Delete a file with what was made of it; raises FileInUse while it is being indexed,
        Forbidden where it is in a store that the owner's credential does not reach."""
        rows = await self._stores.files(file.tenant, file=file.id)
        reach = owner.collections
        names = await self._catalog.names(file.tenant, {row.collection for row in rows})
        if reach is not None and not set(names.values()) <= set(reach):
            raise Forbidden(
                "This file is in vector stores that your credential does not reach. "
                "Delete it with one that does."
            )
        working = {job.id for job in await self._jobs.list_unfinished("ingest")}
        for row in rows:
            if row.job in working and not await self._is_settled(row):
                raise FileInUse("This file is being indexed. Delete it when that is done.")
        for row in rows:
            collection = await self._catalog.find_by_id(file.tenant, row.collection)
            if collection is not None:
                with suppress(UnknownDocument):
                    await self._removal.remove(owner.names, collection, [row.path])
            await self._stores.remove_file(file.tenant, row.collection, file.id)
        await asyncio.to_thread(self._files.delete, file)

    async def _is_settled(self, row: StoreFile) -> bool:
        """Tell whether the document of a file is there as it was last put into a store."""
        found = await self._catalog.documents(row.tenant, row.collection, named=[row.path])
        return row.is_settled(found[0] if found else None)

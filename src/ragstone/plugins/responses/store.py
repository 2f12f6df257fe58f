"""What clients of OpenAI's API say of collections, on the state store."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Table, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.local.added import StateStore
from ragstone.plugins.responses.contract import StoreFile, VectorStore
from ragstone.store.sql.rows import put
from ragstone.store.sql.tables import store_files, vector_stores


class SqlVectorStores(StateStore):
    """Vector stores by tenant and the id of their collection, and the files put into them.

    `Catalog.drop_collection` forgets both. Methods raise StateUnavailable and StorageFull.
    """

    name = "vector_stores"

    async def put(self, store: VectorStore) -> None:
        """Keep a store, instead of what was said of its collection before."""
        row = {**asdict(store), "metadata": dict(store.metadata)}
        await self._database.write(lambda connection: put(connection, vector_stores, row))

    async def list_all(
        self, tenant: str | None = None, collection: str | None = None
    ) -> list[VectorStore]:
        """Return those of a tenant, or of all, or the one of a collection."""
        rows = await self._rows(vector_stores, {"tenant": tenant, "collection": collection})
        return [VectorStore(**row) for row in rows]

    async def put_files(self, files: Sequence[StoreFile]) -> None:
        """Note that files were put into stores, each instead of its row there before."""

        async def work(connection: AsyncConnection) -> None:
            for file in files:
                await put(connection, store_files, asdict(file))

        await self._database.write(work)

    async def files(
        self,
        tenant: str,
        *,
        collection: str | None = None,
        file: str | None = None,
        job: str | None = None,
    ) -> list[StoreFile]:
        """Return the files in a tenant's stores: in one of them, of one id, of one job."""
        wanted = {"tenant": tenant, "collection": collection, "file": file, "job": job}
        return [StoreFile(**row) for row in await self._rows(store_files, wanted)]

    async def remove_file(self, tenant: str, collection: str, file: str) -> None:
        """Forget that a file was put into a store."""
        gone = delete(store_files).where(
            store_files.c.tenant == tenant,
            store_files.c.collection == collection,
            store_files.c.file == file,
        )

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(gone)

        await self._database.write(work)

    async def _rows(self, table: Table, wanted: Mapping[str, str | None]) -> list[dict[str, Any]]:
        """Return the rows that have these values, whatever they have where that is None."""
        same = [table.c[name] == value for name, value in wanted.items() if value is not None]
        ordered = select(table).where(*same).order_by(*table.primary_key)
        async with self._database.read_view() as connection:
            return [dict(row) for row in (await connection.execute(ordered)).mappings()]

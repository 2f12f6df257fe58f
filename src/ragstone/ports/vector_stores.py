"""The port that keeps what clients of OpenAI's API say of collections."""

from collections.abc import Sequence
from typing import Protocol

from ragstone.core.records import StoreFile, VectorStore


class VectorStores(Protocol):
    """Vector stores by tenant and the id of their collection, and the files put into them.

    `Catalog.drop_collection` forgets both. Methods raise StateUnavailable and StorageFull.
    """

    async def put(self, store: VectorStore) -> None:
        """Keep a store, instead of what was said of its collection before."""
        ...

    async def list_all(
        self, tenant: str | None = None, collection: str | None = None
    ) -> Sequence[VectorStore]:
        """Those of a tenant, or of all, or the one of a collection."""
        ...

    async def put_files(self, files: Sequence[StoreFile]) -> None:
        """Note that files were put into stores, each instead of its row there before."""
        ...

    async def files(
        self,
        tenant: str,
        *,
        collection: str | None = None,
        file: str | None = None,
        job: str | None = None,
    ) -> Sequence[StoreFile]:
        """The files in a tenant's stores: in one of them, of one id, of one job."""
        ...

    async def remove_file(self, tenant: str, collection: str, file: str) -> None:
        """Forget that a file was put into a store."""
        ...

"""What clients of OpenAI's API say of collections, and which of their files are in them.

What clients of OpenAI's API say of collections, and which of their files are in them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ragstone.core.records import Document
from ragstone.core.turn import Principal
from ragstone.service.added import AddedService


@dataclass(frozen=True, slots=True)
class VectorStore:
    """What a client says of a collection that it made as a vector store of OpenAI's API.

    Times are in seconds since 1970.
    """

    tenant: str
    collection: str
    title: str
    created_at: float
    active_at: float
    """When it was last filled or searched through that API."""
    description: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    days: int | None = None
    """Days after `active_at` at which it is deleted; None for never."""

    @property
    def expires_at(self) -> float | None:
        """When it is deleted unless it is used before."""
        return None if self.days is None else self.active_at + self.days * 86_400.0


@dataclass(frozen=True, slots=True)
class StoreFile:
    """A file that `user` put into a vector store: `path` is the document that the job makes of it.

    `created_at` is in seconds since 1970.
    """

    tenant: str
    collection: str
    file: str
    path: str
    user: str
    job: str
    created_at: float

    def is_settled(self, document: Document | None) -> bool:
        """Whether the document is what became of the file when it was last put into the store."""
        return (
            document is not None
            and document.status in ("ready", "failed")
            and document.modified >= self.created_at
        )


class VectorStoreService(Protocol):
    """The vector stores of a principal's tenant, by the names of their collections, which need not
    be there yet. It says of no file that the principal may read it: the dialect does."""

    async def put(self, store: VectorStore) -> None:
        """Keep a store, instead of what was said of its collection before."""
        ...

    async def list_all(self, principal: Principal) -> list[VectorStore]:
        """Those of the principal's tenant."""
        ...

    async def find(self, principal: Principal, collection: str) -> VectorStore | None:
        """That of a collection."""
        ...

    async def drop(self, principal: Principal, collection: str) -> None:
        """Forget a store with its collection and all documents of that."""
        ...

    async def put_files(self, files: Sequence[StoreFile]) -> None:
        """Note that files were put into stores."""
        ...

    async def files(
        self,
        principal: Principal,
        collection: str | None = None,
        file: str | None = None,
        job: str | None = None,
    ) -> list[StoreFile]:
        """The files that were put into stores: into one of them, those of one id, of one job."""
        ...

    async def remove_file(self, principal: Principal, collection: str, file: str) -> None:
        """Forget that a file was put into a store."""
        ...

    async def delete_file(self, principal: Principal, file: str) -> None:
        """Delete a file of the principal's and what was made of it in every store.

        Raises UnknownFile, FileInUse while it is being indexed, Forbidden where it is in a store
        that the principal's credential does not reach.
        """
        ...


VECTOR_STORES: AddedService[VectorStoreService] = AddedService(
    "vector_stores", VectorStoreService, "ragstone.plugins.responses.service:open_service"
)

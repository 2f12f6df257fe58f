"""What clients of OpenAI's API say of collections, and which of their files are in them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ragstone.core.records import Document


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

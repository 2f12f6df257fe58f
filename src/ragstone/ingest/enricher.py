"""What is made of documents beside their chunks, such as a vocabulary or an entity graph."""

from typing import Protocol

from ragstone.core.records import Collection
from ragstone.ingest.progress import Tracker


class Enricher(Protocol):
    """Makes something of the documents of collections, in the background or as a part of an
    ingest."""

    @property
    def reads_former(self) -> bool:
        """Whether `make` takes over what belongs to the former version of a document, which is
        kept until then."""
        ...

    def wake(self, collection: Collection) -> None:
        """Bring what is made up to date in the background: documents or their readers have
        changed, or settings."""
        ...

    async def make(self, collection: Collection, tracker: Tracker) -> bool:
        """Do what an ingest waits for at its end, when all its documents can be found; whether
        chunks were written that have no vectors yet."""
        ...

    async def aclose(self) -> None:
        """Stop working in the background; the next start continues."""
        ...

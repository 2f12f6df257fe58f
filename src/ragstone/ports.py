"""What the stages need from the outside, as Protocols; adapters live in their own packages.

`Kit` bundles one adapter of each for the stages. Only `build.py` makes one.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ragstone.filters import EVERYTHING, Filter
from ragstone.records import Collection, Document, DocumentStatus
from ragstone.turn import Ask, Chunk, Finish, Passage, RankedList, Turn, Usage

Vectors = NDArray[np.float32]
"""Shape (n, dimensions), rows of unit length."""


class Embedder(Protocol):
    """Turns texts into vectors of unit length. Safe to call from several tasks at once."""

    @property
    def name(self) -> str:
        """The model's name, as `/v1/models` shows it."""
        ...

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same text would get another vector."""
        ...

    @property
    def dimensions(self) -> int: ...

    async def embed_passages(self, texts: Sequence[str]) -> Vectors: ...

    async def embed_queries(self, texts: Sequence[str]) -> Vectors: ...


class Embedders(Protocol):
    """The embedders at hand, by the name or fingerprint that a collection carries."""

    def for_text(self, language: str) -> Embedder:
        """The one that a new collection of this language should use."""
        ...

    def of(self, collection: Collection) -> Embedder:
        """The one that indexed `collection`.

        Raises EmbeddingMismatch when the settings name another one.
        """
        ...


@dataclass(frozen=True, slots=True)
class Search:
    """One search of one list: by `vector` if there is one, else by the words of `text`."""

    text: str
    vector: Vectors | None = None


class ChunkIndex(Protocol):
    """Chunks of every collection with their vectors, searchable under a filter.

    Every method raises UnknownCollection for a collection that was not opened, InvalidFilter for
    a filter that `filters.validate` refuses, IndexUnavailable when the backend does not answer,
    and StorageFull when it cannot write. Writes are durable when they return.
    """

    async def create(self, collection: Collection) -> None:
        """Make room for `collection` if there is none yet."""
        ...

    async def drop(self, collection: Collection) -> None:
        """Forget `collection` and everything in it."""
        ...

    async def upsert(
        self, collection: Collection, chunks: Sequence[Chunk], vectors: Vectors | None = None
    ) -> None:
        """Write chunks, replacing those of the same id; without `vectors` by keyword only."""
        ...

    async def set_vectors(
        self, collection: Collection, ids: Sequence[str], vectors: Vectors
    ) -> None:
        """Give existing chunks their vectors; ids that no longer exist are ignored."""
        ...

    async def without_vectors(
        self, collection: Collection, limit: int, where: Filter = EVERYTHING
    ) -> list[Chunk]:
        """Chunks that have no vector yet, at most `limit`."""
        ...

    async def search(
        self,
        collection: Collection,
        searches: Sequence[Search],
        where: Filter,
        limit: int,
        exact: bool = False,
    ) -> list[RankedList]:
        """One list of at most `limit` ids per search, best first, all inside `where`."""
        ...

    async def fetch(self, collection: Collection, ids: Sequence[str]) -> dict[str, Chunk]:
        """The chunks of `ids` that exist."""
        ...

    async def vectors(self, collection: Collection, ids: Sequence[str]) -> dict[str, Vectors]:
        """The vectors of the chunks of `ids` that have one, each of shape (dimensions,)."""
        ...

    def scan(
        self, collection: Collection, where: Filter = EVERYTHING, batch: int = 256
    ) -> AsyncIterator[list[Chunk]]:
        """Every chunk inside `where`, in batches."""
        ...

    async def delete(self, collection: Collection, where: Filter) -> None:
        """Delete every chunk inside `where`."""
        ...

    async def count(self, collection: Collection, where: Filter = EVERYTHING) -> int: ...

    async def facet(
        self, collection: Collection, field: str, where: Filter = EVERYTHING, limit: int = 100
    ) -> dict[str, int]:
        """How many chunks inside `where` hold each value of a keyword field, most first."""
        ...

    async def optimize(self, collection: Collection) -> None:
        """Build the search structures for what was written since the last call."""
        ...

    async def ready(self) -> None:
        """Raise IndexUnavailable unless searches would work."""
        ...


class Catalog(Protocol):
    """Collections and documents: what exists, in which version, visible or not.

    A document's new version is written beside the one that answers, and takes over in one
    transaction (`publish`). `hidden` names every revision that must not be seen.
    """

    async def collection(self, tenant: str, name: str) -> Collection | None: ...

    async def collections(self, tenant: str | None = None) -> list[Collection]: ...

    async def put_collection(self, collection: Collection) -> None:
        """Insert or replace."""
        ...

    async def drop_collection(self, tenant: str, name: str) -> None:
        """Forget the collection, its documents and its revisions."""
        ...

    async def document(self, document_id: str) -> Document | None: ...

    async def documents(
        self,
        tenant: str,
        collection: str | None = None,
        *,
        status: DocumentStatus | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Document]:
        """By path."""
        ...

    async def begin(self, document: Document) -> int:
        """Open the next version for writing, hidden; the same one again after a crash.

        Returns the number of the version to write, never one that was used before. While another
        version answers, the document's fields go on describing that one. Waits for the searches
        that began before it, so it must not be called inside `seeing`.
        """
        ...

    async def publish(self, document: Document, version: int) -> None:
        """Make `version` the one that answers and hide the one before, in one transaction."""
        ...

    async def embedded(self, document_ids: Sequence[str]) -> None:
        """These documents have all their vectors: status text becomes ready."""
        ...

    async def fail(self, document: Document, error: str) -> None:
        """Record that the document's newest content could not be indexed, and why.

        A version that answers goes on answering; the one being written is retired.
        """
        ...

    async def retire(self, document_ids: Sequence[str]) -> None:
        """Forget documents: hidden at once, their chunks to be purged."""
        ...

    async def retired(self) -> list[tuple[Collection, str]]:
        """Every revision whose chunks are to be deleted, with its collection."""
        ...

    async def purged(self, revisions: Sequence[str]) -> None:
        """The chunks of these revisions are gone from the index."""
        ...

    def seeing(self) -> AbstractAsyncContextManager[frozenset[str]]:
        """The hidden revisions, for the time of one search.

        No revision that was visible on entry is purged before the exit.
        """
        ...

    async def drained(self) -> None:
        """Return when every search that began before this call has ended."""
        ...

    async def ready(self) -> None:
        """Raise StateUnavailable unless the store answers."""
        ...


class History(Protocol):
    """Where finished turns go: conversations and statistics."""

    async def save(self, turn: Turn) -> None: ...


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of an answer as it comes. The last one has `finish` and `usage`."""

    text: str = ""
    thinking: str = ""
    finish: Finish | None = None
    usage: Usage = Usage()
    confidence: float | None = None


class Answerer(Protocol):
    """Answers from numbered passages, with `[n]` markers in the text."""

    @property
    def name(self) -> str: ...

    def answer(self, ask: Ask, passages: Sequence[Passage]) -> AsyncGenerator[Said, None]:
        """Stream the answer; raises ModelUnavailable, possibly after some text."""
        ...

    async def ready(self) -> None:
        """Raise ModelUnavailable unless the model answers."""
        ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Kit:
    """One adapter of each port, for the stages."""

    index: ChunkIndex
    catalog: Catalog
    embedders: Embedders
    answerer: Answerer
    history: History

"""The port of the entity graph.

The port of the words that collections hold.
"""

from collections.abc import Collection as Several
from collections.abc import Collection as Words
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ragstone.core.filters import Filter
from ragstone.core.records import Collection


@dataclass(frozen=True, slots=True)
class RelatedChunk:
    """A chunk that an entity graph leads to. `score` is its share (0..1) of a walk from the
    question; `path` are the names on the way to it, the question's own first."""

    chunk_id: str
    score: float
    path: tuple[str, ...]


class EntityGraph(Protocol):
    """Leads from a question over the entities that it names, and over themes, to chunks."""

    async def find_related(
        self,
        collection: Collection,
        readers: Several[str],
        where: Filter,
        queries: Sequence[str],
        found: Mapping[str, float],
        limit: int,
    ) -> list[RelatedChunk]:
        """Return the chunks inside `where` within two hops of what the queries name and of the
        chunks that were `found` with their scores, best first. No other chunk has a part in it."""
        ...

    async def find_themed(
        self,
        collection: Collection,
        readers: Several[str],
        where: Filter,
        queries: Sequence[str],
        found: Mapping[str, float],
        limit: int,
    ) -> list[RelatedChunk]:
        """Return the chunks inside `where` of the themes that the queries speak of and that chunks
        which were `found` belong to, best first; the path of each is its theme."""
        ...


class Vocabulary(Protocol):
    """Which words were ever read in a collection, whoever may read the documents they are in.

    So what it knows is no answer to a question: whether the caller can find a word, in a document
    that still answers, only a search of the index tells. Words are in small letters of a to z.
    """

    async def find_words(self, collection: Collection, words: Words[str]) -> frozenset[str]:
        """Return those of `words` that were read in the collection."""
        ...

    async def add(
        self, collection: Collection, words: Words[str], read: Sequence[str] = ()
    ) -> None:
        """Take over words, and that the revisions `read` have now been read to their end."""
        ...

    async def unread(self, collection: Collection) -> list[str]:
        """Return the revisions that answer and have not been read.

        Once over a tenth of what was read has gone, everything is forgotten first, so that
        deleted words do not stay.
        """
        ...

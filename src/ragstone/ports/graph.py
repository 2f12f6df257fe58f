"""The port of the entity graph."""

from collections.abc import Collection as Several
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

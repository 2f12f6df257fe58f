"""The ports of the entity graph: what chunks name, and where that leads."""

from collections.abc import Collection as Several
from collections.abc import Mapping, Sequence
from typing import Protocol

from ragstone.core.entities import EntityCount, EntityMention, RelatedChunk
from ragstone.core.filters import Filter
from ragstone.core.records import Collection


class Mentions(Protocol):
    """What the chunks of collections name. It goes with the revisions that it was read from.

    Only what answers is given, and only of documents that are allowed to one of `readers`: so what
    is made of it holds nothing of other documents.
    """

    async def unread(self, collection: Collection, reading: str) -> list[str]:
        """The revisions that answer and were not read in this way. `reading` names the rules by
        which mentions are found: after a change of these all is read again."""
        ...

    async def begin(self, collection: Collection, revisions: Sequence[str]) -> None:
        """These revisions are going to be read: forget what was kept of them."""
        ...

    async def add(self, collection: Collection, mentions: Sequence[EntityMention]) -> None:
        """Keep a part of what begun revisions name; of one that is gone, nothing."""
        ...

    async def finish(self, collection: Collection, reading: str, revisions: Sequence[str]) -> None:
        """These revisions were read to their end."""
        ...

    async def known(
        self, collection: Collection, readers: Several[str], entities: Several[str]
    ) -> frozenset[str]:
        """Those of these entities that are named."""
        ...

    async def like(
        self, collection: Collection, readers: Several[str], beginning: str, limit: int
    ) -> list[str]:
        """Entities whose keys begin so, at most `limit`, by key."""
        ...

    async def of_entities(
        self, collection: Collection, readers: Several[str], entities: Several[str], limit: int
    ) -> dict[str, list[EntityMention]]:
        """The mentions of each of these entities that has some, at most `limit` of each, always
        the same ones."""
        ...

    async def of_rare(
        self, collection: Collection, readers: Several[str], entities: Several[str], most: int
    ) -> dict[str, list[EntityMention]]:
        """The mentions of those of these entities that at most so many chunks name."""
        ...

    async def of_chunks(
        self, collection: Collection, readers: Several[str], chunks: Several[tuple[str, int]]
    ) -> list[EntityMention]:
        """What these chunks name, each given by its revision and its number in that."""
        ...

    async def most_named(
        self, collection: Collection, readers: Several[str], limit: int
    ) -> list[EntityCount]:
        """The entities that most chunks name, those first; reads all mentions."""
        ...

    async def waiting(self, collection: Collection, readers: Several[str], reading: str) -> int:
        """How many documents that answer were not read in this way."""
        ...

    async def forget(self, collection: Collection) -> None:
        """Delete all that is kept of a collection."""
        ...


class EntityGraph(Protocol):
    """Leads from a question over the entities that it names to chunks."""

    async def related(
        self,
        collection: Collection,
        readers: Several[str],
        where: Filter,
        queries: Sequence[str],
        found: Mapping[str, float],
        limit: int,
    ) -> list[RelatedChunk]:
        """The chunks inside `where` within two hops of what the queries name and of the chunks
        that were `found` with their scores, best first. No other chunk has a part in it."""
        ...

    async def linked(
        self, collection: Collection, readers: Several[str], text: str
    ) -> Sequence[str]:
        """The entities that a text names, by key."""
        ...

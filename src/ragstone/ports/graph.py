"""The ports of the entity graph: what chunks name, and where that leads."""

from collections.abc import Collection as Several
from collections.abc import Mapping, Sequence
from typing import Protocol

from ragstone.core.entities import (
    ChunkReading,
    EntityCount,
    EntityMention,
    EntityRelation,
    EntityTheme,
    RelatedChunk,
)
from ragstone.core.filters import Filter
from ragstone.core.records import Collection


class EntityRecognizer(Protocol):
    """Finds names in texts of some languages. Called in threads."""

    @property
    def name(self) -> str:
        """Changes whenever the same text may have other names."""
        ...

    def names(self, text: str, language: str) -> Sequence[str] | None:
        """The names in a text, as often as they stand there; None in a language that it does not
        read."""
        ...


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

    async def add(
        self,
        collection: Collection,
        mentions: Sequence[EntityMention],
        relations: Sequence[EntityRelation] = (),
    ) -> None:
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

    async def find_relations(
        self, collection: Collection, readers: Several[str], chunks: Several[tuple[str, int]]
    ) -> list[EntityRelation]:
        """The relations that these chunks tell of."""
        ...

    async def find_entity_relations(
        self, collection: Collection, readers: Several[str], entities: Several[str], limit: int
    ) -> list[EntityRelation]:
        """The relations of these entities, at most `limit`, always the same ones."""
        ...

    async def of_revisions(
        self, collection: Collection, revisions: Several[str]
    ) -> tuple[list[EntityMention], list[EntityRelation]]:
        """All that these revisions name, whoever may read them: for what is made of documents
        with the same readers."""
        ...

    async def most_named(
        self, collection: Collection, readers: Several[str], limit: int
    ) -> list[EntityCount]:
        """The entities that most chunks name, those first; reads all mentions."""
        ...

    async def count_waiting(
        self, collection: Collection, readers: Several[str], reading: str
    ) -> int:
        """How many documents that answer were not read in this way."""
        ...

    async def forget(self, collection: Collection) -> None:
        """Delete all that is kept of a collection."""
        ...


class ModelReadings(Protocol):
    """What a chat model said that chunks name. It goes with the revisions that it is of."""

    async def list_lacking(self, collection: Collection, recipe: str) -> list[str]:
        """The revisions that answer and were not read to their end in this way."""
        ...

    async def known(self, collection: Collection, keys: Several[str]) -> Mapping[str, ChunkReading]:
        """What was said of chunks of the collection that looked the same, by key."""
        ...

    async def keep(
        self, collection: Collection, readings: Sequence[ChunkReading], recipe: str, whole: str = ""
    ) -> None:
        """Keep readings; of revisions that are gone, nothing. `whole` names a revision that is
        read to its end now: what is kept of it in the graph is forgotten in the same moment, so
        that it is read again with these."""
        ...

    async def of_revisions(
        self, collection: Collection, revisions: Several[str], recipe: str
    ) -> Mapping[tuple[str, int], ChunkReading]:
        """The readings of those of these revisions that were read to their end, by chunk."""
        ...


class Themes(Protocol):
    """The themes of collections. One is given to those only who may read every document that it
    is made of, and to nobody once one of these no longer answers."""

    async def audiences(
        self, collection: Collection
    ) -> Mapping[str, tuple[str, Mapping[str, str]]]:
        """For each set of readers that documents which answer have: of what its themes were made
        (empty if there are none), and the revisions of these documents that were read, in order,
        each with how a chat model has read it, empty if none has."""
        ...

    async def replace(
        self, collection: Collection, audience: str, made_of: str, themes: Sequence[EntityTheme]
    ) -> None:
        """Keep these themes of an audience instead of those before; one that is made of a revision
        which is gone is left out. Without `made_of` the audience is forgotten."""
        ...

    async def sum_up(self, collection: Collection, id: str, summary: str, by: str) -> None:
        """Keep a chat model's summary of a theme."""
        ...

    async def known(self, collection: Collection, audience: str) -> Mapping[str, EntityTheme]:
        """The themes of an audience that a chat model has summed up, by key."""
        ...

    async def every(self, collection: Collection) -> list[EntityTheme]:
        """All themes that are made of what answers, whoever may read them."""
        ...

    async def readable(
        self, collection: Collection, readers: Several[str], limit: int
    ) -> list[EntityTheme]:
        """The themes for these readers, those of the most passages first, at most `limit`."""
        ...

    async def forget(self, collection: Collection) -> None:
        """Delete all themes of a collection."""
        ...


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
        """The chunks inside `where` within two hops of what the queries name and of the chunks
        that were `found` with their scores, best first. No other chunk has a part in it."""
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
        """The chunks inside `where` of the themes that the queries speak of and that chunks which
        were `found` belong to, best first; the path of each is its theme."""
        ...

    async def find_linked(
        self, collection: Collection, readers: Several[str], text: str
    ) -> Sequence[str]:
        """The entities that a text names, by key."""
        ...

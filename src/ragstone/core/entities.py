"""What chunks name, and what an entity graph makes of it."""

from dataclasses import dataclass
from typing import Literal

from ragstone.core.chunk import chunk_id

EntityKind = Literal["title", "heading", "name", "quoted", "term", "key", "link"]
"""Where a name was found: a document's title, a heading above the chunk, a name by its capitals, a
name in quotation marks, a term (an abbreviation, a code, a word that is repeated), the first cell
of a table's row, an address."""


@dataclass(frozen=True, slots=True)
class EntityMention:
    """That a chunk names an entity, `count` times.

    `entity` is the key that all spellings of a name share, `name` how the chunk spells it. `same`
    is the key of another name for it, empty if the chunk gives none: "World Health Organization
    (WHO)". `chunk_index` counts the chunks of the revision.
    """

    revision: str
    chunk_index: int
    entity: str
    name: str
    kind: EntityKind
    count: int = 1
    same: str = ""

    @property
    def chunk_id(self) -> str:
        """The id of the chunk."""
        document_id, _, version = self.revision.rpartition("@")
        return chunk_id(document_id, int(version), self.chunk_index)


@dataclass(frozen=True, slots=True)
class EntityCount:
    """An entity by its most frequent name, and in how many chunks it is named."""

    entity: str
    name: str
    chunks: int


@dataclass(frozen=True, slots=True)
class RelatedChunk:
    """A chunk that an entity graph leads to. `score` is its share (0..1) of a walk from the
    question; `path` are the names on the way to it, the question's own first."""

    chunk_id: str
    score: float
    path: tuple[str, ...]

"""What chunks name, and what an entity graph makes of it."""

from dataclasses import dataclass
from typing import Literal

from ragstone.core.chunk import chunk_id

EntityKind = Literal["title", "heading", "name", "quoted", "term", "key", "link", "model"]
"""Where a name was found: a document's title, a heading above the chunk, a name by its capitals, a
name in quotation marks, a term (an abbreviation, a code, a word that is repeated), the first cell
of a table's row, an address; or only the chat model took it for one."""


def format_chunk_id(revision: str, chunk_index: int) -> str:
    """Return the id of a chunk by its revision and its number in that."""
    document_id, _, version = revision.rpartition("@")
    return chunk_id(document_id, int(version), chunk_index)


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
        return format_chunk_id(self.revision, self.chunk_index)


@dataclass(frozen=True, slots=True)
class EntityRelation:
    """That a chunk says how two entities that it names relate, as a chat model put it."""

    revision: str
    chunk_index: int
    entity: str
    other: str
    said: str

    @property
    def chunk_id(self) -> str:
        """The id of the chunk."""
        return format_chunk_id(self.revision, self.chunk_index)


@dataclass(frozen=True, slots=True)
class ReadEntity:
    """An entity as a chat model names it, and its other names in the same chunk."""

    name: str
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadRelation:
    """How two entities of a chunk relate, by their names there."""

    entity: str
    other: str
    said: str


@dataclass(frozen=True, slots=True)
class ChunkReading:
    """What a chat model said that a chunk names, as far as it stands in the chunk.

    `key` is the hash of what the model was shown of the chunk. `broken` says that nothing could be
    made of its reply.
    """

    revision: str
    chunk_index: int
    key: str
    entities: tuple[ReadEntity, ...] = ()
    relations: tuple[ReadRelation, ...] = ()
    broken: bool = False


@dataclass(frozen=True, slots=True)
class EntityCount:
    """An entity by its most frequent name, and in how many chunks it is named."""

    entity: str
    name: str
    chunks: int


@dataclass(frozen=True, slots=True)
class EntityTheme:
    """A community of entities that are named together, and the chunks that name them.

    It is made of documents with the same readers (`audience`). `passages` are the chunks that tell
    most of it, by revision and number, the best first; `revisions` all that it is made of.
    `summary` is of the documents' own sentences, or a chat model's where `by` names one; `key` is
    the hash of the passages that it was made of.
    """

    id: str
    audience: str
    title: str
    entities: tuple[EntityCount, ...]
    passages: tuple[tuple[str, int], ...]
    revisions: tuple[str, ...]
    summary: str = ""
    by: str = ""
    key: str = ""

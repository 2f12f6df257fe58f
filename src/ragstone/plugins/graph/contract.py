"""The entity graph of a collection: what its documents name, and what is named together."""

from dataclasses import dataclass
from typing import Annotated, Protocol

from pydantic import Field

from ragstone.core.turn import Principal
from ragstone.plugins.graph.entities import EntityCount, EntityKind
from ragstone.service.added import AddedService
from ragstone.service.routes import require_role, text

Entity = Annotated[str, text(200)]
Most = Annotated[int, Field(ge=1, le=1_000)]


@dataclass(frozen=True, slots=True)
class EntityPlace:
    """A chunk that names an entity, how it spells that, and where that was found. `text` is what
    stands round the name."""

    chunk_id: str
    path: str
    title: str
    page: int | None
    document_id: str
    start: int
    end: int
    name: str
    kind: EntityKind
    text: str


@dataclass(frozen=True, slots=True)
class RelationPlace:
    """How two entities relate by what a chunk says, as a chat model put it, and the chunk."""

    entity: str
    other: str
    said: str
    chunk_id: str
    path: str
    title: str
    page: int | None
    document_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ThemePlace:
    """A passage of a theme, and how it begins."""

    chunk_id: str
    path: str
    title: str
    page: int | None
    document_id: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class ThemeView:
    """A theme: what is named together, of how many `passages`, the best of these in `places`.
    `summary` is of the documents' own sentences, or of the chat model `by`."""

    id: str
    title: str
    summary: str
    by: str
    passages: int
    entities: tuple[EntityCount, ...]
    places: tuple[ThemePlace, ...]


@dataclass(frozen=True, slots=True)
class GraphView:
    """A part of an entity graph, of documents that the principal may read.

    Of no `entity`: `named` are those that most chunks name, `themes` those of the most passages.
    Of an entity: its other `spellings`, the `places` where it is named, `named` with it in how many
    of these, its `relations` and its `themes`. `waiting` documents were not read for the graph yet,
    all of them where a collection has none.
    """

    entity: str
    named: tuple[EntityCount, ...]
    waiting: int
    spellings: tuple[str, ...] = ()
    places: tuple[EntityPlace, ...] = ()
    relations: tuple[RelationPlace, ...] = ()
    themes: tuple[ThemeView, ...] = ()


class GraphService(Protocol):
    """The entity graphs of collections."""

    @require_role("reader")
    async def show(
        self, principal: Principal, collection: str, *, entity: Entity = "", limit: Most = 20
    ) -> GraphView:
        """What is named most, or what is known of one entity, at most `limit` of each.

        Raises UnknownCollection, and UnknownEntity where no document that the principal may read
        names it.
        """
        ...


GRAPH: AddedService[GraphService] = AddedService(
    "graph", GraphService, "ragstone.plugins.graph.service:open_service"
)

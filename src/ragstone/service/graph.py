"""The entity graph of a collection: what its documents name, and what is named together."""

from dataclasses import dataclass
from typing import Annotated, Protocol

from pydantic import Field

from ragstone.core.entities import EntityCount, EntityKind
from ragstone.core.turn import Principal
from ragstone.service.allowed import allowed
from ragstone.service.bounds import text

Entity = Annotated[str, text(200)]
Most = Annotated[int, Field(ge=1, le=1_000)]


@dataclass(frozen=True, slots=True)
class EntityPlace:
    """A chunk that names an entity, how it spells that, and where that was found."""

    chunk_id: str
    path: str
    title: str
    page: int | None
    name: str
    kind: EntityKind


@dataclass(frozen=True, slots=True)
class GraphView:
    """A part of an entity graph, of documents that the principal may read.

    Of no `entity`: `named` are those that most chunks name. Of an entity: its other `spellings`,
    the `places` where it is named, and `named` with it in how many of these. `waiting` documents
    were not read for the graph yet, all of them where a collection has none.
    """

    entity: str
    named: tuple[EntityCount, ...]
    waiting: int
    spellings: tuple[str, ...] = ()
    places: tuple[EntityPlace, ...] = ()


class GraphService(Protocol):
    """The entity graphs of collections."""

    @allowed("reader")
    async def show(
        self, principal: Principal, collection: str, *, entity: Entity = "", limit: Most = 20
    ) -> GraphView:
        """What is named most, or what is known of one entity, at most `limit` of each.

        Raises UnknownCollection, and UnknownEntity where no document that the principal may read
        names it.
        """
        ...

"""The entity graph in this process."""

from collections import Counter
from collections.abc import Sequence

from ragstone.core.chunk import Chunk
from ragstone.core.entities import EntityCount, EntityMention
from ragstone.core.errors import UnknownCollection, UnknownEntity
from ragstone.core.filters import And, AnyOf, Not, matches, readable
from ragstone.core.records import Collection
from ragstone.core.turn import Principal
from ragstone.knowledge.graph.entity_key import entity_key
from ragstone.knowledge.graph.extract import READING
from ragstone.ports import Adapters
from ragstone.service.graph import EntityPlace, GraphView

MOST_PLACES = 1_000
"""Chunks of an entity that are looked at."""


class LocalGraph:
    """`service.graph.GraphService` on what is kept of the chunks of this process's index."""

    def __init__(self, adapters: Adapters) -> None:
        self._adapters = adapters

    async def show(
        self, principal: Principal, collection: str, *, entity: str = "", limit: int = 20
    ) -> GraphView:
        known = await self._adapters.catalog.collection(principal.tenant, collection)
        if known is None:
            raise UnknownCollection(collection)
        mentions, readers = self._adapters.mentions, principal.names
        waiting = await mentions.waiting(known, readers, READING)
        if not entity.strip():
            named = await mentions.most_named(known, readers, limit)
            return GraphView("", tuple(named), waiting)
        return await self._of(principal, known, await self._key(principal, known, entity), limit)

    async def _key(self, principal: Principal, collection: Collection, entity: str) -> str:
        """The key of what was asked for: spelt so, or nearly so."""
        own = entity_key(entity)
        names = principal.names
        if own and await self._adapters.mentions.known(collection, names, [own]):
            return own
        graph = self._adapters.graph
        near = await graph.linked(collection, names, entity) if graph else ()
        if not near:
            raise UnknownEntity(entity)
        return near[0]

    async def _of(
        self, principal: Principal, collection: Collection, key: str, limit: int
    ) -> GraphView:
        mentions, readers = self._adapters.mentions, principal.names
        found = await mentions.of_entities(collection, readers, [key], MOST_PLACES)
        same = {one.same for one in found.get(key, []) if one.same}
        found |= await mentions.of_entities(collection, readers, same, MOST_PLACES)
        own = [one for some in found.values() for one in some]
        chunks = await self._chunks(principal, collection, own)
        own = [one for one in own if one.chunk_id in chunks]
        if not own:
            raise UnknownEntity(key)
        places = {(one.revision, one.chunk_index) for one in own}
        beside = await mentions.of_chunks(collection, readers, sorted(places))
        named = _named([one for one in beside if one.entity not in found], limit)
        spelt = Counter(one.name for one in own)
        first = _most_frequent(Counter(one.name for one in own if one.entity == key) or spelt)
        others = sorted(spelt.keys() - {first}, key=lambda name: (-spelt[name], name))
        return GraphView(
            first,
            named,
            await mentions.waiting(collection, readers, READING),
            tuple(others[:limit]),
            tuple(_place(one, chunks[one.chunk_id]) for one in own[:limit]),
        )

    async def _chunks(
        self, principal: Principal, collection: Collection, mentions: Sequence[EntityMention]
    ) -> dict[str, Chunk]:
        """The chunks of mentions that the principal may read."""
        ids = sorted({one.chunk_id for one in mentions})
        async with self._adapters.catalog.snapshot() as hidden:
            where = And((readable(principal), Not(AnyOf("revision", tuple(sorted(hidden))))))
            fetched = await self._adapters.index.fetch(collection, ids)
        return {id: one for id, one in fetched.items() if matches(where, one.payload())}


def _named(mentions: Sequence[EntityMention], limit: int) -> tuple[EntityCount, ...]:
    """The entities of mentions, those of the most chunks first."""
    chunks = Counter(one.entity for one in mentions)
    names: dict[str, Counter[str]] = {}
    for one in mentions:
        names.setdefault(one.entity, Counter())[one.name] += one.count
    most = sorted(chunks, key=lambda key: (-chunks[key], key))[:limit]
    return tuple(EntityCount(key, _most_frequent(names[key]), chunks[key]) for key in most)


def _most_frequent(counts: Counter[str]) -> str:
    return min(counts, key=lambda name: (-counts[name], name))


def _place(mention: EntityMention, chunk: Chunk) -> EntityPlace:
    return EntityPlace(
        chunk.chunk_id, chunk.path, chunk.title, chunk.page, mention.name, mention.kind
    )

"""The entity graph in this process."""

from collections import Counter
from collections.abc import Collection as Several
from collections.abc import Iterable, Mapping, Sequence

from ragstone.core.chunk import Chunk
from ragstone.core.errors import UnknownCollection, UnknownEntity
from ragstone.core.filters import And, exclude_hidden, matches, reader_filter
from ragstone.core.records import Collection
from ragstone.core.turn import Principal
from ragstone.local.added import ServiceParts
from ragstone.plugins.graph.contract import (
    EntityPlace,
    GraphView,
    RelationPlace,
    ThemePlace,
    ThemeView,
)
from ragstone.plugins.graph.entities import (
    EntityCount,
    EntityMention,
    EntityRelation,
    EntityTheme,
    entity_key,
    format_chunk_id,
)
from ragstone.plugins.graph.entity_graph import LocalEntityGraph, own_graph
from ragstone.plugins.graph.likeness import alike
from ragstone.plugins.graph.reader import reading_name
from ragstone.ports import Adapters

MAX_PLACES = 1_000
"""Chunks of an entity that are looked at."""

MAX_THEMES = 1_000
"""Themes that are looked through for an entity."""

LIKE = 500
"""Entities with the same beginning among which other spellings are looked for."""

THEME_PLACES = 10
"""Passages of a theme that are shown."""

BEGINNING = 300
"""Characters of such a passage."""


class LocalGraph:
    """`service.graph.GraphService` on what is kept of the chunks of this process's index. `reading`
    names how chunks are read for it."""

    def __init__(self, adapters: Adapters, graph: LocalEntityGraph, reading: str) -> None:
        self._adapters = adapters
        self._graph = graph
        self._reading = reading

    async def show(
        self, principal: Principal, collection: str, *, entity: str = "", limit: int = 20
    ) -> GraphView:
        known = await self._adapters.catalog.collection(principal.tenant, collection)
        if known is None:
            raise UnknownCollection(collection)
        mentions, readers = self._graph.mentions, principal.names
        if not entity.strip():
            waiting = await mentions.count_waiting(known, readers, self._reading)
            named = await mentions.most_named(known, readers, limit)
            themes = await self._graph.themes.readable(known, readers, limit)
            shown = await self._themes(principal, known, themes)
            return GraphView("", tuple(named), waiting, themes=shown)
        return await self._build_view(
            principal, known, await self._key(principal, known, entity), limit
        )

    async def _key(self, principal: Principal, collection: Collection, entity: str) -> str:
        """Return the key of what was asked for: spelt so, or nearly so."""
        own = entity_key(entity)
        names = principal.names
        if own and await self._graph.mentions.filter_known(collection, names, [own]):
            return own
        near = await self._graph.find_linked(collection, names, entity)
        if not near:
            raise UnknownEntity(entity)
        return near[0]

    async def _build_view(
        self, principal: Principal, collection: Collection, key: str, limit: int
    ) -> GraphView:
        mentions, readers = self._graph.mentions, principal.names
        found = await mentions.of_entities(collection, readers, [key], MAX_PLACES)
        same = {item.same for item in found.get(key, []) if item.same}
        near = await mentions.like(collection, readers, key[:2], LIKE)
        same |= {item for item in near if item != key and alike(item, key)}
        found |= await mentions.of_entities(collection, readers, same, MAX_PLACES)
        own = [item for some in found.values() for item in some]
        said = await mentions.find_entity_relations(collection, readers, found.keys(), MAX_PLACES)
        ids = {item.chunk_id for item in own} | {item.chunk_id for item in said}
        chunks = await self._chunks(principal, collection, ids)
        own = [item for item in own if item.chunk_id in chunks]
        if not own:
            raise UnknownEntity(key)
        places = {(item.revision, item.chunk_index) for item in own}
        beside = await mentions.of_chunks(collection, readers, sorted(places))
        named = _count_entities([item for item in beside if item.entity not in found], limit)
        spelt = Counter(item.name for item in own)
        first = _most_frequent(Counter(item.name for item in own if item.entity == key) or spelt)
        others = sorted(spelt.keys() - {first}, key=lambda name: (-spelt[name], name))
        every = await self._graph.themes.readable(collection, readers, MAX_THEMES)
        themes = [item for item in every if found.keys() & {e.entity for e in item.entities}]
        return GraphView(
            first,
            named,
            await mentions.count_waiting(collection, readers, self._reading),
            tuple(others[:limit]),
            tuple(_place(item, chunks[item.chunk_id]) for item in own[:limit]),
            _relations(said, beside, chunks)[:limit],
            await self._themes(principal, collection, themes[:limit]),
        )

    async def _themes(
        self, principal: Principal, collection: Collection, themes: Sequence[EntityTheme]
    ) -> tuple[ThemeView, ...]:
        best = {theme.id: _ids(theme.passages[:THEME_PLACES]) for theme in themes}
        chunks = await self._chunks(
            principal, collection, {id for ids in best.values() for id in ids}
        )
        return tuple(
            _theme(theme, [chunks[id] for id in best[theme.id] if id in chunks]) for theme in themes
        )

    async def _chunks(
        self, principal: Principal, collection: Collection, ids: Several[str]
    ) -> dict[str, Chunk]:
        """Return those of these chunks that the principal may read."""
        async with self._adapters.catalog.snapshot(collection) as hidden:
            where = And((reader_filter(principal), exclude_hidden(hidden)))
            fetched = await self._adapters.index.fetch(collection, sorted(ids))
        return {id: item for id, item in fetched.items() if matches(where, item.payload())}


def open_service(parts: ServiceParts) -> LocalGraph:
    """Make the operations of this process."""
    adapters, graph = parts.adapters, own_graph(parts.adapters)
    by_model = parts.settings.ingest.graph_by_model and adapters.completer is not None
    return LocalGraph(adapters, graph, reading_name(by_model, graph.recognizer))


def _count_entities(mentions: Sequence[EntityMention], limit: int) -> tuple[EntityCount, ...]:
    """Return the entities of mentions, those of the most chunks first."""
    chunks = Counter(mention.entity for mention in mentions)
    names: dict[str, Counter[str]] = {}
    for mention in mentions:
        names.setdefault(mention.entity, Counter())[mention.name] += mention.count
    most = sorted(chunks, key=lambda key: (-chunks[key], key))[:limit]
    return tuple(EntityCount(key, _most_frequent(names[key]), chunks[key]) for key in most)


def _most_frequent(counts: Counter[str]) -> str:
    return min(counts, key=lambda name: (-counts[name], name))


def _place(mention: EntityMention, chunk: Chunk) -> EntityPlace:
    return EntityPlace(
        chunk.chunk_id,
        *_where(chunk),
        mention.name,
        mention.kind,
        _around(chunk.text, mention.name),
    )


def _where(chunk: Chunk) -> tuple[str, str, int | None, str, int, int]:
    return chunk.path, chunk.title, chunk.page, chunk.document_id, chunk.start, chunk.end


def _around(text: str, name: str) -> str:
    """Return what stands round a name, or the beginning where it is spelt otherwise."""
    place = max(0, text.find(name) - BEGINNING // 3)
    return " ".join(text[place : place + BEGINNING].split())


def _ids(places: Iterable[tuple[str, int]]) -> list[str]:
    return [format_chunk_id(*place) for place in places]


def _relations(
    said: Sequence[EntityRelation], beside: Sequence[EntityMention], chunks: Mapping[str, Chunk]
) -> tuple[RelationPlace, ...]:
    """Relations with the names that their chunks have for what they relate."""
    names = {
        (mention.revision, mention.chunk_index, mention.entity): mention.name for mention in beside
    }
    return tuple(
        RelationPlace(
            names.get((relation.revision, relation.chunk_index, relation.entity), relation.entity),
            names.get((relation.revision, relation.chunk_index, relation.other), relation.other),
            relation.said,
            relation.chunk_id,
            *_where(chunks[relation.chunk_id]),
        )
        for relation in said
        if relation.chunk_id in chunks
    )


def _theme(theme: EntityTheme, chunks: Sequence[Chunk]) -> ThemeView:
    return ThemeView(
        theme.id,
        theme.title,
        theme.summary,
        theme.by,
        len(theme.passages),
        theme.entities,
        tuple(
            ThemePlace(chunk.chunk_id, *_where(chunk), " ".join(chunk.text[:BEGINNING].split()))
            for chunk in chunks
        ),
    )

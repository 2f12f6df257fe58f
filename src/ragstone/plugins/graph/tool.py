"""The tool that looks into the entity graph: what is said of a name, or which themes there are."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragstone.core.chunk import Chunk
from ragstone.core.errors import InputError
from ragstone.core.filters import Filter, matches
from ragstone.core.records import Collection
from ragstone.core.tool import Tool
from ragstone.core.turn import Hit
from ragstone.plugins.graph.entities import EntityMention, EntityRelation
from ragstone.plugins.graph.entity_graph import LocalEntityGraph, own_graph
from ragstone.ports import find_collection
from ragstone.retrieve.built_in_tools import ToolContext, ToolFinding, text_argument
from ragstone.retrieve.searching import visible

MAX_NAME_CHARS = 200
"""Characters of a name."""

MAX_PLACES = 200
"""Passages of a name that are looked at."""

PASSAGES = 5
"""Passages that the model reads."""

BESIDE = 15
"""Names beside it, and relations, that the model reads."""

THEMES = 5

NOTHING = "The entity graph has nothing of that. Search for it instead."


@dataclass(frozen=True)
class GraphTool:
    """Looks into the entity graph of what the asker may read."""

    tool: Tool = Tool(
        "entity_graph",
        "Says of a name where the documents speak of it, what is named with it, and how they "
        "relate; or, of a question about many documents, the themes that it belongs to.",
        {
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "A name that documents mention."},
                "theme": {"type": "string", "description": "What themes are asked for."},
            },
        },
        changes=False,
    )
    of_documents: bool = True

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolFinding:
        name, theme = text_argument(arguments, "name", ""), text_argument(arguments, "theme", "")
        if bool(name) == bool(theme):
            raise InputError("Give either a name or a theme.")
        if len(name) > MAX_NAME_CHARS:
            raise InputError(f"A name has at most {MAX_NAME_CHARS} characters.")
        adapters, ask = context.adapters, context.turn.ask
        collection = await find_collection(adapters.catalog, ask)
        if collection is None or adapters.graph is None:
            return ToolFinding(NOTHING, "there is no entity graph")
        graph = own_graph(adapters)
        async with adapters.catalog.snapshot(collection) as hidden:
            where = visible(ask, hidden)
            if theme:
                return await _of_theme(theme, collection, where, graph, context)
            return await _of_name(name, collection, where, graph, context)


async def _of_name(
    name: str, collection: Collection, where: Filter, graph: LocalEntityGraph, context: ToolContext
) -> ToolFinding:
    """Return where a name stands, what is named with it and how that relates."""
    mentions, readers = graph.mentions, context.turn.ask.principal.names
    keys = list(await graph.find_linked(collection, readers, name))[:1]
    found = await mentions.of_entities(collection, readers, keys, MAX_PLACES)
    same = {item.same for some in found.values() for item in some if item.same}
    found |= await mentions.of_entities(collection, readers, same, MAX_PLACES)
    own = [item for some in found.values() for item in some]
    chunks = await _chunks(collection, where, [item.chunk_id for item in own], context)
    own = [item for item in own if item.chunk_id in chunks]
    if not own:
        # What the asker may not read is as if it were not there.
        return ToolFinding(NOTHING, f"{name!r}: nothing")
    places = sorted({(item.revision, item.chunk_index) for item in own})
    beside = await mentions.of_chunks(collection, readers, places)
    told = await mentions.find_relations(collection, readers, places)
    told = [item for item in told if {item.entity, item.other} & found.keys()]
    ids = list(dict.fromkeys(item.chunk_id for item in sorted(own, key=_most_named)))
    # What tells of a relation says most.
    telling = {item.chunk_id for item in told}
    ids.sort(key=lambda id: id not in telling)
    best = [chunks[id] for id in ids[:PASSAGES]]
    head = _head(own, [item for item in beside if item.entity not in found], told, beside)
    return _build_finding(head, best, f"{name!r}: {len(chunks)} passages", context)


async def _of_theme(
    theme: str, collection: Collection, where: Filter, graph: LocalEntityGraph, context: ToolContext
) -> ToolFinding:
    """Return the themes that a question belongs to, and the best passages of these."""
    readers = context.turn.ask.principal.names
    found = await graph.find_themed(collection, readers, where, [theme], {}, MAX_PLACES)
    titles = list(dict.fromkeys(item.path[0] for item in found))[:THEMES]
    if not titles:
        return ToolFinding(NOTHING, f"{theme!r}: no theme")
    ids = [item.chunk_id for item in found[:PASSAGES]]
    chunks = await _chunks(collection, where, ids, context)
    best = [chunks[id] for id in ids if id in chunks]
    head = "Themes: " + "; ".join(titles)
    return _build_finding(head, best, f"{theme!r}: {len(titles)} themes", context)


async def _chunks(
    collection: Collection, where: Filter, ids: Sequence[str], context: ToolContext
) -> dict[str, Chunk]:
    fetched = await context.adapters.index.fetch(collection, sorted(set(ids)))
    return {
        id: item.with_collection(collection.name)
        for id, item in fetched.items()
        if matches(where, item.payload())
    }


def _most_named(mention: EntityMention) -> tuple[int, str]:
    return -mention.count, mention.chunk_id


def _head(
    own: Sequence[EntityMention],
    beside: Sequence[EntityMention],
    told: Sequence[EntityRelation],
    every: Sequence[EntityMention],
) -> str:
    """Return what the graph itself says."""
    spelt = ", ".join(
        item for item, _ in Counter(mention.name for mention in own).most_common(BESIDE)
    )
    places = len({mention.chunk_id for mention in own})
    lines = [f"{spelt}: named in {places} passages."]
    names = {mention.entity: mention.name for mention in every}
    if most := Counter(mention.entity for mention in beside).most_common(BESIDE):
        lines.append("With it: " + ", ".join(f"{names[key]} ({times})" for key, times in most))
    lines += [
        f"{names.get(relation.entity, relation.entity)} | {relation.said} | "
        f"{names.get(relation.other, relation.other)}"
        for relation in told[:BESIDE]
    ]
    return "\n".join(lines)


def _build_finding(
    head: str, best: Sequence[Chunk], said: str, context: ToolContext
) -> ToolFinding:
    """The passages are the sources; what the graph itself says leads to them, and is none."""
    parts = [f"{chunk.path}: {chunk.heading}\n{chunk.text}" for chunk in best]
    text = "\n\n".join([head, *parts])[: context.most_chars]
    return ToolFinding(text, said, hits=tuple(Hit(chunk, 1.0) for chunk in best))

"""Themes: communities of entities that chunks name together, and what tells most of each.

Communities are those of Louvain (Blondel et al., 2008), as GraphRAG and LightRAG look at a graph
from above. Whatever is made here depends on the given mentions alone, and not on their order.
"""

import hashlib
import importlib.util
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from ragstone.core.chunk import Chunk
from ragstone.plugins.graph.entities import EntityCount, EntityMention, EntityRelation, EntityTheme
from ragstone.plugins.graph.summaries.central import candidates, central, rarities, sum_weights
from ragstone.plugins.graph.summaries.tree import excerpt_text
from ragstone.plugins.graph.walk import Place, most_frequent_names, same_entities

FORMAT = "1"
"""Raised when themes are made otherwise, so that they are made anew."""

FEWEST_ENTITIES, FEWEST_CHUNKS = 3, 2
"""Of a theme; less is not a theme."""

MOST_OF_CHUNK = 20
"""Entities of a chunk that are joined to each other: the rarest."""

EVERYWHERE = 0.1
"""Share of the chunks from which an entity that they name joins nothing, if it is of more than
`FREQUENT`."""

FREQUENT = 40

MAX_ENTITIES, MAX_PASSAGES = 20, 50
"""Entities and passages of a theme that are kept, those that tell most of it."""

IN_TITLE = 3

SUMMED_UP = 12
"""Passages of a theme that its summary is chosen from."""

SENTENCES = 3

_APART = 10**9
"""Characters that no chunk has."""


def can_be_made() -> bool:
    """Tell whether the library that finds communities is installed (the extra `graph`)."""
    return importlib.util.find_spec("networkx") is not None


def communities(
    mentions: Sequence[EntityMention], relations: Sequence[EntityRelation], audience: str
) -> list[EntityTheme]:
    """The themes of what chunks name, without summaries, those of the most passages first."""
    same = same_entities(mentions)
    chunks: dict[Place, Counter[str]] = {}
    for mention in mentions:
        place = mention.revision, mention.chunk_index
        chunks.setdefault(place, Counter())[same.get(mention.entity, mention.entity)] += (
            mention.count
        )
    spread = Counter(key for named in chunks.values() for key in named)
    most = max(FREQUENT, EVERYWHERE * len(chunks))
    joining = {key for key, count in spread.items() if 2 <= count <= most}
    edges = _edges(chunks, relations, same, spread, joining)
    names = most_frequent_names(mentions, same)
    found = [_theme(group, chunks, spread, names, audience) for group in _groups(edges)]
    themes = [item for item in found if item is not None]
    return sorted(themes, key=lambda item: (-len(item.passages), item.id))


def _edges(
    chunks: Mapping[Place, Counter[str]],
    relations: Sequence[EntityRelation],
    same: Mapping[str, str],
    spread: Mapping[str, int],
    joining: set[str],
) -> dict[tuple[str, str], float]:
    """Tell how much entities are joined: by each chunk that names both, less by one that names
    many, and as much again by each relation."""
    edges: dict[tuple[str, str], float] = {}
    for place in sorted(chunks):
        named = sorted(joining.intersection(chunks[place]), key=lambda key: (spread[key], key))
        some = sorted(named[:MOST_OF_CHUNK])
        for pair in combinations(some, 2):
            weight = 1 / (len(some) - 1) / math.sqrt(spread[pair[0]] * spread[pair[1]])
            edges[pair] = edges.get(pair, 0.0) + weight
    for relation in sorted(relations, key=lambda item: (item.entity, item.other, item.said)):
        here, there = sorted(same.get(key, key) for key in (relation.entity, relation.other))
        if here != there and {here, there} <= joining:
            weight = 1 / math.sqrt(spread[here] * spread[there])
            edges[here, there] = edges.get((here, there), 0.0) + weight
    return edges


def _groups(edges: Mapping[tuple[str, str], float]) -> list[list[str]]:
    """Return the communities of a graph of entities."""
    if not edges:
        return []
    import networkx  # 0.2 s, and only where there are themes.

    graph = networkx.Graph()
    graph.add_weighted_edges_from((*pair, edges[pair]) for pair in sorted(edges))
    found = networkx.community.louvain_communities(graph, weight="weight", seed=0)
    return sorted(sorted(group) for group in found)


def _theme(
    group: Sequence[str],
    chunks: Mapping[Place, Counter[str]],
    spread: Mapping[str, int],
    names: Mapping[str, str],
    audience: str,
) -> EntityTheme | None:
    inside = frozenset(group)
    weights: dict[Place, float] = {}
    counts: Counter[str] = Counter()
    for place, named in chunks.items():
        own = inside.intersection(named)
        # A chunk that names one thing of a theme in passing does not tell of it.
        if len(own) >= 2:
            weights[place] = sum(1 / math.sqrt(spread[key]) for key in own)
            counts.update(own)
    if len(counts) < FEWEST_ENTITIES or len(weights) < FEWEST_CHUNKS:
        return None
    passages = sorted(weights, key=lambda place: (-weights[place], place))
    entities = sorted(counts, key=lambda key: (-counts[key], key))
    told = "\0".join(f"{revision}\1{number}" for revision, number in sorted(weights))
    said = f"{audience}\2{told}\2" + "\0".join(sorted(counts))
    return EntityTheme(
        hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=12).hexdigest(),
        audience,
        ", ".join(names[key] for key in entities[:IN_TITLE]),
        tuple(EntityCount(key, names[key], counts[key]) for key in entities[:MAX_ENTITIES]),
        tuple(passages[:MAX_PASSAGES]),
        tuple(sorted({revision for revision, _ in weights})),
    )


def own_sentences(chunks: Sequence[Chunk]) -> str:
    """Return the sentences of a theme's best passages that tell most of them."""
    # As if they were of one document, so that places in them differ.
    apart = [
        replace(
            chunk, chunk_index=number, start=number * _APART, end=number * _APART + len(chunk.text)
        )
        for number, chunk in enumerate(chunks)
    ]
    rarity = rarities(apart)
    children = [candidates(item, rarity) for item in apart]
    about = sum_weights([item.words for child in children for item in child])
    chosen = [item.excerpt for item in central(children, about)[:SENTENCES]]
    return " ".join(excerpt_text(item, apart[item.chunk_index]) for item in chosen)

"""Which chunks a walk from the question reaches: personalised PageRank over entities and chunks.

After Page et al. (1999), begun anew at the question as Haveliwala (2002) does it, over the graph of
names and passages that HippoRAG (Gutiérrez et al., 2024) walks on: a chunk is joined to what it
names, and to nothing else.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragstone.plugins.graph.entities import EntityMention
from ragstone.plugins.graph.likeness import alike_pairs
from ragstone.ports.graph import RelatedChunk

ONWARD = 0.5
"""The chance of each step to go on instead of beginning anew, as in HippoRAG: more would lead
further away from the question than two hops."""

STEPS = 24
"""After so many steps, less than a millionth of the walk is still to be decided."""

FROM_NAMES = 0.5
"""The share of walks that begin at what the question names, the others at what was found."""

Place = tuple[str, int]
"""A chunk, by its revision and its number in it."""


@dataclass(frozen=True, slots=True)
class _Edges:
    """Entity and chunk of each mention, by their numbers, with its weight."""

    entities: NDArray[np.int64]
    chunks: NDArray[np.int64]
    weights: NDArray[np.float64]


def same_entities(mentions: Iterable[EntityMention]) -> dict[str, str]:
    """For each entity that a chunk says is the same as another one, or that is spelt nearly as
    another one, the first by key of all that are the same."""
    mentions = list(mentions)
    parent: dict[str, str] = {}

    def first(key: str) -> str:
        while parent.get(key, key) != key:
            key = parent[key]
        return key

    said = [(mention.entity, mention.same) for mention in mentions if mention.same]
    for pair in (*said, *alike_pairs(mention.entity for mention in mentions)):
        here, there = sorted(map(first, pair))
        parent[there] = parent[here] = here
    return {key: first(key) for key in parent}


def walk_graph(
    mentions: Sequence[EntityMention],
    named: Mapping[str, float],
    found: Mapping[Place, float],
    ids: Mapping[Place, str],
) -> list[RelatedChunk]:
    """Return the chunks of `ids` by their share of a walk over `mentions`, best first. It begins at
    the entities `named` and the chunks `found`, by their weights."""
    mentions = [mention for mention in mentions if _place(mention) in ids]
    same = same_entities(mentions)
    names = most_frequent_names(mentions, same)
    entities = {key: number for number, key in enumerate(names)}
    chunks = {place: number for number, place in enumerate(sorted(ids))}
    edges = _edges(mentions, same, entities, chunks)
    asked = [(entities.get(same.get(key, key)), weight) for key, weight in named.items()]
    start_names = _start(asked, len(entities))
    start_found = _start([(chunks.get(p), weight) for p, weight in found.items()], len(chunks))
    share = FROM_NAMES if start_found.any() else 1.0
    if not start_names.any():
        share = 0.0
    at_names, at_chunks = _rank_shares(edges, share * start_names, (1 - share) * start_found)
    ways = _Ways(edges, list(names.values()), at_names, at_chunks, start_names)
    places = sorted(chunks, key=lambda place: (-at_chunks[chunks[place]], ids[place]))
    whole = float(at_chunks.sum()) or 1.0
    return [
        RelatedChunk(ids[p], float(at_chunks[chunks[p]]) / whole, ways.to(chunks[p]))
        for p in places
        if at_chunks[chunks[p]] > 0
    ]


def _place(mention: EntityMention) -> Place:
    return mention.revision, mention.chunk_index


def most_frequent_names(
    mentions: Sequence[EntityMention], same: Mapping[str, str]
) -> dict[str, str]:
    """Return every entity with its most frequent name, by key."""
    spelt: dict[str, Counter[str]] = {}
    for mention in mentions:
        spelt.setdefault(same.get(mention.entity, mention.entity), Counter())[mention.name] += (
            mention.count
        )
    return {
        key: min(counts, key=lambda name: (-counts[name], -len(name), name))
        for key, counts in sorted(spelt.items())
    }


def _edges(
    mentions: Sequence[EntityMention],
    same: Mapping[str, str],
    entities: Mapping[str, int],
    chunks: Mapping[Place, int],
) -> _Edges:
    """The more often a chunk names an entity, and the fewer chunks do, the more they are joined."""
    pairs: dict[tuple[int, int], float] = {}
    for mention in mentions:
        pair = entities[same.get(mention.entity, mention.entity)], chunks[_place(mention)]
        pairs[pair] = pairs.get(pair, 0.0) + mention.count
    order = sorted(pairs)
    ends = np.array(order, dtype=np.int64).reshape(-1, 2)
    spread = np.bincount(ends[:, 0], minlength=len(entities))[ends[:, 0]]
    counts = np.array([1 + math.log(pairs[pair]) for pair in order])
    return _Edges(ends[:, 0], ends[:, 1], counts / np.sqrt(np.maximum(spread, 1)))


def _start(weights: Iterable[tuple[int | None, float]], many: int) -> NDArray[np.float64]:
    """Return where walks begin: shares that are 1 together, or nothing."""
    start = np.zeros(many)
    for number, weight in weights:
        if number is not None:
            start[number] += max(weight, 0.0)
    return start / start.sum() if start.sum() > 0 else start


def _rank_shares(
    edges: _Edges, names: NDArray[np.float64], chunks: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the shares of entities and chunks in endless walks."""
    from_names = _shares(edges.weights, edges.entities, len(names))
    from_chunks = _shares(edges.weights, edges.chunks, len(chunks))
    at_names, at_chunks = names, chunks
    for _ in range(STEPS):
        to_chunks = np.bincount(
            edges.chunks, at_names[edges.entities] * from_names, minlength=len(chunks)
        )
        to_names = np.bincount(
            edges.entities, at_chunks[edges.chunks] * from_chunks, minlength=len(names)
        )
        at_names = (1 - ONWARD) * names + ONWARD * to_names
        at_chunks = (1 - ONWARD) * chunks + ONWARD * to_chunks
    return at_names, at_chunks


def _shares(
    weights: NDArray[np.float64], ends: NDArray[np.int64], many: int
) -> NDArray[np.float64]:
    """Return each edge's share of all that leave from the same end."""
    whole = np.bincount(ends, weights, minlength=many)
    return weights / np.maximum(whole[ends], 1e-12)


class _Ways:
    """The names on the likeliest way to a chunk."""

    def __init__(
        self,
        edges: _Edges,
        names: Sequence[str],
        at_names: NDArray[np.float64],
        at_chunks: NDArray[np.float64],
        start: NDArray[np.float64],
    ) -> None:
        self._names = names
        self._start = start
        flow = at_names[edges.entities] * edges.weights
        back = at_chunks[edges.chunks] * edges.weights
        self._of_chunk = _by_end(edges.chunks, edges.entities, flow)
        self._of_name = _by_end(edges.entities, edges.chunks, back)

    def to(self, chunk: int) -> tuple[str, ...]:
        """The question's entity that leads there, and the one that it leads over, if another."""
        near = self._of_chunk.get(chunk, [])
        asked = [item for item in near if self._start[item] > 0]
        if asked or not near:
            return tuple(self._names[item] for item in asked[:1])
        over = near[0]
        for other in self._of_name.get(over, []):
            for item in self._of_chunk.get(other, []):
                if other != chunk and self._start[item] > 0:
                    return self._names[item], self._names[over]
        return (self._names[over],)


def _by_end(
    ends: NDArray[np.int64], others: NDArray[np.int64], weights: NDArray[np.float64]
) -> dict[int, list[int]]:
    """For each end the other ends of its edges, the heaviest first."""
    found: dict[int, list[int]] = {}
    for edge in np.lexsort((others, -weights)):
        found.setdefault(int(ends[edge]), []).append(int(others[edge]))
    return found

"""The tree of a document: runs of its chunks, runs of these, up to one root, and the sentences that
tell most of each.

Cuts a row of vectors into runs of neighbours that are alike.

The clusters of RAPTOR (Sarthi et al. 2024) may lie anywhere in a document. Ours are stretches of
it: a summary then is of one part of the text and stands in its place among the others, and
neighbours are about the same most of the time. The cut is the best there is, by dynamic programming
over all cuts into that many runs (Fisher 1958).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from ragstone.core.chunk import SUMMARY, Chunk, SummaryNode, TellingSentence, summary_id
from ragstone.plugins.graph.summaries.central import (
    Candidate,
    Weights,
    candidates,
    central,
    rarities,
    sum_weights,
)

MIN_RUN, MAX_RUN = 3, 8
"""Vectors of a run; a row of up to `MAX_RUN` is one."""

MEAN = 6
"""Vectors of a run on average."""


def runs(vectors: NDArray[np.float32]) -> list[tuple[int, int]]:
    """Begin and end of each run of a row of vectors of shape (n, dimensions): the cut with the
    least sum of squared distances to the means of the runs, the same for the same vectors."""
    n = len(vectors)
    if n <= MAX_RUN:
        return [(0, n)]
    count = min(max(round(n / MEAN), -(-n // MAX_RUN)), n // MIN_RUN)
    lengths = np.arange(MIN_RUN, MAX_RUN + 1)
    costs = _costs(vectors.astype(np.float64), lengths)
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    chosen = np.zeros((count, n + 1), np.int8)
    for run in range(count):
        options = costs.copy()
        for row, length in enumerate(lengths):
            options[row, length:] += best[: n + 1 - length]
        picked = options.argmin(axis=0)
        best = options[picked, np.arange(n + 1)]
        chosen[run] = lengths[picked]
    found, end = list[tuple[int, int]](), n
    for run in reversed(range(count)):
        begin = end - int(chosen[run, end])
        found.append((begin, end))
        end = begin
    return found[::-1]


def _costs(vectors: NDArray[np.float64], lengths: NDArray[np.int_]) -> NDArray[np.float64]:
    """For each length and end of a run, the sum of squared distances to its mean; infinite where
    there is no such run."""
    n = len(vectors)
    sums = np.concatenate([np.zeros((1, vectors.shape[1])), vectors.cumsum(axis=0)])
    squares = np.concatenate([[0.0], (vectors**2).sum(axis=1).cumsum()])
    costs = np.full((len(lengths), n + 1), np.inf)
    for row, length in enumerate(lengths):
        inside = ((sums[length:] - sums[:-length]) ** 2).sum(axis=1) / length
        costs[row, length:] = np.maximum(squares[length:] - squares[:-length] - inside, 0.0)
    return costs


def means(vectors: NDArray[np.float32], found: list[tuple[int, int]]) -> NDArray[np.float32]:
    """The direction of each run's mean, of length 1."""
    sums = np.stack([vectors[begin:end].sum(axis=0) for begin, end in found])
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    directions: NDArray[np.float32] = (sums / np.where(lengths, lengths, 1.0)).astype(np.float32)
    return directions


MIN_CHUNKS = MAX_RUN + 1
"""A document of fewer chunks has no tree: one node would be all of it."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What stands below a node: its number among the nodes or the chunks, its sentences, and the
    words of all sentences in it."""

    number: int
    first: int
    last: int
    said: Sequence[Candidate]
    about: Weights


def extractive_tree(
    chunks: Sequence[Chunk], vectors: NDArray[np.float32], recipe: str
) -> list[SummaryNode]:
    """Return the tree of the chunks of a document, in order, each with its vector; by their
    numbers, and the same for the same chunks and vectors."""
    rarity = rarities(chunks)
    parts = [_leaf(chunk, rarity) for chunk in chunks]
    nodes: list[SummaryNode] = []
    level = 0
    while level == 0 or len(parts) > 1:
        level += 1
        cut = runs(vectors)
        above: list[_Part] = []
        for begin, end in cut:
            below = parts[begin:end]
            part = _node_part(len(nodes), below)
            children = () if level == 1 else tuple(item.number for item in below)
            said = tuple(candidate.excerpt for candidate in part.said)
            nodes.append(
                SummaryNode(part.number, 0, level, part.first, part.last, children, said, recipe)
            )
            above.append(part)
        vectors, parts = means(vectors, cut), above
    return [replace(node, count=len(nodes)) for node in nodes]


def _leaf(chunk: Chunk, rarity: Weights) -> _Part:
    said = candidates(chunk, rarity)
    about = sum_weights([item.words for item in said])
    return _Part(chunk.chunk_index, chunk.chunk_index, chunk.chunk_index, said, about)


def _node_part(number: int, below: Sequence[_Part]) -> _Part:
    about = sum_weights([part.about for part in below])
    said = central([part.said for part in below], about)
    return _Part(number, below[0].first, below[-1].last, said, about)


def sentences_of_few(chunks: Sequence[Chunk]) -> list[TellingSentence]:
    """The sentences that tell most of a document that is too short for a tree, the best first."""
    rarity = rarities(chunks)
    return [
        candidate.excerpt
        for candidate in _node_part(0, [_leaf(chunk, rarity) for chunk in chunks]).said
    ]


def excerpt_text(excerpt: TellingSentence, chunk: Chunk) -> str:
    """Return the words of a sentence, on one line."""
    return " ".join(chunk.text[excerpt.start - chunk.start : excerpt.end - chunk.start].split())


def in_order(said: Sequence[TellingSentence]) -> list[TellingSentence]:
    """Return sentences as they stand in the document."""
    return sorted(said, key=lambda item: (item.start, item.end))


def node_chunk(node: SummaryNode, text: str, chunks: Sequence[Chunk]) -> Chunk:
    """Return a node as the index holds it. `chunks` are those of its document, by their indexes."""
    below = chunks[node.first : node.last + 1]
    first = below[0]
    return replace(
        first,
        chunk_id=summary_id(first.document_id, first.version, node.number),
        chunk_index=node.number,
        text=text,
        start=first.start,
        end=max(item.end for item in below),
        section=_find_shared_section(below),
        kind=SUMMARY,
        layout=node.encode(),
    )


def _find_shared_section(chunks: Sequence[Chunk]) -> tuple[str, ...]:
    """Return the headings above all of these chunks."""
    sections = [chunk.section for chunk in chunks]
    same = takewhile(lambda names: len(set(names)) == 1, zip(*sections, strict=False))
    return tuple(names[0] for names in same)


def excerpt_lines(said: Sequence[TellingSentence], chunks: Sequence[Chunk]) -> str:
    """Return the text of a node without a chat model: its sentences in order, each on a line."""
    return "\n".join(
        excerpt_text(sentence, chunks[sentence.chunk_index]) for sentence in in_order(said)
    )

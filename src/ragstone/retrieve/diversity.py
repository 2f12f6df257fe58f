"""Passages that repeat each other: dropped, or moved back."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

from ragstone.core.turn import Hit
from ragstone.language.late_interaction import Floats

T = TypeVar("T")


def distinct(hits: Sequence[Hit], vectors: Mapping[str, Floats], most: float) -> list[Hit]:
    """Hits without those that say the same as a better one, or whose cosine to it is above
    `most`; a `most` of 1 or more keeps all."""
    if most >= 1:
        return list(hits)
    kept: list[Hit] = []
    seen: list[Floats] = []
    texts: set[str] = set()
    for hit in hits:
        if hit.chunk.text in texts:
            continue
        texts.add(hit.chunk.text)
        vector = vectors.get(hit.chunk.chunk_id)
        if vector is not None:
            if seen and float(np.max(np.stack(seen) @ vector)) > most:
                continue
            seen.append(vector)
        kept.append(hit)
    return kept


def diverse(
    hits: Sequence[Hit], vectors: Mapping[str, Floats], share: float, most: int
) -> list[Hit]:
    """At most `most` hits by maximal marginal relevance (Carbonell and Goldstein, 1998): each next
    one has the best score less its likeness to those before it; `share` (0..1) weighs the likeness.

    They stay in their order: variety decides what is read, not what is best.
    """
    left = list(hits)
    nearest = dict.fromkeys((hit.chunk.chunk_id for hit in hits), 0.0)
    while left and len(hits) - len(left) < most:
        best = max(left, key=lambda h: (1 - share) * h.score - share * nearest[h.chunk.chunk_id])
        left.remove(best)
        vector = vectors.get(best.chunk.chunk_id)
        if vector is None:
            continue
        for hit in left:
            other = vectors.get(hit.chunk.chunk_id)
            if other is not None:
                one = hit.chunk.chunk_id
                nearest[one] = max(nearest[one], float(np.dot(vector, other)))
    unread = {hit.chunk.chunk_id for hit in left}
    return [hit for hit in hits if hit.chunk.chunk_id not in unread]


def best_at_the_edges(items: Sequence[T]) -> list[T]:
    """The best first, the second best last, and so on inwards: models read the middle of a long
    prompt least (Liu et al., "Lost in the Middle", 2023)."""
    return [*items[::2], *reversed(items[1::2])]

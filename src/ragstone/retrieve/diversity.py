"""Passages that repeat each other: dropped, or moved back."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from ragstone.core.turn import Hit
from ragstone.language.late_interaction import Floats
from ragstone.language.polarity import negations
from ragstone.language.words import is_paired, words

T = TypeVar("T")

_WORD = re.compile(r"[^\W_]+")


def distinct(hits: Sequence[Hit], vectors: Mapping[str, Floats], most: float) -> list[Hit]:
    """Return hits without those that repeat a better one: the same text, or a cosine above `most`
    and nothing of its own (`adds_nothing`). A `most` of 1 or more keeps all."""
    if most >= 1:
        return list(hits)
    kept: list[Hit] = []
    seen: list[tuple[str, Floats]] = []
    texts: set[str] = set()
    for hit in hits:
        text = hit.chunk.text
        if text in texts:
            continue
        texts.add(text)
        vector = vectors.get(hit.chunk.chunk_id)
        if vector is not None:
            if any(float(v @ vector) > most and adds_nothing(text, t) for t, v in seen):
                continue
            seen.append((text, vector))
        kept.append(hit)
    return kept


def adds_nothing(text: str, other: str) -> bool:
    """Tell whether no number, name or negation differs between two texts that mean nearly the same.

    Vectors do not see what these change: two editions of a policy are .95 alike. A capital makes a
    name; in scripts that are read in pairs of characters any pair may be one.
    """
    if negations(text) != negations(other):
        return False
    first, second = Counter(_telling_words(text)), Counter(_telling_words(other))
    return first == second


def _telling_words(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        if is_paired(word):
            yield from words(word)
        elif word[0].isupper() or any(map(str.isdigit, word)):
            yield word


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
    """Return the best first, the second best last, and so on inwards: models read the middle of a
    long prompt least (Liu et al., "Lost in the Middle", 2023)."""
    return [*items[::2], *reversed(items[1::2])]

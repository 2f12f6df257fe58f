"""Combining ranked lists whose scores have different scales.

Weighted score fusion after Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid
Retrieval" (2023): each list is scaled to 0..1, then averaged. BM25 is divided by the list's best
score, since its least possible score is 0; cosines are scaled between the list's worst and best.
A chunk that a list does not hold gets 0 from it.
"""

from collections.abc import Mapping, Sequence

from ragstone.turn import RankedList


def scaled(ranked: RankedList) -> dict[str, float]:
    """The list's scores in 0..1."""
    if not ranked.found:
        return {}
    scores = [scored.score for scored in ranked.found]
    low = min(scores) if ranked.source == "dense" else 0.0
    width = max(scores) - low
    if width <= 0:
        return {scored.chunk_id: 1.0 for scored in ranked.found}
    return {s.chunk_id: max(0.0, s.score - low) / width for s in ranked.found}


def fuse(lists: Sequence[RankedList], dense_weight: float) -> dict[str, float]:
    """Fused scores in 0..1 by chunk id, best first.

    Lists of one kind share its weight evenly; where only one kind was searched it has it all.
    """
    weights = _weights(lists, dense_weight)
    total: dict[str, float] = {}
    for ranked, weight in zip(lists, weights, strict=True):
        for chunk_id, score in scaled(ranked).items():
            total[chunk_id] = total.get(chunk_id, 0.0) + weight * score
    return dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))


def _weights(lists: Sequence[RankedList], dense_weight: float) -> list[float]:
    shares: Mapping[str, float] = {"dense": dense_weight, "bm25": 1 - dense_weight}
    counts = {kind: sum(r.source == kind for r in lists) for kind in shares}
    whole = sum(share for kind, share in shares.items() if counts[kind])
    if whole <= 0:
        return [1 / len(lists) for _ in lists]
    return [shares[ranked.source] / counts[ranked.source] / whole for ranked in lists]

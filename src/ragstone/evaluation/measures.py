"""Measures of a ranking against the documents that are relevant, averaged over questions."""

import math
from collections.abc import Collection, Sequence


def hit(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """1 if a relevant document is among the first `k`."""
    return float(any(one in relevant for one in ranking[:k]))


def recall(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """The share of the relevant documents that is among the first `k`."""
    return sum(one in relevant for one in ranking[:k]) / len(relevant)


def reciprocal_rank(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """1 / rank of the first relevant document among the first `k`, else 0."""
    for rank, one in enumerate(ranking[:k], start=1):
        if one in relevant:
            return 1 / rank
    return 0.0


def ndcg(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Normalised discounted cumulative gain with gains 0 and 1 (Järvelin and Kekäläinen 2002)."""
    gain = sum(1 / math.log2(i + 2) for i, one in enumerate(ranking[:k]) if one in relevant)
    ideal = sum(1 / math.log2(i + 2) for i in range(min(k, len(relevant))))
    return gain / ideal


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (0..1) of `values` lie, by the nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)]

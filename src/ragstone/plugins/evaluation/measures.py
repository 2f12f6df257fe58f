"""Measures of a ranking against the documents that are relevant, averaged over questions."""

import math
from collections.abc import Collection, Sequence
from itertools import groupby


def hit(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """1 if a relevant document is among the first `k`."""
    return float(any(text in relevant for text in ranking[:k]))


def recall(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Return the share of the relevant documents that is among the first `k`."""
    return sum(text in relevant for text in ranking[:k]) / len(relevant)


def reciprocal_rank(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """1 / rank of the first relevant document among the first `k`, else 0."""
    for rank, text in enumerate(ranking[:k], start=1):
        if text in relevant:
            return 1 / rank
    return 0.0


def ndcg(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Normalised discounted cumulative gain with gains 0 and 1 (Järvelin and Kekäläinen 2002)."""
    gain = sum(1 / math.log2(i + 2) for i, text in enumerate(ranking[:k]) if text in relevant)
    ideal = sum(1 / math.log2(i + 2) for i in range(min(k, len(relevant))))
    return gain / ideal


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which `share` (0..1) of `values` lie, by the nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)]


def auroc(scores: Sequence[float], right: Sequence[bool]) -> float | None:
    """Return the probability that a right one has a higher score than a wrong one; equal scores
    count half. None where either kind is missing."""
    order = sorted(zip(scores, right, strict=True), key=lambda item: item[0])
    positives = sum(bool(item) for _, item in order)
    negatives = len(order) - positives
    if not positives or not negatives:
        return None
    won = below = 0.0
    for _, tied in groupby(order, key=lambda item: item[0]):
        kinds = [bool(item) for _, item in tied]
        wrong = kinds.count(False)
        won += kinds.count(True) * (below + wrong / 2)
        below += wrong
    return won / (positives * negatives)


def balanced_accuracy(said: Sequence[bool], right: Sequence[bool]) -> float | None:
    """Return the mean of the shares of right and of wrong ones that were said to be that."""
    pairs = list(zip(said, right, strict=True))
    shares = [[s == r for s, r in pairs if r is kind] for kind in (True, False)]
    if not all(shares):
        return None
    return sum(sum(share) / len(share) for share in shares) / 2


def f1(said: Sequence[bool], right: Sequence[bool]) -> float:
    """The harmonic mean of precision and recall of the positives; 0 if there are none."""
    both = sum(s and r for s, r in zip(said, right, strict=True))
    return 2 * both / max(1, sum(said) + sum(right))

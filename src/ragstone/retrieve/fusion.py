"""Combining ranked lists whose scores have different scales.

Scores: weighted score fusion after Bruch, Gai and Ingber, "An Analysis of Fusion Functions for
Hybrid Retrieval" (2023): each list is scaled to 0..1, then averaged. BM25 is divided by the list's
best score, since its least possible score is 0; cosines, those of tokens too, are scaled between
the list's worst and best. A chunk that a list does not hold gets 0 from it.

Ranks: reciprocal rank fusion after Cormack, Clarke and Büttcher (2009), by what the first place in
every list would give, so that it lies in 0..1 too.

Lists of several queries are fused query by query. Where the queries say the same in other words, a
chunk gets the weighted mean of its scores, the first query counting most (CombSUM after Fox and
Shaw, 1994); where each asks for a part, it keeps its best score. The scores of a retrieval service
are kept as they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragstone.core.turn import Fusion, RankedList

THEMES = 0.5
"""The weight of passages of themes, which are about more than the question, against a search."""


@dataclass(frozen=True, slots=True)
class FusionWeights:
    """How lists are fused. `dense` is the share of meaning against words, `feedback` the part of
    that share which goes to lists of refined questions, `rrf_k` the damping of ranks, `others` the
    weight of each further query against the first, `parts` whether they ask for parts instead.
    `late` is the weight of late interaction against meaning and words together."""

    dense: float = 0.4
    feedback: float = 0.0
    fusion: Fusion = "scores"
    rrf_k: int = 30
    others: float = 0.8
    parts: bool = False
    late: float = 0.0

    def share(self, source: str) -> float:
        """Return the weight of a list of this source."""
        shares = {
            "dense": self.dense * (1 - self.feedback),
            "feedback": self.dense * self.feedback,
            "bm25": 1 - self.dense,
            "late": self.late,
            "themes": THEMES,
        }
        return shares.get(source, 1.0)


def scale_scores(ranked: RankedList) -> dict[str, float]:
    """Return the list's scores in 0..1."""
    if not ranked.found:
        return {}
    scores = [scored.score for scored in ranked.found]
    low = min(scores) if ranked.source in ("dense", "late", "feedback") else 0.0
    width = max(scores) - low
    if width <= 0:
        return {scored.chunk_id: 1.0 for scored in ranked.found}
    return {s.chunk_id: max(0.0, s.score - low) / width for s in ranked.found}


def ranks(ranked: RankedList, k: int) -> dict[str, float]:
    """Return the list's reciprocal ranks in 0..1: the first has 1."""
    return {s.chunk_id: (k + 1) / (k + 1 + i) for i, s in enumerate(ranked.found)}


def fuse(lists: Sequence[RankedList], weights: FusionWeights) -> dict[str, float]:
    """Return fused scores in 0..1 by chunk id, best first."""
    queries = list(dict.fromkeys(ranked.query for ranked in lists))
    if len(queries) == 1:
        return _best_first(_weighted_sum(lists, weights))
    whole = 1 + weights.others * (len(queries) - 1)
    total: dict[str, float] = {}
    for number, query in enumerate(queries):
        own = [ranked for ranked in lists if ranked.query == query]
        share = (weights.others if number else 1.0) / whole
        for chunk_id, score in _weighted_sum(own, weights).items():
            before = total.get(chunk_id, 0.0)
            best = weights.parts or own[0].source == "service"
            total[chunk_id] = max(score, before) if best else before + share * score
    return _best_first(total)


def _best_first(scores: Mapping[str, float]) -> dict[str, float]:
    """Return the scores in order, by id where they are equal."""
    order = sorted(sorted(scores), key=scores.__getitem__, reverse=True)
    return {chunk_id: scores[chunk_id] for chunk_id in order}


def _weighted_sum(lists: Sequence[RankedList], weights: FusionWeights) -> Mapping[str, float]:
    shares = _shares(lists, weights)
    total: dict[str, float] = {}
    for ranked, share in zip(lists, shares, strict=True):
        one = _scores(ranked, weights)
        for chunk_id, score in one.items():
            total[chunk_id] = total.get(chunk_id, 0.0) + share * score
    return total


def _scores(ranked: RankedList, weights: FusionWeights) -> Mapping[str, float]:
    if ranked.source == "service":
        best: dict[str, float] = {}
        for item in ranked.found:
            best[item.chunk_id] = max(item.score, best.get(item.chunk_id, 0.0))
        return best
    return ranks(ranked, weights.rrf_k) if weights.fusion == "ranks" else scale_scores(ranked)


def _shares(lists: Sequence[RankedList], weights: FusionWeights) -> list[float]:
    """Return each list's share, together 1: what a source that was not searched had goes to the
    others, and lists of one source share evenly."""
    counts = {ranked.source: 0 for ranked in lists}
    for ranked in lists:
        counts[ranked.source] += 1
    whole = sum(weights.share(source) for source in counts)
    if whole <= 0:
        return [1 / len(lists) for _ in lists]
    return [weights.share(r.source) / whole / counts[r.source] for r in lists]

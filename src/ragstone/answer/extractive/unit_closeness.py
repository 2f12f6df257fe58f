"""How near each unit of the passages is to a question, token by token
(`language.late_interaction`).

A passage's token vectors were made with the whole passage in view, so a sentence that begins with
"It" is already near to what it speaks of; nothing has to be embedded for this.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ragstone.language.late_interaction import Floats, TokenVectors

NAMES = (
    "match", "plain_match", "sharp_match", "worst_match", "frame_match", "with_previous",
    "with_heading", "passage_match", "best_of_passage", "topic",
)  # fmt: skip
"""The columns of `closeness`: MaxSim by rarity, without weights, of the squares; the least match of
a rare token; MaxSim of the frequent tokens, which ask; what the unit before and the heading add to
MaxSim; MaxSim of the passage; that of its best unit; the cosine of the mean vectors."""


@dataclass(frozen=True, slots=True)
class OwnedVectors:
    """A passage's token vectors (m, dimensions) and the unit that each is in (m,), -1 for the
    heading, in order; `units` is their number."""

    vectors: Floats
    owners: NDArray[np.int64]
    units: int


def closeness(
    question: TokenVectors, weights: Floats, passages: Sequence[OwnedVectors]
) -> list[Floats]:
    """Measure per passage the features (units, len(NAMES)) of its units, most of them 0..1.

    `weights` (n,) are those of the question's tokens, 0 for the frequent ones.
    """
    weights = weights if weights.any() else np.ones_like(weights)
    bases = np.cumsum([0] + [passage.units + 1 for passage in passages])
    owners = [p.owners + 1 + base for p, base in zip(passages, bases, strict=False)]
    groups = np.concatenate([np.zeros(0, np.int64), *owners])
    if not len(groups):
        return [np.zeros((passage.units, len(NAMES)), np.float32) for passage in passages]
    vectors = np.concatenate([passage.vectors for passage in passages])
    firsts = np.flatnonzero(np.diff(groups, prepend=-1))
    filled = groups[firsts]
    best = np.zeros((len(weights), int(bases[-1])), np.float32)
    best[:, filled] = np.maximum.reduceat(question.vectors @ vectors.T, firsts, axis=1)
    means = np.zeros((int(bases[-1]), vectors.shape[1]), np.float32)
    means[filled] = np.add.reduceat(vectors, firsts, axis=0)
    topic = _unit(means) @ _unit(weights @ question.vectors)
    return [_features(best[:, a:b], topic[a:b], weights) for a, b in pairwise(bases.tolist())]


def _features(best: Floats, topic: Floats, weights: Floats) -> Floats:
    """Those of one passage; the first column of `best` (tokens, 1 + units) is the heading's."""
    total = weights.sum()
    own, heading = best[:, 1:], best[:, :1]
    if not own.shape[1]:
        return np.zeros((0, len(NAMES)), np.float32)
    before = np.concatenate([own[:, :1], own[:, :-1]], axis=1)
    match = weights @ own / total
    frequent = (weights == 0).astype(np.float32)
    rare = weights > weights.max() / 2
    columns = (
        match,
        (weights > 0) @ own / (weights > 0).sum(),
        weights @ np.square(np.maximum(own, 0)) / total,
        own[rare].min(axis=0),
        frequent @ own / max(1.0, frequent.sum()),
        weights @ np.maximum(own, before) / total - match,
        weights @ np.maximum(own, heading) / total - match,
        np.full_like(match, weights @ best.max(axis=1) / total),
        np.full_like(match, match.max()),
        topic[1:],
    )
    return np.stack(columns, axis=1).astype(np.float32)


def _unit(rows: Floats) -> Floats:
    scaled: Floats = rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9)
    return scaled

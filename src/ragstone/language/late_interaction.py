"""Late interaction: a question and a passage compared token by token.

MaxSim after Khattab and Zaharia, "ColBERT" (2020): every token of the question takes its best
match among the passage's tokens; the matches are averaged, weighted by the token's rarity.

Token vectors are kept as 4-bit codes: each number is divided by its dimension's usual deviation
and rounded to -7..7 steps of `STEP`. That costs nothing measurable (`benchmarks/results/notes.md`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ids = NDArray[np.uint16]

STEP = 0.4
MOST = 7


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """The tokens of a text: `ids` (n,) of all, `vectors` (m, dimensions) of unit length of those
    that carry meaning. Of a question the first n vectors are those of its tokens, and others, which
    a ColBERT model adds, may stand behind them."""

    ids: Ids
    vectors: Floats


@dataclass(frozen=True, slots=True)
class PlacedTokens:
    """The tokens of a passage: `ids` (n,) of all, `starts` (m,) where in the text (a character)
    those begin that have vectors."""

    ids: Ids
    starts: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class EncodedQuestion:
    """A question's vector (dimensions,), and those of its tokens where the model gives them."""

    vector: Floats
    tokens: TokenVectors | None = None


@dataclass(frozen=True, slots=True)
class LateQuery:
    """A question as an index compares it with packed token vectors: `vectors` (n, dimensions) of
    its tokens, their `weights` (n,), which sum up to 1, and the `scale` (dimensions,) of the packed
    ones."""

    vectors: Floats
    weights: Floats
    scale: Floats


def late_query(question: TokenVectors, weights: Floats, scale: Floats) -> LateQuery | None:
    """A question for an index, by the weights (n,) of its tokens; None where none of them counts,
    as for one of punctuation alone."""
    if not weights.any():
        return None
    whole = _of_all(question, weights)
    return LateQuery(question.vectors, (whole / whole.sum()).astype(np.float32), scale)


def packed(tokens: TokenVectors, scale: Floats) -> bytes:
    """The tokens as bytes; `scale` (dimensions,) is the usual deviation of each dimension."""
    codes = np.clip(np.rint(tokens.vectors / (scale * STEP)), -MOST, MOST).astype(np.int8) + 8
    halves = codes.astype(np.uint8).reshape(len(codes), len(scale) // 2, 2)
    rows = (halves[..., 0] << 4) | halves[..., 1]
    return len(tokens.ids).to_bytes(2, "little") + tokens.ids.tobytes() + rows.tobytes()


def unpacked(data: bytes, scale: Floats) -> TokenVectors:
    """The inverse of `packed`, to within half a step."""
    ids = np.frombuffer(data, np.uint16, int.from_bytes(data[:2], "little"), offset=2)
    return TokenVectors(ids, codes(data, len(scale)) * (scale * np.float32(STEP)))


def codes(data: bytes, dimensions: int) -> NDArray[np.int8]:
    """The packed vectors (m, dimensions) in steps of each dimension, -7..7.

    Raises ValueError for what is not packed of vectors of so many dimensions.
    """
    count = int.from_bytes(data[:2], "little")
    rows = np.frombuffer(data, np.uint8, offset=2 + 2 * count).reshape(-1, dimensions // 2)
    found = np.empty((*rows.shape, 2), np.int8)
    found[..., 0], found[..., 1] = rows >> 4, rows & 15
    return found.reshape(len(rows), dimensions) - np.int8(8)


def maxsim(question: TokenVectors, weights: Floats, passages: Sequence[TokenVectors]) -> Floats:
    """Each passage's score, about 0..1. `weights` (n,) are those of the question's tokens."""
    if not passages or not weights.any():
        return np.zeros(len(passages), np.float32)
    weights = _of_all(question, weights)
    lengths = [len(passage.vectors) for passage in passages]
    similar = question.vectors @ np.concatenate([p.vectors for p in passages]).T
    starts = np.cumsum([0, *lengths[:-1]])
    best = np.zeros((len(weights), len(passages)), np.float32)
    filled = np.flatnonzero(lengths)
    best[:, filled] = np.maximum.reduceat(similar, starts[filled], axis=1)
    scores: Floats = (weights @ best) / weights.sum()
    return scores


def _of_all(question: TokenVectors, weights: Floats) -> Floats:
    """The weights of all of a question's vectors: those behind its tokens count as these do on
    average."""
    others = len(question.vectors) - len(weights)
    return np.append(weights, np.full(others, weights.mean(), np.float32)) if others else weights


def phrases(question: TokenVectors, weights: Floats, passages: Sequence[TokenVectors]) -> Floats:
    """The share (0..1, weighted) of the question's neighbouring tokens that each passage also
    has side by side: word order, which MaxSim does not see."""
    asked = list(pairwise(question.ids.tolist()))
    worth = np.array([a + b for a, b in pairwise(weights.tolist())], np.float32)
    whole = float(worth.sum())
    if not whole:
        return np.zeros(len(passages), np.float32)
    shares = []
    for passage in passages:
        said = set(pairwise(passage.ids.tolist()))
        shares.append(sum(w for pair, w in zip(asked, worth, strict=True) if pair in said) / whole)
    return np.array(shares, np.float32)

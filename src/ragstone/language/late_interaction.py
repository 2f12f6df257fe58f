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
    that carry meaning; for a question m equals n."""

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


def packed(tokens: TokenVectors, scale: Floats) -> bytes:
    """The tokens as bytes; `scale` (dimensions,) is the usual deviation of each dimension."""
    codes = np.clip(np.rint(tokens.vectors / (scale * STEP)), -MOST, MOST).astype(np.int8) + 8
    halves = codes.astype(np.uint8).reshape(len(codes), len(scale) // 2, 2)
    rows = (halves[..., 0] << 4) | halves[..., 1]
    return len(tokens.ids).to_bytes(2, "little") + tokens.ids.tobytes() + rows.tobytes()


def unpacked(data: bytes, scale: Floats) -> TokenVectors:
    """The inverse of `packed`, to within half a step."""
    count = int.from_bytes(data[:2], "little")
    ids = np.frombuffer(data, np.uint16, count, offset=2)
    rows = np.frombuffer(data, np.uint8, offset=2 + 2 * count).reshape(-1, len(scale) // 2)
    codes = np.empty((*rows.shape, 2), np.int8)
    codes[..., 0], codes[..., 1] = rows >> 4, rows & 15
    vectors = (codes.reshape(len(rows), len(scale)) - np.int8(8)) * (scale * np.float32(STEP))
    return TokenVectors(ids, vectors)


def maxsim(question: TokenVectors, weights: Floats, passages: Sequence[TokenVectors]) -> Floats:
    """Each passage's score, about 0..1. `weights` (n,) are those of the question's tokens."""
    if not passages or not weights.any():
        return np.zeros(len(passages), np.float32)
    lengths = [len(passage.vectors) for passage in passages]
    similar = question.vectors @ np.concatenate([p.vectors for p in passages]).T
    starts = np.cumsum([0, *lengths[:-1]])
    best = np.zeros((len(weights), len(passages)), np.float32)
    filled = np.flatnonzero(lengths)
    best[:, filled] = np.maximum.reduceat(similar, starts[filled], axis=1)
    scores: Floats = (weights @ best) / weights.sum()
    return scores


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

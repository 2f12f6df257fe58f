"""Late interaction: a question and a passage compared token by token.

MaxSim after Khattab and Zaharia, "ColBERT" (2020): every token of the question takes its best
match among the passage's tokens; the matches are averaged, weighted by the token's rarity.

Token vectors are kept as 2-bit codes of what is left of them without the passage's mean, a vector
for each word of a passage: tokens of one id share it. That is a third of what 4 bits for each token
take and ranks the same (`benchmarks/results/notes.md`). Bytes of that former kind are read too.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ids = NDArray[np.uint16]

BEGINS = b"\xff\xff\x02"
"""What packed tokens begin with: the form, behind what is not a number of tokens. The former kind
begins with that number."""

HEADER = struct.Struct("<3sHHe")
"""How they begin, the number of tokens, of vectors that belong to none, and the usual deviation of
what is left without the mean."""

LEVELS = np.array((-1.51, -0.4528, 0.4528, 1.51), np.float32)
"""The four numbers that are nearest to normally distributed ones (Max, "Quantizing for minimum
distortion", 1960)."""

BOUNDS = (LEVELS[1:] + LEVELS[:-1]) / 2
"""Where the next level begins."""

IN_BYTE = len(LEVELS)
"""Codes of 2 bits in a byte."""

OF_BYTE = LEVELS[(np.arange(256)[:, None] >> np.array((6, 4, 2, 0))) & 3].view(np.complex128)[:, 0]
"""The IN_BYTE levels that each byte stands for, side by side as one number of their length: to take
one of these is ten times as fast as to take a row."""

MEAN_STEPS = 32
"""Steps of a usual deviation in which the mean is kept, up to 127 of them."""

MAX_SPREAD = 60_000.0
"""What half a float holds; of vectors of unit length it is about 1."""

FORMER_STEP = 0.4
"""Of the former kind: 4 bits a number, -7..7 steps of a usual deviation."""


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
    """Return a question for an index, by the weights (n,) of its tokens; None where none of them
    counts, as for one of punctuation alone."""
    if not weights.any():
        return None
    whole = _extend_weights(question, weights)
    return LateQuery(question.vectors, (whole / whole.sum()).astype(np.float32), scale)


def pack_tokens(tokens: TokenVectors, scale: Floats, places: Sequence[int] = ()) -> bytes:
    """Return the tokens as bytes; `scale` (dimensions,) is the usual deviation of each dimension.

    `places` says to which of the ids the last vectors belong, in order: those of one id are kept
    as one, their mean. The vectors before them are kept as they are.
    """
    owners = np.zeros(len(tokens.ids), np.bool_)
    owners[list(places)] = True
    words, word = np.unique(tokens.ids[owners], return_inverse=True)
    free = len(tokens.vectors) - len(word)
    sums = (np.arange(len(words))[:, None] == word).astype(np.float32) @ tokens.vectors[free:]
    rows = _unit(np.concatenate((tokens.vectors[:free], sums))) / scale
    mean = np.zeros(len(scale), np.int8)
    if len(rows):
        mean = np.clip(np.rint(rows.mean(axis=0) * MEAN_STEPS), -127, 127).astype(np.int8)
    rest = rows - mean / np.float32(MEAN_STEPS)
    spread = min(MAX_SPREAD, float(np.sqrt(np.square(rest).mean()))) if rest.any() else 0.0
    levels = np.zeros((len(rows), IN_BYTE * _row_bytes(len(scale))), np.uint8)
    for bound in BOUNDS * np.float32(spread):
        levels[:, : len(scale)] += rest > bound
    codes = levels[:, 0::4] << 6 | levels[:, 1::4] << 4 | levels[:, 2::4] << 2 | levels[:, 3::4]
    return b"".join(
        (
            HEADER.pack(BEGINS, len(tokens.ids), free, spread),
            tokens.ids.astype("<u2").tobytes(),
            np.packbits(owners).tobytes(),
            mean.tobytes(),
            codes.tobytes(),
        )
    )


def unpack_tokens(data: bytes, scale: Floats) -> TokenVectors:
    """Return the inverse of `pack_tokens`, nearly: vectors of unit length, with cosines of about
    .94 to those that were packed.

    Raises ValueError for what is not packed of vectors of so many dimensions.
    """
    if not data.startswith(BEGINS):
        return TokenVectors(*_unpack_former(data, scale))
    ids, rows, owner = _parts(data, len(scale))
    return TokenVectors(ids, _unit(rows * scale).take(owner, axis=0))


def unpack_deviations(data: bytes, dimensions: int) -> Floats:
    """Return the packed vectors (m, dimensions), each number divided by the usual deviation of its
    dimension.

    Raises ValueError for what is not packed of vectors of so many dimensions.
    """
    if not data.startswith(BEGINS):
        return _unpack_former(data, np.ones(dimensions, np.float32))[1]
    _, rows, owner = _parts(data, dimensions)
    return rows.take(owner, axis=0)


def _parts(data: bytes, dimensions: int) -> tuple[Ids, Floats, NDArray[np.intp]]:
    """Return the ids of packed tokens, what is kept of vectors (rows, dimensions) in usual
    deviations, and the row of each vector."""
    if len(data) < HEADER.size:
        raise ValueError("the packed tokens end early")
    _, count, free, spread = HEADER.unpack_from(data)
    start = HEADER.size + 2 * count
    ids = np.frombuffer(data[HEADER.size : start], "<u2").astype(np.uint16)
    bits = np.frombuffer(data[start : start + (count + 7) // 8], np.uint8)
    start += (count + 7) // 8
    if len(data) < start + dimensions or not np.isfinite(spread):
        raise ValueError("the packed tokens end early")
    words, word = np.unique(ids[np.unpackbits(bits, count=count) > 0], return_inverse=True)
    mean = np.frombuffer(data, np.int8, dimensions, start)
    codes = np.frombuffer(data, np.uint8, offset=start + dimensions)
    if len(codes) != (free + len(words)) * _row_bytes(dimensions):
        raise ValueError(f"the packed tokens have no vectors of {dimensions} numbers")
    rows = OF_BYTE.take(codes).view(np.float32)
    rows = rows.reshape(-1, IN_BYTE * _row_bytes(dimensions))[:, :dimensions]
    owner = np.append(np.arange(free), free + word)
    return ids, rows * np.float32(spread) + mean / np.float32(MEAN_STEPS), owner


def _unpack_former(data: bytes, scale: Floats) -> tuple[Ids, Floats]:
    """Return the ids and the vectors of tokens that are packed in the former way: ids, then 4 bits
    a number of each token."""
    count = int.from_bytes(data[:2], "little")
    ids = np.frombuffer(data, np.uint16, count, offset=2)
    rows = np.frombuffer(data, np.uint8, offset=2 + 2 * count).reshape(-1, len(scale) // 2)
    steps = np.stack((rows >> 4, rows & 15), axis=-1).reshape(len(rows), len(scale))
    return ids, (steps.astype(np.float32) - 8) * (scale * np.float32(FORMER_STEP))


def _row_bytes(dimensions: int) -> int:
    return -(-dimensions // IN_BYTE)


def _unit(rows: Floats) -> Floats:
    unit: Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    return unit


def maxsim(question: TokenVectors, weights: Floats, passages: Sequence[TokenVectors]) -> Floats:
    """Each passage's score, about 0..1. `weights` (n,) are those of the question's tokens."""
    if not passages or not weights.any():
        return np.zeros(len(passages), np.float32)
    weights = _extend_weights(question, weights)
    lengths = [len(passage.vectors) for passage in passages]
    similar = question.vectors @ np.concatenate([p.vectors for p in passages]).T
    starts = np.cumsum([0, *lengths[:-1]])
    best = np.zeros((len(weights), len(passages)), np.float32)
    filled = np.flatnonzero(lengths)
    best[:, filled] = np.maximum.reduceat(similar, starts[filled], axis=1)
    scores: Floats = (weights @ best) / weights.sum()
    return scores


def _extend_weights(question: TokenVectors, weights: Floats) -> Floats:
    """Return the weights of all of a question's vectors: those behind its tokens count as these do
    on average."""
    others = len(question.vectors) - len(weights)
    return np.append(weights, np.full(others, weights.mean(), np.float32)) if others else weights


def score_word_order(
    question: TokenVectors, weights: Floats, passages: Sequence[TokenVectors]
) -> Floats:
    """Return the share (0..1, weighted) of the question's neighbouring tokens that each passage
    also has side by side: word order, which MaxSim does not see."""
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

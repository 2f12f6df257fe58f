"""How likely a sentence of an answer is of a kind that claims nothing of what the documents are on.

It says that the sources lack something ("They do not say why"), or that they disagree; or it only
announces what follows ("Here is what the handbook says"), offers help or heads a part. Such a
sentence is recognised by its meaning (the vector of the bundled multilingual embedder) and its
spelling (pieces of two to five characters); what the sources lack also by how little the sentence
answers the question, as the reader has it. `python -m training.kind_weights` makes `data/kinds.npz`
from sentences in twelve languages.
"""

import asyncio
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from ragstone.core.answer import StatementKind, log_odds, probability
from ragstone.ports import Embedder, Pair, PairReader

WEIGHTS = "kinds.npz"

KINDS: tuple[StatementKind, ...] = ("gap", "disagreement", "announcement")
"""The kinds, in the order of the weights."""

BUCKETS = 4096
"""Numbers that all pieces of characters share."""

PIECES = (2, 3, 4, 5)
"""Characters of a piece."""

LEAST = 1e-4
"""Probabilities nearer to 0 or 1 than this count as this."""

LIKELY = {"gap": 0.2, "disagreement": 0.8, "announcement": 0.5}
"""The likelihood from which a sentence may be of a kind."""

SUPPORT, MARGIN = 1.5, 1.0
"""What the log-odds that a source supports a sentence count against those that it is of a kind, and
how much more these must be."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class KindWeights:
    """Of the embedder's numbers and the pieces (384 + `BUCKETS` of each of `KINDS`), what makes a
    likelihood of the sum of these (3 for each: of the sum, of the log-odds that the sentence
    answers, a constant), and the means that are taken from the numbers first."""

    sentence: Floats
    together: Floats
    mean: Floats


@cache
def load_kind_weights() -> KindWeights:
    with np.load(str(files("ragstone.verify").joinpath(f"data/{WEIGHTS}"))) as held:
        return KindWeights(*(held[n].astype(np.float64) for n in ("sentence", "together", "mean")))


async def kind_likelihoods(
    embedder: Embedder, reader: PairReader, question: str, sentences: Sequence[str]
) -> list[dict[StatementKind, float]]:
    """Return how likely (0..1) each sentence of an answer to `question` is of each kind, the one
    first that its meaning and spelling are most of; `embedder` is the one that the weights are of,
    multilingual-e5-small."""
    if not sentences:
        return []
    weights = load_kind_weights()
    numbers = await read_numbers(embedder, sentences)
    answering = await read_answering(reader, [(question, text) for text in sentences])
    meant = (numbers - weights.mean) @ weights.sentence.T
    constant = np.ones_like(answering)
    found = [
        np.stack([meant[:, kind], answering, constant], axis=1) @ weights.together[kind]
        for kind in range(len(KINDS))
    ]
    rows = np.stack(found, axis=1).tolist()
    orders = (-meant).argsort(axis=1).tolist()
    return [
        {KINDS[kind]: probability(row[kind]) for kind in order}
        for row, order in zip(rows, orders, strict=True)
    ]


def choose_kind(likely: dict[StatementKind, float], supported: float) -> StatementKind | None:
    """Return the kind of a sentence, None if it claims something, by how likely it is of each and
    how likely the sources support it."""
    claimed = SUPPORT * log_odds(supported, LEAST)
    return next(
        (
            kind
            for kind, share in likely.items()
            if share >= LIKELY[kind] and log_odds(share, LEAST) > claimed + MARGIN
        ),
        None,
    )


async def read_numbers(embedder: Embedder, sentences: Sequence[str]) -> Floats:
    """Return the embedder's numbers of each sentence, and those of its pieces."""
    vectors = await embedder.embed_passages(sentences)
    pieces = await asyncio.to_thread(lambda: np.stack([count_pieces(text) for text in sentences]))
    return np.concatenate([np.asarray(vectors, np.float64), pieces], axis=1)


async def read_answering(reader: PairReader, pairs: Sequence[tuple[str, str]]) -> Floats:
    """Return the log-odds that each sentence answers its question."""
    read = await reader.read([Pair(asked, text, question=True) for asked, text in pairs])
    return np.array([log_odds(reading.answers, LEAST) for reading in read])


def count_pieces(text: str) -> Floats:
    """Return the root of how often each bucket's pieces stand in `text`, of length 1; digits are
    all alike."""
    counts = np.zeros(BUCKETS)
    said = f" {re.sub(r'[0-9]', '0', text.casefold())} "
    for size in PIECES:
        for start in range(len(said) - size + 1):
            counts[zlib.crc32(said[start : start + size].encode()) % BUCKETS] += 1
    counts = np.sqrt(counts)
    found: Floats = counts / max(float(np.linalg.norm(counts)), 1.0)
    return found

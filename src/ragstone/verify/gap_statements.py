"""How likely a sentence of an answer says that the sources lack something: "They do not say why".

Such a sentence is recognised by its meaning (the vector of the bundled multilingual embedder), its
spelling (pieces of two to five characters) and by how little it answers the question, as the reader
has it. `python -m training.gap_weights` makes `data/gaps.npz` from sentences in eleven languages.
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

from ragstone.core.answer import log_odds, probability
from ragstone.ports import Embedder, Pair, PairReader

WEIGHTS = "gaps.npz"

BUCKETS = 4096
"""Numbers that all pieces of characters share."""

PIECES = (2, 3, 4, 5)
"""Characters of a piece."""

LEAST = 1e-4
"""Probabilities nearer to 0 or 1 than this count as this."""

GAP = 0.2
"""The likelihood from which a sentence may say that the sources lack something."""

SUPPORT = 1.5
"""What the log-odds that a source supports a sentence count against those that it says what the
sources lack. Chosen on the replies that the weights are made from."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GapWeights:
    """Of the embedder's numbers and the pieces (384 + `BUCKETS`), of how the two and the reader add
    up (3: the sum of these, the log-odds that the sentence answers, a constant), and the means that
    are taken from the numbers first."""

    sentence: Floats
    together: Floats
    mean: Floats


@cache
def load_gap_weights() -> GapWeights:
    with np.load(str(files("ragstone.verify").joinpath(f"data/{WEIGHTS}"))) as held:
        return GapWeights(*(held[n].astype(np.float64) for n in ("sentence", "together", "mean")))


async def gap_likelihoods(
    embedder: Embedder, reader: PairReader, question: str, sentences: Sequence[str]
) -> list[float]:
    """Return how likely (0..1) each sentence of an answer to `question` says that the sources lack
    something; `embedder` is the one that the weights are of, multilingual-e5-small."""
    if not sentences:
        return []
    weights = load_gap_weights()
    numbers = await read_numbers(embedder, sentences)
    answering = await read_answering(reader, [(question, text) for text in sentences])
    meant = (numbers - weights.mean) @ weights.sentence
    rows = np.stack([meant, answering, np.ones(len(sentences))], axis=1)
    return [probability(x) for x in (rows @ weights.together).tolist()]


def is_gap(likely: float, supported: float) -> bool:
    """Whether a sentence says that the sources lack something rather than what they say, by how
    likely it does either."""
    return likely >= GAP and log_odds(likely, LEAST) > SUPPORT * log_odds(supported, LEAST)


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

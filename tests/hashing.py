"""A deterministic embedder for tests: words hashed into a vector. Small, instant, no meaning."""

import hashlib
from collections.abc import Sequence
from functools import cache

import numpy as np

from ragstone.core.errors import EmbeddingMismatch
from ragstone.core.records import Collection
from ragstone.models.multilingual import MultilingualE5
from ragstone.ports import Embedder, Vectors

WIDTH = 32


class HashingEmbedder:
    """Texts that share words get similar vectors."""

    cosines = (0.0, 1.0)
    multilingual = False

    def __init__(
        self, name: str = "hashing", fail_after: int | None = None, dimensions: int = WIDTH
    ) -> None:
        self.name = name
        self.dimensions = dimensions
        self.fingerprint = f"{name}/1"
        self.embedded: list[str] = []
        self.fail_after = fail_after

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.embedded.extend(texts)
        if self.fail_after is not None and len(self.embedded) > self.fail_after:
            raise RuntimeError("the embedder broke")
        return np.stack([self._vector(text) for text in texts])

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Vectors:
        vector = np.full(self.dimensions, 1e-3, np.float32)
        for word in text.casefold().split():
            vector[int(hashlib.md5(word.encode()).hexdigest(), 16) % self.dimensions] += 1
        unit: Vectors = vector / np.linalg.norm(vector)
        return unit


@cache
def bundled_e5() -> MultilingualE5:
    """The bundled multilingual embedder: what was learned of its vectors needs them."""
    return MultilingualE5()


class OneEmbedder:
    """`ports.Embedders` with one model for every language."""

    def __init__(
        self, embedder: HashingEmbedder | None = None, bridge: Embedder | None = None
    ) -> None:
        self.embedder = embedder or HashingEmbedder()
        self.bridge = bridge

    def choose(self, language: str) -> Embedder:
        return self.embedder

    def multilingual(self) -> Embedder:
        return bundled_e5()

    def find_indexing(self, collection: Collection) -> Embedder:
        if collection.fingerprint != self.embedder.fingerprint:
            raise EmbeddingMismatch(collection.name, collection.model, self.embedder.name)
        return self.embedder

    def find_comparing(self, collection: Collection) -> Embedder | None:
        return self.embedder if self.embedder.multilingual else None

    def find_bridging(self, collection: Collection) -> Embedder | None:
        return self.bridge

"""An embedder without a model: words hashed into a vector. It knows words, and no meaning."""

import re
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from ragstone.ports import Embedder, Vectors
from ragstone.settings import EmbeddingSettings

WORDS = re.compile(r"\w+")


class HashingEmbedder:
    """`ports.Embedder`: texts that share words get near vectors."""

    name = "hashing"
    cosines = (0.0, 0.8)
    multilingual = False

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        # Another length is another vector, so it is another fingerprint.
        self.fingerprint = f"ragstone-example/hashing/{dimensions}"

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            vector[0] = 1e-3  # A text without a word has a direction too.
            for word in WORDS.findall(text.casefold()):
                digest = blake2b(word.encode(), digest_size=8).digest()
                vector[int.from_bytes(digest) % self.dimensions] += 1
        unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return await self.embed_passages(texts)


def hashing_embedder(settings: EmbeddingSettings) -> Embedder:
    """Words hashed into EMBEDDING__DIMENSIONS numbers, 256 by default."""
    return HashingEmbedder(settings.dimensions or 256)

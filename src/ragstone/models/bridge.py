"""Lets a collection that is embedded in English be asked, and hold passages, in other languages.

A linear map takes a vector of the multilingual model to where the English model would put the same
text in English. So one index holds both, and nothing is embedded twice.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import numpy as np

from ragstone.models.minilm import MiniLm
from ragstone.models.multilingual import MultilingualE5
from ragstone.ports import Embedder, Vectors

WEIGHTS = "bridge.npz"


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

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return mapped(await self._source.embed_passages(texts))

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return mapped(await self._source.embed_queries(texts))


def mapped(vectors: Vectors) -> Vectors:
    """The vectors (n, 384) of the multilingual model in the space of the English one."""
    matrix = _matrix()
    found = vectors @ matrix[:-1] + matrix[-1]
    unit: Vectors = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
    return unit


@cache
def _matrix() -> Vectors:
    with files("ragstone.models").joinpath(f"data/{WEIGHTS}").open("rb") as file:
        matrix: Vectors = np.load(file)["matrix"].astype(np.float32)
    return matrix

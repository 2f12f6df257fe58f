"""Turns a model's token states into the compact vectors that late interaction compares."""

import string
from collections.abc import Mapping, Sequence
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from ragstone.language.late_interaction import Floats, TokenVectors, pack_tokens
from ragstone.language.words import STOPWORDS


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
        silent = np.zeros(max(vocabulary.values()) + 1, np.bool_)
        silent[[i for token, i in vocabulary.items() if _is_silent(token)]] = True
        return cls(projection, scale, silent)

    def passage(self, ids: Sequence[int], hidden: Floats) -> bytes:
        """Pack the states (n, width) of a passage's tokens `ids` (n,)."""
        array, kept = np.array(ids, np.uint16), np.flatnonzero(self.kept(ids))
        vectors = self._project(hidden[kept])
        return pack_tokens(TokenVectors(array, vectors), self.scale, kept.tolist())

    def kept(self, ids: Sequence[int]) -> NDArray[np.bool_]:
        """Which of a passage's tokens (n,) have vectors: those that carry meaning, all if none
        does."""
        kept = ~self._silent[np.array(ids, np.uint16)]
        return kept if kept.any() else np.ones(len(ids), np.bool_)

    def question(self, ids: Sequence[int], hidden: Floats) -> TokenVectors:
        """The vectors of all of a question's tokens."""
        return TokenVectors(np.array(ids, np.uint16), self._project(hidden))

    def weights(self, ids: Sequence[int], rarity: Floats) -> Floats:
        """The rarity of a question's tokens, 0 for punctuation."""
        return np.where(self._silent[list(ids)], 0, rarity)

    def _project(self, hidden: Floats) -> Floats:
        rows = hidden @ self._projection
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: Floats = rows / np.maximum(norms, 1e-9)
        return unit


def _is_silent(token: str) -> bool:
    return token in STOPWORDS or not token.strip(string.punctuation)

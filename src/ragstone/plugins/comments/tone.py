"""The sentiment of comments from their vectors, by a few weights for each bundled embedder.

`python -m training.tone_weights` makes them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from ragstone.plugins.comments.comments import Tone
from ragstone.ports import Vectors


@dataclass(frozen=True, slots=True)
class ToneWeights:
    """How a vector's tone is read: the product with `weights` (dimensions,) and `bias` is negative
    up to `low` and positive from `high`. `topic` is the cosine from which a comment speaks of a
    topic, whose words add up to `shared`."""

    weights: NDArray[np.float64]
    bias: float
    low: float
    high: float
    topic: float
    shared: float

    def tones(self, vectors: Vectors) -> list[Tone]:
        """Return the tone of each vector (n, dimensions)."""
        scores = vectors @ self.weights + self.bias
        return [
            "negative" if score <= self.low else "positive" if score >= self.high else "neutral"
            for score in scores
        ]


@cache
def load_weights(model: str) -> ToneWeights:
    """The weights of an embedder of this name; raises KeyError for one that is not bundled."""
    text = files(__package__).joinpath("data/tone.json").read_text(encoding="utf-8")
    every: Mapping[str, Mapping[str, object]] = json.loads(text)
    return ToneWeights(**{**every[model], "weights": np.array(every[model]["weights"])})  # type: ignore[arg-type]

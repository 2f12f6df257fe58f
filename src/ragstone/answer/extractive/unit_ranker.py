"""The weights that tell which unit of the passages answers, and how sure that is.

Both are linear in a few features; the weights are made by `training/extractive_weights.py`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from ragstone.answer.extractive import unit_closeness, unit_words
from ragstone.language.late_interaction import Floats

Which = Literal["tokens", "words", "pairs"]
"""With token vectors; without; and without, where words are compared by pairs of characters. The
last two rank units alike: over 146 Chinese and Japanese questions own weights are worse."""

WEIGHTS = "unit-ranker.json"
PASSAGE_NAMES = ("score", "similarity", "bm25", "rerank", "place")
WORD_NAMES = (*unit_words.NAMES, *PASSAGE_NAMES)
TOKEN_NAMES = (*WORD_NAMES, *unit_closeness.NAMES)
SURE_WORD_NAMES = ("words", "words_best", "similarity", "similarity_mean")
SURE_TOKEN_NAMES = (
    *SURE_WORD_NAMES,
    "match",
    "worst_match",
    "passage_match",
    "topic",
    "with_heading",
)


@dataclass(frozen=True, slots=True)
class Ranker:
    """Weights by feature, for the scores (logits) and for the sureness, which has a bias."""

    scores: Floats
    sureness: Floats
    bias: float


@cache
def rankers() -> Mapping[Which, Ranker]:
    """The shipped ones."""
    text = (
        files("ragstone.answer.extractive").joinpath(f"data/{WEIGHTS}").read_text(encoding="utf-8")
    )
    data = json.loads(text)
    return {
        "tokens": _ranker(data["tokens"], TOKEN_NAMES, SURE_TOKEN_NAMES),
        "words": _ranker(data["words"], WORD_NAMES, SURE_WORD_NAMES),
        "pairs": _ranker(data["words"] | data["pairs"], WORD_NAMES, SURE_WORD_NAMES),
    }


def _ranker(data: Mapping[str, Any], names: Sequence[str], sure: Sequence[str]) -> Ranker:
    scores = np.array([data["scores"].get(name, 0.0) for name in names], np.float32)
    sureness = np.array([data["sureness"].get(name, 0.0) for name in sure], np.float32)
    return Ranker(scores, sureness, data["sureness"]["bias"])

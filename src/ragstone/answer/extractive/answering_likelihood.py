"""How likely an answer is what was asked: logistic regressions over `answering_evidence`.

The weights are made by `training/answering_weights.py`.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

import numpy as np

from ragstone.answer.extractive.answering_evidence import CLOSE_NAMES, NAMES
from ragstone.language.late_interaction import Floats
from ragstone.language.words import mostly_in_pairs

Which = Literal["tokens", "words", "pairs", "across"]
"""With token vectors; without; without, where words are compared by pairs of characters; and where
question and passages are in different languages."""

WEIGHTS = "answering.json"


@dataclass(frozen=True, slots=True)
class _Model:
    weights: Floats
    bias: float


def likelihood(question: str, evidence: Floats, across: bool) -> float:
    """The probability (0..1) that what the evidence was taken of is what was asked."""
    model = _models()[_which(question, evidence, across)]
    odds = float(evidence[: len(model.weights)] @ model.weights) + model.bias
    return 1 / (1 + math.exp(-min(max(odds, -30.0), 30.0)))


def _which(question: str, evidence: Floats, across: bool) -> Which:
    if across:
        return "across"
    if len(evidence) > len(NAMES):
        return "tokens"
    return "pairs" if mostly_in_pairs(question) else "words"


@cache
def _models() -> Mapping[Which, _Model]:
    data = files("ragstone.answer.extractive").joinpath(f"data/{WEIGHTS}")
    return {
        name: _Model(_weights(model["weights"], name), model["bias"])
        for name, model in json.loads(data.read_text(encoding="utf-8")).items()
    }


def _weights(given: Mapping[str, float], name: Which) -> Floats:
    names = (*NAMES, *CLOSE_NAMES) if name == "tokens" else NAMES
    return np.array([given.get(one, 0.0) for one in names], np.float32)

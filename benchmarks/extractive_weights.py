"""Makes `models/data/unit-ranker.json`: `python -m benchmarks.extractive_weights`.

Trained on the questions of squad2_dev and cmrc2018_zh (both CC BY-SA 4.0), read from
RAGSTONE_EVAL_DATA. The scores: listwise softmax over the units of the passages that the recipe
finds, where those that hold an accepted answer are right. The sureness: logistic regression of the
question being one of this corpus', against the questions of scifact and xquad, which it cannot
answer. With `--halves`, trains on one half of the documents and prints the figures of the other.
"""

import asyncio
import json
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import eval_data
from ragstone.engine import Engine
from ragstone.evaluation import dataset
from ragstone.evaluation.answers import auroc, normalised
from ragstone.evaluation.indexed import NAME, indexed
from ragstone.models.sampled_rarity import SampledRarity
from ragstone.models.token_closeness import TokenCloseness
from ragstone.models.unit_ranker import (
    SURE_TOKEN_NAMES,
    SURE_WORD_NAMES,
    TOKEN_NAMES,
    WEIGHTS,
    WORD_NAMES,
)
from ragstone.models.unit_ranking import KINDS, kind_features, sureness_features, table
from ragstone.ports import Vectors
from ragstone.recipe import Recipe, recipes
from ragstone.settings import load
from ragstone.text.answer_units import units
from ragstone.text.unit_words import read
from ragstone.turn import Ask, Passage

Floats = NDArray[np.float64]

STEPS, RATE, DECAY = 200, 0.06, 1e-3
SCALES = {"lengths": 1.0}


@dataclass(frozen=True)
class Example:
    """One question: the features of its units, which of them are right, and the half it is in."""

    rows: Vectors
    right: NDArray[np.bool_]
    own: bool
    half: int


def example(
    question: dataset.Question, passages: Sequence[Passage], near: list[Vectors] | None, own: bool
) -> Example:
    """The features of a question whose passages are given."""
    found = [[read(p.text, unit) for unit in units(p.text)] for p in passages]
    rows = table(question.text, passages, found, near)
    texts = [text for own_ in found for text in own_]
    rows[:, KINDS] = kind_features(question.text, texts)
    accepted = [normalised(answer) for answer in question.answers]
    said = [f" {normalised(text.text)} " for text in texts]
    right = [any(one and f" {one} " in text for one in accepted) for text in said]
    named = sorted(question.relevant)[0] if question.relevant and own else question.id
    return Example(rows, np.array(right), own, zlib.crc32(named.rsplit("-", 1)[0].encode()) % 2)


def trained_scores(examples: Sequence[Example]) -> Floats:
    """Weights of the features, for the logarithm of how likely a unit is right."""
    usable = [one for one in examples if one.right.any() and not one.right.all()]
    features = np.concatenate([one.rows for one in usable]).astype(np.float64)
    spread = features.std(axis=0) + 1e-6
    features = (features - features.mean(axis=0)) / spread
    right = np.concatenate([one.right for one in usable]).astype(np.float64)
    sizes = [len(one.right) for one in usable]
    groups = np.repeat(np.arange(len(usable)), sizes)
    starts = np.cumsum([0, *sizes[:-1]])

    def gradient(weights: Floats) -> Floats:
        scores = features @ weights
        power = np.exp(scores - np.maximum.reduceat(scores, starts)[groups])
        share = power / np.add.reduceat(power, starts)[groups]
        held = np.add.reduceat(share * right, starts)[groups]
        slope: Floats = features.T @ (share - share * right / np.maximum(held, 1e-12))
        return slope / len(usable) + DECAY * weights

    return descended(gradient, features.shape[1]) / spread


def trained_sureness(features: Floats, own: NDArray[np.bool_]) -> tuple[Floats, float]:
    """Weights and bias of the probability that the corpus answers, both classes weighing alike."""
    mean, spread = features.mean(axis=0), features.std(axis=0) + 1e-6
    scaled = np.concatenate([(features - mean) / spread, np.ones((len(features), 1))], axis=1)
    weights = np.where(own, 0.5 / own.mean(), 0.5 / (1 - own.mean()))

    def gradient(w: Floats) -> Floats:
        share = 1 / (1 + np.exp(-np.clip(scaled @ w, -30, 30)))
        slope: Floats = scaled.T @ (weights * (share - own)) / len(own)
        return slope + DECAY * w

    found = descended(gradient, scaled.shape[1], steps=3 * STEPS)
    each: Floats = found[:-1] / spread
    return each, float(found[-1] - each @ mean)


def descended(gradient: Callable[[Floats], Floats], size: int, steps: int = STEPS) -> Floats:
    """Adam with a cosine schedule, from zero."""
    weights, mean, square = np.zeros(size), np.zeros(size), np.zeros(size)
    for step in range(1, steps + 1):
        slope = gradient(weights)
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        rate = RATE * (1 + np.cos(np.pi * step / steps)) / 2
        weights -= rate * mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return weights

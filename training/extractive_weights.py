"""Makes `answer/extractive/data/unit-ranker.json`: `python -m training.extractive_weights`.

Trained on squad2_dev, cmrc2018_zh, and the German and Chinese of xquad (all CC BY-SA 4.0), read
from RAGSTONE_EVAL_DATA. The scores: listwise softmax over the units of the passages that the recipe
finds, where those that hold an accepted answer are right. The sureness: logistic regression of the
question being one of this corpus', against another set's questions, which it cannot answer. With
`--halves`, trains on one half of the documents and prints the figures of the other.
"""

import asyncio
import json
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import eval_data
from ragstone.answer.extractive.extractive import PASSAGES
from ragstone.answer.extractive.token_closeness import TokenCloseness
from ragstone.answer.extractive.unit_ranking import (
    SURE_TOKEN_NAMES,
    SURE_WORD_NAMES,
    TOKEN_NAMES,
    WEIGHTS,
    WORD_NAMES,
    sureness_features,
    table,
)
from ragstone.answer.extractive.unit_words import read
from ragstone.answer.extractive.units import units
from ragstone.core.turn import Ask, Passage
from ragstone.engine.engine import Engine
from ragstone.engine.recipe import Recipe
from ragstone.plugins.evaluation import dataset
from ragstone.plugins.evaluation.answers import auroc, normalise_answer
from ragstone.plugins.evaluation.indexed import NAME, index_passages
from ragstone.ports import Vectors
from ragstone.recipes.recipe import Recipes
from ragstone.retrieve.held_tokens import HeldTokens
from ragstone.retrieve.sampled_rarity import SampledRarity
from ragstone.settings import load

Floats = NDArray[np.float64]

STEPS, RATE, DECAY = 200, 0.06, 1e-3
STRANGERS = 600
"""Questions of another set that each corpus is asked."""

OWN: Mapping[str, float] = {"tokens": 0.76, "words": 0.65, "pairs": 0.7}
"""What the questions of the corpus weigh together: a refusal that is wrong is worse than an answer
where silence would be right, as far as the measures are sharp enough to afford it."""


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
    """Return the features of a question whose passages are given."""
    found = [[read(p.text, unit) for unit in units(p.text)] for p in passages]
    rows = table(question.text, passages, found, near)
    texts = [text for own_ in found for text in own_]
    accepted = [normalise_answer(answer) for answer in question.answers]
    said = [f" {normalise_answer(text.text)} " for text in texts]
    right = [any(item and f" {item} " in text for item in accepted) for text in said]
    named = sorted(question.relevant)[0] if question.relevant and own else question.id
    return Example(rows, np.array(right), own, zlib.crc32(named.rsplit("-", 1)[0].encode()) % 2)


def train_scores(examples: Sequence[Example]) -> Floats:
    """Return weights of the features, for the logarithm of how likely a unit is right."""
    usable = [item for item in examples if item.right.any() and not item.right.all()]
    features = np.concatenate([item.rows for item in usable]).astype(np.float64)
    spread = features.std(axis=0) + 1e-6
    features = (features - features.mean(axis=0)) / spread
    right = np.concatenate([item.right for item in usable]).astype(np.float64)
    sizes = [len(item.right) for item in usable]
    groups = np.repeat(np.arange(len(usable)), sizes)
    starts = np.cumsum([0, *sizes[:-1]])

    def gradient(weights: Floats) -> Floats:
        scores = features @ weights
        power = np.exp(scores - np.maximum.reduceat(scores, starts)[groups])
        share = power / np.add.reduceat(power, starts)[groups]
        held = np.add.reduceat(share * right, starts)[groups]
        slope: Floats = features.T @ (share - share * right / np.maximum(held, 1e-12))
        return slope / len(usable) + DECAY * weights

    return np.asarray(descend(gradient, features.shape[1]) / spread)


def train_sureness(features: Floats, own: NDArray[np.bool_], share: float) -> tuple[Floats, float]:
    """Return weights and bias of the probability that the corpus answers; its own weigh `share`."""
    mean, spread = features.mean(axis=0), features.std(axis=0) + 1e-6
    scaled = np.concatenate([(features - mean) / spread, np.ones((len(features), 1))], axis=1)
    weights = np.where(own, share / own.mean(), (1 - share) / (1 - own.mean()))

    def gradient(w: Floats) -> Floats:
        share = 1 / (1 + np.exp(-np.clip(scaled @ w, -30, 30)))
        slope: Floats = scaled.T @ (weights * (share - own)) / len(own)
        return slope + DECAY * w

    found = descend(gradient, scaled.shape[1], steps=3 * STEPS)
    each: Floats = found[:-1] / spread
    return each, float(found[-1] - each @ mean)


def descend(gradient: Callable[[Floats], Floats], size: int, steps: int = STEPS) -> Floats:
    """Descend by Adam with a cosine schedule, from zero."""
    weights, mean, square = np.zeros(size), np.zeros(size), np.zeros(size)
    for step in range(1, steps + 1):
        slope = gradient(weights)
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        rate = RATE * (1 + np.cos(np.pi * step / steps)) / 2
        weights -= rate * mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return weights


def main(halves: bool) -> None:
    sets = asyncio.run(collect_examples())
    english, german, chinese = sets["squad2_dev"], sets["xquad/de"], sets["cmrc2018_zh"]
    plain = [replace(item, rows=item.rows[:, : len(WORD_NAMES)]) for item in english]
    # German weighs more: it has no strangers, and fewer questions.
    spaced = [*plain, *german]
    parts = {
        "tokens": (english, english),
        "words": (spaced, [*plain, *(german * 4)]),
        "pairs": (spaced, [*chinese, *sets["xquad/zh"]]),
    }
    if halves:
        for name, (scored, judged) in parts.items():
            for half in (0, 1):
                weights = fit_weights(
                    name, *([e for e in p if e.half == half] for p in (scored, judged))
                )
                report(f"{name}, half {1 - half}", weights, [e for e in judged if e.half != half])
        return
    data = {name: named(name, *fit_weights(name, *both)) for name, both in parts.items()}
    del data["pairs"]["scores"]
    target = files("ragstone.answer.extractive").joinpath(f"data/{WEIGHTS}")
    Path(str(target)).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


async def collect_examples() -> dict[str, list[Example]]:
    """Return the examples of every set: its own questions, and another's that it cannot answer."""
    strangers = {
        "squad2_dev": "scifact",
        "xquad/de": "",
        "cmrc2018_zh": "xquad/zh",
        "xquad/zh": "cmrc2018_zh",
    }
    found = {}
    for name, other in strangers.items():
        every = dataset.questions(eval_data() / name, "dev")
        own = [q for q in every if q.answers and q.text.strip()]
        asked = [(question, True) for question in own]
        if other:
            asked += [(q, False) for q in dataset.questions(eval_data() / other, "dev", STRANGERS)]
        found[name] = await examples(name, asked)
    return found


async def examples(name: str, asked: Sequence[tuple[dataset.Question, bool]]) -> list[Example]:
    """Return what the recipe finds for each question, up to the numbered passages, as features."""
    settings = load()
    async with index_passages(dataset.corpus(eval_data() / name), settings) as index:
        stages = Recipes(settings).of("plain", "standard").stages
        upto = [stage.name for stage in stages].index("assemble") + 1
        adapters = index.adapters
        engine = Engine(adapters, {"standard": Recipe(stages[:upto])})
        rarity = SampledRarity(adapters.index, adapters.embedders)
        nearness = TokenCloseness(
            adapters.catalog, HeldTokens(adapters.index), adapters.embedders, rarity
        )
        rows = []
        for question, own in asked:
            turn = await engine.answer(Ask(question.text, collection=NAME))
            passages = turn.passages[:PASSAGES]
            if not passages:
                continue
            ask = Ask(turn.question, collection=NAME)
            near = await nearness(ask, passages, [units(p.text) for p in passages])
            rows.append(example(replace(question, text=turn.question), passages, near, own))
        return rows


def fit_weights(
    name: str, scored: Sequence[Example], judged: Sequence[Example]
) -> tuple[Floats, Floats, float]:
    """Return the weights of the scores and of the sureness, and its bias."""
    scores = train_scores([item for item in scored if item.own])
    own = np.array([item.own for item in judged])
    return scores, *train_sureness(sureness(scores, judged), own, OWN[name])


def sureness(scores: Floats, examples: Sequence[Example]) -> Floats:
    best = [int(np.argmax(item.rows @ scores)) for item in examples]
    rows = [sureness_features(item.rows, i) for item, i in zip(examples, best, strict=True)]
    return np.stack(rows).astype(np.float64)


def named(name: str, scores: Floats, sure: Floats, bias: float) -> dict[str, dict[str, float]]:
    columns = (TOKEN_NAMES, SURE_TOKEN_NAMES) if name == "tokens" else (WORD_NAMES, SURE_WORD_NAMES)
    ranking = {column: round(float(w), 4) for column, w in zip(columns[0], scores, strict=True)}
    judging = {column: round(float(w), 4) for column, w in zip(columns[1], sure, strict=True)}
    return {"scores": ranking, "sureness": {**judging, "bias": round(bias, 4)}}


def report(title: str, fit: tuple[Floats, Floats, float], held: Sequence[Example]) -> None:
    """Print the figures of questions that were not trained on."""
    scores, sure, bias = fit
    orders = [np.argsort(-(item.rows @ scores)) for item in held if item.own]
    own = [item for item in held if item.own]
    first, second = (
        float(np.mean([e.right[o[:n]].any() for e, o in zip(own, orders, strict=True)]))
        for n in (1, 2)
    )
    chances = 1 / (1 + np.exp(-(sureness(scores, held) @ sure + bias)))
    mine = np.array([item.own for item in held])
    area = auroc(list(1 - chances[~mine]), list(1 - chances[mine]))
    print(f"{title}: right in the first {first:.3f}, in two {second:.3f}, refusal AUROC {area}")


if __name__ == "__main__":
    main("--halves" in sys.argv[1:])

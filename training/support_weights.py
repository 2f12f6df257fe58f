"""Make `verify/data/support.json`: `python -m training.support_weights`.

How what the reader says and the words of a long source (`ragstone.verify.checker.features`) add up
to the probability that a source supports a claim: a logistic regression, over claims of documents
that the reader did not learn from, read from RAGSTONE_EVAL_DATA. In each set both labels weigh the
same. `--ablation` fits without each set and prints what the reader alone, and with the words,
reaches on it.
"""

import asyncio
import json
import random
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import eval_data
from ragstone.core.answer import log_odds
from ragstone.plugins.evaluation.measures import auroc, balanced_accuracy
from ragstone.ports import Claim, EvidenceSource
from ragstone.reader.local import LocalReader
from ragstone.verify.checker import (
    MIN_PROBABILITY,
    NAMES,
    WEIGHTS,
    build_pair,
    features,
    places_to_read,
)
from ragstone.verify.evidence import Evidence
from ragstone.verify.groundedness import MIN_SUPPORT
from training import logistic, verdict_data
from training.reader.example import is_held_out
from training.reader.real import read_labelled
from training.reader.suite import suite

Floats = NDArray[np.float64]

SETS = {
    "swaps": 2.0,
    "made": 2.0,
    "fever_symmetric": 1.0,
    "jnli_ja": 0.5,
    "klue_nli_ko": 0.5,
    "wice": 1.5,
    "scifact": 1.0,
}
"""What each set weighs."""

MADE = 900
"""Claims made of passages, beside several of them."""

SEED = 5


@dataclass(frozen=True)
class Row:
    """A claim, its sources, and whether they support it."""

    claim: str
    sources: tuple[EvidenceSource, ...]
    right: bool


def rows(data: Path) -> dict[str, list[Row]]:
    """Return the claims of each set that are left to measure on."""
    found = {
        "swaps": [
            Row(item.text, (EvidenceSource(item.passage),), item.true)
            for item in suite(data)
            if not item.asked
        ],
        "wice": _of(item for item in verdict_data.wice(data) if is_held_out(f"wice {item.group}")),
        "scifact": _of(
            item for item in verdict_data.scifact(data) if is_held_out(f"scifact {item.group}")
        ),
    }
    made = [item for item in verdict_data.make_claims(data, SEED) if _take_apart(item)]
    found["made"] = _of(random.Random(SEED).sample(made, min(MADE, len(made))))
    for name in ("fever_symmetric", "jnli_ja", "klue_nli_ko"):
        found[name] = [
            Row(item["claim"], (EvidenceSource(item["source"]),), item["label"] == "supported")
            for item in read_labelled(data, name, held=True)
        ]
    return found


def _of(examples: Iterable[verdict_data.Example]) -> list[Row]:
    return [
        Row(
            example.claim,
            tuple(EvidenceSource(text, example.title) for text in example.sources),
            example.supported,
        )
        for example in examples
        if verdict_data.is_held_out(example.group)
    ]


def _take_apart(example: verdict_data.Example) -> bool:
    article = example.group.removeprefix(f"{example.kind} ").replace("_", " ")
    return is_held_out(f"article {article}")


async def read_rows(given: Sequence[Row], reader: LocalReader) -> tuple[Floats, NDArray[np.bool_]]:
    """Return what is weighed of each claim (rows, features), and which claims are supported. What a
    source says word for word is left out, as it is not read."""
    found, pairs = [], []
    for row in given:
        claim, evidence = Claim(row.claim), Evidence(row.sources)
        places = places_to_read(claim, evidence.nearest(claim), row.sources)
        if places and not evidence.quotations(row.claim):
            found.append((row, places[0]))
            pairs.append(build_pair(claim, places[0], row.sources))
    values = [
        features(reading, place, len(row.sources[place.source].text))
        for (row, place), reading in zip(found, await reader.read(pairs), strict=True)
    ]
    return np.array(values), np.array([row.right for row, _ in found])


def fit_weights(sets: Mapping[str, tuple[Floats, NDArray[np.bool_]]]) -> Floats:
    """Return the weights of `NAMES`, by Newton's method."""
    given = np.concatenate([values for values, _ in sets.values()])
    right = np.concatenate([labels for _, labels in sets.values()]).astype(float)
    mass = np.concatenate([SETS[name] * _shares(labels) for name, (_, labels) in sets.items()])
    return logistic.fit_logistic(given, right, mass * len(mass) / mass.sum())


def _shares(right: NDArray[np.bool_]) -> Floats:
    positive = right.mean()
    return np.asarray(np.where(right, 0.5 / positive, 0.5 / (1 - positive)) / len(right))


def describe(name: str, values: Floats, right: NDArray[np.bool_], weights: Sequence[Floats]) -> str:
    """Return AUROC and balanced accuracy on a set under each of several weights."""
    labels, least = right.tolist(), log_odds(MIN_SUPPORT, MIN_PROBABILITY)
    figures = []
    for own in weights:
        scores = values @ own
        balanced = balanced_accuracy((scores >= least).tolist(), labels) or 0
        figures.append(f"{auroc(scores.tolist(), labels) or 0:.3f}/{balanced:.3f}")
    return f"{name:16} {len(right):5} claims  {'  '.join(figures)}"


async def read_sets() -> dict[str, tuple[Floats, NDArray[np.bool_]]]:
    """Return what is weighed and the labels of every set, in a random order."""
    reader, given = LocalReader(), rows(eval_data())
    chance = random.Random(SEED)
    sets = {n: await read_rows(chance.sample(given[n], len(given[n])), reader) for n in SETS}
    await reader.aclose()
    return sets


def without_words(sets: Mapping[str, tuple[Floats, NDArray[np.bool_]]]) -> Floats:
    """Return the weights where words count nothing."""
    alone = {n: (v[:, [0, len(NAMES) - 1]], r) for n, (v, r) in sets.items()}
    supported, constant = fit_weights(alone)
    return np.array([supported, *[0.0] * (len(NAMES) - 2), constant])


def main(ablation: bool) -> None:
    sets = asyncio.run(read_sets())
    if ablation:
        print("AUROC/balanced accuracy: the reader, with the words of long sources")
        for name, (values, right) in sets.items():
            rest = {other: sets[other] for other in sets if other != name}
            print(describe(name, values, right, (without_words(rest), fit_weights(rest))))
        return
    weights = fit_weights(sets)
    for name, (values, right) in sets.items():
        print(describe(name, values, right, (weights,)))
    data = {name: round(float(value), 3) for name, value in zip(NAMES, weights, strict=True)}
    target = Path(str(files("ragstone.verify").joinpath(f"data/{WEIGHTS}")))
    target.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main("--ablation" in sys.argv)

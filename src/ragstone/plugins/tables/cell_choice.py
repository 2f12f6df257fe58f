"""Which computation over a table's cells a question means, by weights that were learned.

`python -m training.cell_weights FOLDER` makes `data/cells.npz` from questions over financial
reports and from sentences of our own in English, German and Chinese.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from ragstone.plugins.tables.cells import (
    AXES,
    FEATURES,
    OPERATIONS,
    CandidateFeatures,
    CellComputation,
    NumberCell,
    Operation,
    list_candidates,
)
from ragstone.verify.reading_judge import count_pieces

Floats = NDArray[np.float64]

MIN_OPERATION = 0.05
"""The likelihood from which an operation may be meant."""


MIN_ASKED = 0.5
"""The likelihood of all operations together from which tables are looked at."""

MIN_NOTHING = 1e-4
"""Likelihoods of no operation below this count as this."""

MIN_LIKELIHOOD = 0.6
"""The likelihood from which a computation is given: of those of TAT-QA's development set 93 in 100
are then what was asked (`python -m training.cell_weights`)."""


@dataclass(frozen=True)
class CellWeights:
    """What makes the log-odds of each of `OPERATIONS`, and at last of none, of the pieces of a
    question and a constant; what makes the score of a computation of its features, for each
    operation and axis; and that of no computation, of the log-likelihood of none and a constant."""

    operations: Floats
    candidates: Floats
    nothing: Floats


@dataclass(frozen=True, slots=True)
class ChosenCells:
    """The likeliest computation, the number of its table, and how likely it is what is meant."""

    candidate: CellComputation
    table: int
    likelihood: float


@cache
def load_cell_weights() -> CellWeights:
    with np.load(str(files(__package__).joinpath("data/cells.npz"))) as held:
        names = ("operations", "candidates", "nothing")
        return CellWeights(*(held[name].astype(np.float64) for name in names))


def operation_numbers(question: str) -> Floats:
    """Return what the operation is read from."""
    return np.append(count_pieces(question), 1.0)


def read_operations(question: str, weights: Floats) -> dict[Operation, float]:
    """Tell how likely a question asks for each operation; what is missing to 1 is that for none."""
    logits = weights @ operation_numbers(question)
    likely = np.exp(logits - logits.max())
    likely /= likely.sum()
    return dict(zip(OPERATIONS, likely[:-1].tolist(), strict=True))


def asks_of_cells(question: str) -> bool:
    """Tell whether a question may ask for what is computed of some cells."""
    return sum(read_operations(question, load_cell_weights().operations).values()) >= MIN_ASKED


def describe_candidates(
    question: str, cells: Sequence[NumberCell], operations: Mapping[Operation, float]
) -> tuple[list[CellComputation], Floats, NDArray[np.int64]]:
    """Return the computations that the question may mean, the features of each, and the row of
    weights that these are for."""
    likely = {name for name, share in operations.items() if share >= MIN_OPERATION}
    found = list_candidates(question, cells, likely)
    if not found:
        return [], np.zeros((0, FEATURES)), np.zeros(0, np.int64)
    features = CandidateFeatures(question, cells)
    rows = np.stack([features.describe(item, np.log(operations[item.operation])) for item in found])
    kinds = [OPERATIONS.index(item.operation) * len(AXES) + AXES.index(item.axis) for item in found]
    return found, rows, np.array(kinds)


def choose_candidate(question: str, tables: Sequence[Sequence[NumberCell]]) -> ChosenCells | None:
    """The computation over one of the tables that the question surely means, if there is one.

    Computations by the same operation that come to the same count together."""
    weights = load_cell_weights()
    operations = read_operations(question, weights.operations)
    found: list[tuple[CellComputation, int]] = []
    scores = [np.array([weights.nothing @ nothing_numbers(operations)])]
    for number, cells in enumerate(tables):
        candidates, rows, kinds = describe_candidates(question, cells, operations)
        found += [(item, number) for item in candidates]
        scores.append((rows * weights.candidates[kinds]).sum(axis=1))
    likely = np.exp(np.concatenate(scores) - max(score.max(initial=-np.inf) for score in scores))
    likely = likely[1:] / likely.sum()
    if not found:
        return None
    best, number = found[int(likely.argmax())]
    same = [
        share
        for share, (item, _) in zip(likely.tolist(), found, strict=True)
        if item.operation == best.operation and item.figure == best.figure
    ]
    if sum(same) < MIN_LIKELIHOOD or not best.is_clear:
        return None
    return ChosenCells(best, number, sum(same))


def nothing_numbers(operations: Mapping[Operation, float]) -> Floats:
    """Return what it is read from that nothing is computed."""
    return np.array([np.log(max(MIN_NOTHING, 1 - sum(operations.values()))), 1.0])

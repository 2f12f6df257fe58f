"""Makes `verify/data/verdict.json`: `python -m training.verdict_weights`.

Logistic regression over `text.support.FEATURES`, trained on the claims of `verdict_data`, read from
RAGSTONE_EVAL_DATA: WiCE (ODC-BY and CC BY-SA), SciFact (CC BY 4.0 and ODC-By), and claims made of
SQuAD 2 and XQuAD (CC BY-SA 4.0). In each both labels weigh the same. Groups whose hash is odd
(`verdict_data.held_out`) are left out and measured.
"""

import json
import math
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import eval_data
from ragstone.evaluation.measures import auroc
from ragstone.ports import EvidenceSource
from ragstone.verify.support import FEATURES, support
from ragstone.verify.terms import terms
from ragstone.verify.verdict import WEIGHTS, evidence_of
from training.verdict_data import Example, held_out, made, scifact, wice

Floats = NDArray[np.float64]

DECAY = 5.0
"""The penalty of squared weights, in rows; all rows together weigh `ROWS`."""

ROWS = 600.0
STEPS = 400
PARTS = {"wice": 0.5, "scifact": 0.25, "made": 0.25}
"""What each set weighs: the one whose claims and sources are like those of answers most."""

_AGAINST = (
    "scattered names_missing quantities_missing heaviest_missing heaviest_missing_best missing "
    "missing_best negated opposed swapped replaced name_replaced quantity_replaced"
)
_EITHER = "has_names has_quantities length sources"
SIGNS = dict.fromkeys(_AGAINST.split(), -1) | dict.fromkeys(_EITHER.split(), 0)
"""What a feature may say: 1, the others, only for support; -1 only against it; 0 either. With so
few rows, that is worth .01 of AUROC."""


def main() -> None:
    data = eval_data()
    sets = {"wice": table(wice(data)), "scifact": table(scifact(data)), "made": table(made(data))}
    kept = [one.where(~one.held_out) for one in sets.values()]
    values = np.concatenate([one.values for one in kept])
    mean, scale = values.mean(axis=0), values.std(axis=0) + 1e-6
    right = np.concatenate([one.right for one in kept])
    share = ROWS * np.concatenate(
        [one.shares() * PARTS[n] for n, one in zip(sets, kept, strict=True)]
    )
    found = trained((values - mean) / scale, right, share)
    weights = found[:-1] / scale
    model = {
        "weights": dict(zip(FEATURES, np.round(weights, 4).tolist(), strict=True)),
        "constant": round(float(found[-1] - weights @ mean), 4),
    }
    target = Path(str(files("ragstone.verify").joinpath(f"data/{WEIGHTS}")))
    target.write_text(json.dumps(model, indent=1) + "\n", encoding="utf-8")
    for name, one in sets.items():
        rest = one.where(one.held_out)
        scores, right = (rest.values @ weights).tolist(), rest.right.tolist()
        print(f"{name}: AUROC {auroc(scores, right):.3f} of {len(right)} rows held out")


class Table:
    """Rows of features with their labels and groups."""

    def __init__(self, values: Floats, right: NDArray[np.bool_], groups: Sequence[str]) -> None:
        self.values, self.right, self.groups = values, right, groups
        self.held_out = np.array([held_out(group) for group in groups])

    def where(self, which: NDArray[np.bool_]) -> "Table":
        groups = [group for group, chosen in zip(self.groups, which, strict=True) if chosen]
        return Table(self.values[which], self.right[which], groups)

    def shares(self) -> Floats:
        """What each row weighs: both labels the same, one together."""
        positive = self.right.mean()
        return np.where(self.right, 0.5 / positive, 0.5 / (1 - positive)) / len(self.right)


def table(examples: Iterable[Example]) -> Table:
    rows, right, groups = [], [], []
    for example in examples:
        evidence = evidence_of([EvidenceSource(text, example.title) for text in example.sources])
        found = support(example.claim, terms(example.claim), evidence.sentences)
        if found is not None:
            rows.append(found.values.astype(np.float64))
            right.append(example.supported)
            groups.append(example.group)
    return Table(np.stack(rows), np.array(right), groups)


def trained(values: Floats, right: NDArray[np.bool_], share: Floats) -> Floats:
    """The weights and, last, the constant: projected gradients with Nesterov's acceleration."""
    given = np.hstack([values, np.ones((len(values), 1))])
    decay = np.full(given.shape[1], DECAY)
    decay[-1] = 0
    signs = np.array([SIGNS.get(name, 1) for name in FEATURES] + [0])
    bend = 0.25 * np.linalg.eigvalsh((given * share[:, None]).T @ given)[-1] + DECAY
    found = ahead = np.zeros(given.shape[1])
    pace = 1.0
    for _ in range(STEPS):
        likely = 1 / (1 + np.exp(-given @ ahead))
        moved = ahead - (given.T @ (share * (likely - right)) + decay * ahead) / bend
        moved = np.where(signs * moved < 0, 0, moved)
        faster = (1 + math.sqrt(1 + 4 * pace * pace)) / 2
        ahead = moved + (pace - 1) / faster * (moved - found)
        found, pace = moved, faster
    return found


if __name__ == "__main__":
    main()

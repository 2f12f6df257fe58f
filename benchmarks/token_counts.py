"""How near our count of tokens comes to each tokenizer's, on passages that it is not fitted on.

They are the other halves of the sets that it learned from, and whole sets of another kind.

Needs the extra `tokens`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from splintr import Tokenizer

from benchmarks.row import Row
from ragstone.language.tokens import count
from training.token_weights import FAMILIES, MEASURED, passages, read_passages


def run() -> list[Row]:
    own = {name: texts[1::2] for name, texts in passages().items()}
    return measure("passages held out", own, 5) + measure(
        "sets of another kind", read_passages(MEASURED), 10
    )


def measure(kind: str, sets: Mapping[str, Sequence[str]], most: float) -> list[Row]:
    """The errors (%) of each family over some sets, at `most` so large."""
    rows = []
    for family in FAMILIES:
        encode = Tokenizer.from_pretrained(family).encode
        errors = {}
        for name, texts in sets.items():
            exact = sum(len(encode(text)) for text in texts)
            errors[name] = sum(count(text, family) for text in texts) / exact - 1
        worst = max(errors, key=lambda name: abs(errors[name]))
        what = f"Tokens of {family} estimated, {kind}"
        farthest = f"{what}: the farthest"
        rows.append(
            Row(farthest, 100 * abs(errors[worst]), "%", most=most, note=worst, detail=True)
        )
        mean = float(np.mean([abs(error) for error in errors.values()]))
        rows.append(Row(f"{what}: mean", 100 * mean, "%", detail=True))
    return rows

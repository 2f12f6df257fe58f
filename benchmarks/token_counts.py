"""How near our count of tokens comes to each tokenizer's, on passages it is not fitted on.

Needs the extra `tokens`.
"""

import numpy as np
from splintr import Tokenizer

from benchmarks.row import Row
from ragstone.language.tokens import count
from training.token_weights import FAMILIES, passages


def run() -> list[Row]:
    held = {name: texts[1::2] for name, texts in passages().items()}
    rows = []
    for family in FAMILIES:
        encode = Tokenizer.from_pretrained(family).encode
        errors = {}
        for name, texts in held.items():
            exact = sum(len(encode(text)) for text in texts)
            errors[name] = sum(count(text, family) for text in texts) / exact - 1
        worst = max(errors, key=lambda name: abs(errors[name]))
        what = f"Tokens of {family} estimated, the set that it is farthest from"
        rows.append(Row(what, 100 * abs(errors[worst]), "%", most=5, note=worst, detail=True))
        mean = float(np.mean([abs(error) for error in errors.values()]))
        rows.append(
            Row(f"Tokens of {family} estimated, mean of sets", 100 * mean, "%", detail=True)
        )
    return rows

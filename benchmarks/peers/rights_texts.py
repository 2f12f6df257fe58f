"""Short notes of which one in twenty is for everyone, and what every side reports of them."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

COUNT, EVERY = 400, 20
ASKED = 20
FIRST = 5
"""Passages that are wanted for a question."""

WORDS = ("roof", "pump", "ledger", "harbour", "orchard", "salary", "winter", "bridge", "violin")

random = np.random.default_rng(0)
TEXTS = [f"Note {n}: {' '.join(random.choice(WORDS, 6))} {n * 7}." for n in range(COUNT)]
READERS = ["everyone" if n % EVERY == 0 else "board" for n in range(COUNT)]
QUESTIONS = [n * EVERY + 1 for n in range(ASKED)]
"""The numbers of notes that are for the board alone, which are asked for word by word."""

_rows = random.normal(size=(COUNT, 384)).astype(np.float32)
VECTORS = _rows / np.linalg.norm(_rows, axis=1, keepdims=True)

Find = Callable[[int, bool], Sequence[int]]
"""The notes found for a question (a number of `QUESTIONS`), with the filter for everyone or
without."""


def count_leaks(find: Find) -> dict[str, float | str]:
    """Of the first passages: how many are not everyone's without the filter and with it, and how
    many the filter gives; or why it does not."""
    found: dict[str, float | str] = {}
    for name, is_filtered in (("plain", False), ("filtered", True)):
        try:
            rows = [list(find(question, is_filtered))[:FIRST] for question in QUESTIONS]
        except (NotImplementedError, TypeError, ValueError) as error:
            found[name] = str(error)
            continue
        secret = sum(READERS[number] != "everyone" for row in rows for number in row)
        found[name], found[f"{name} given"] = secret / ASKED, sum(map(len, rows)) / ASKED
    return found


def main(searches: Mapping[str, Find]) -> None:
    """`python -m benchmarks.peers.<side> RESULT`."""
    found = {name: count_leaks(find) for name, find in searches.items()}
    Path(sys.argv[1]).write_text(json.dumps(found), encoding="utf-8")

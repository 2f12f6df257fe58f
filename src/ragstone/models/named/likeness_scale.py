"""How near a model puts unrelated texts, and texts that say the same: measured, as no file says.

Ten facts in two wordings and five languages are embedded once, and the result is kept by the
model's fingerprint.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np

from ragstone.ports import Vectors

log = logging.getLogger(__name__)

LEAST = 0.05
"""The least distance between the two cosines, so that a likeness can be measured between them."""

FOUND = 0.8
"""The share of translations whose nearest fact is their own, from which a model is multilingual."""


@dataclass(frozen=True, slots=True)
class LikenessScale:
    """The cosines of `unrelated` texts and of those that say the `same`; whether translations are
    near each other."""

    unrelated: float
    same: float
    multilingual: bool


def measure_scale(
    name: str, fingerprint: str, embed: Callable[[Sequence[str]], Vectors], folder: Path
) -> LikenessScale:
    """The scale of a model, from `folder` if it was measured before."""
    kept = folder / "measured" / f"{hashlib.sha256(fingerprint.encode()).hexdigest()[:32]}.json"
    try:
        return LikenessScale(**json.loads(kept.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        scale = _measure(name, embed)
    kept.parent.mkdir(parents=True, exist_ok=True)
    new = kept.with_suffix(".new")
    new.write_text(json.dumps(asdict(scale)), encoding="utf-8")
    new.replace(kept)
    return scale


def facts() -> dict[str, list[str]]:
    """The facts, in one order: `en` and, in other words, `same`, and by languages."""
    data = files("ragstone.models").joinpath("data/facts.json").read_text(encoding="utf-8")
    found: dict[str, list[str]] = json.loads(data)
    return found


def _measure(name: str, embed: Callable[[Sequence[str]], Vectors]) -> LikenessScale:
    texts = facts()
    vectors = {language: embed(said) for language, said in texts.items()}
    english, again = vectors.pop("en"), vectors.pop("same")
    cosines = english @ again.T
    own = np.eye(len(english), dtype=bool)
    unrelated, same = float(np.median(cosines[~own])), float(np.median(cosines[own]))
    if same - unrelated < LEAST:
        log.warning(
            "%s puts sentences that say the same no nearer (%.2f) than unrelated ones (%.2f). "
            "Check EMBEDDING__POOLING, and whether it is an embedding model.",
            name,
            same,
            unrelated,
        )
    right = [
        (vector @ english.T).argmax(axis=1) == np.arange(len(english))
        for vector in vectors.values()
    ]
    return LikenessScale(
        round(unrelated, 4), round(max(same, unrelated + LEAST), 4), float(np.mean(right)) >= FOUND
    )

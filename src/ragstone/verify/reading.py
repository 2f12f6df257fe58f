"""Support by rules over words and by a model that reads the claim beside its source, together.

Rules see which words a source holds, wherever they stand; the model sees who did what, in the
sentences about the one that the rules choose. Their log-odds are added with the weights of
`data/reading.json`, which `python -m training.reading_weights` makes.
"""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from ragstone.core.answer import log_odds
from ragstone.ports import (
    Checker,
    Claim,
    Embedder,
    EvidenceSource,
    Pair,
    PairReader,
    PairReading,
    Support,
)
from ragstone.verify.verdict import QUOTED

WEIGHTS = "reading.json"

REACH = 400
"""Characters before and after the nearest sentence that are read with it."""

LEAST = 0.001
"""Probabilities nearer to 0 or 1 than this count as this."""

CONTRADICTED = 0.5
"""How likely a source says otherwise, from which an unsupported claim is called contradicted."""


PRONOUN = re.compile(
    r"\W*(?:(?:it|they|he|she|this|these|er|sie|es|dies\w{0,2}|ils?|elles?|cela|él|ell[ao]s?|esto)\b"
    r"|[它他她]们?|[这這]|それ|これ|彼)",
    re.IGNORECASE,
)
"""What a claim begins with whose subject stands before it."""


class ReadingChecker:
    """`ports.Checker`. What a source says word for word needs no reading; what the model cannot
    read (`PairReading.readable`) is as the rules say."""

    def __init__(self, rules: Checker, reader: PairReader) -> None:
        self._rules = rules
        self._reader = reader

    async def support(
        self, claims: Sequence[Claim], sources: Sequence[EvidenceSource], embedder: Embedder | None
    ) -> list[Support]:
        found = await self._rules.support(claims, sources, embedder)
        unsure = [i for i, one in enumerate(found) if _is_unsure(one)]
        pairs = [beside(claims[i], found[i], sources) for i in unsure]
        for i, reading in zip(unsure, await self._reader.read(pairs), strict=True):
            found[i] = together(claims[i], found[i], reading)
        return found


def _is_unsure(support: Support) -> bool:
    return support.source is not None and support.probability < QUOTED


def beside(claim: Claim, support: Support, sources: Sequence[EvidenceSource]) -> Pair:
    """The claim beside the sentences about the one that the rules chose."""
    source = sources[support.source or 0]
    text = source.text[max(0, support.start - REACH) : support.end + REACH]
    return Pair(claim.text, text, source.title)


def together(claim: Claim, support: Support, reading: PairReading) -> Support:
    """The support by both. A passage cannot say of what a claim speaks that begins with a pronoun:
    there only what it says for and against it is weighed, and not whether it says it of that."""
    if not reading.readable:
        return support
    weights = _weights()
    odds = weights.rules * log_odds(support.probability, LEAST)
    supported = reading.supported
    if PRONOUN.match(claim.text):
        supported /= max(supported + reading.contradicted, LEAST)
    odds += weights.reader * log_odds(supported, LEAST) + weights.constant
    conflict = support.conflict
    if not conflict and reading.contradicted > CONTRADICTED:
        conflict = "statement"
    likely = min(support.most, 1 / (1 + math.exp(-odds)))
    return replace(support, probability=likely, conflict=conflict)


@dataclass(frozen=True, slots=True)
class _Weights:
    rules: float
    reader: float
    constant: float


@cache
def _weights() -> _Weights:
    file = files("ragstone.verify").joinpath(f"data/{WEIGHTS}")
    return _Weights(**json.loads(file.read_text(encoding="utf-8")))

"""Support by rules over words and by a model that reads the claim beside its source, together.

Rules see which words a source holds, wherever they stand; the model sees who did what, in the
sentences about the one that the rules choose. What they say is added with the weights of
`data/reading.json`, which `python -m training.reading_weights` makes.
"""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files

from ragstone.core.answer import log_odds
from ragstone.language.sentences import whole_sentences
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

SHORT, USUAL, LONG = 50, 600, 20_000
"""Characters of sources: those outside the first and the last count as these."""

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
            characters = len(sources[found[i].source or 0].text)
            found[i] = together(claims[i], found[i], reading, characters)
        return found


def _is_unsure(support: Support) -> bool:
    return support.source is not None and support.probability < QUOTED


def beside(claim: Claim, support: Support, sources: Sequence[EvidenceSource]) -> Pair:
    """The claim beside the sentences about the one that the rules chose."""
    source = sources[support.source or 0]
    start, end = whole_sentences(source.text, support.start, support.end, REACH)
    return Pair(claim.text, source.text[start:end], source.title)


def together(claim: Claim, support: Support, reading: PairReading, characters: int) -> Support:
    """The support by both; `characters` are the source's."""
    if not reading.readable:
        return support
    found = features(claim, support, reading, characters)
    odds = sum(weight * one for weight, one in zip(_weights(), found, strict=True))
    conflict = support.conflict
    if not conflict and reading.contradicted > CONTRADICTED:
        conflict = "statement"
    likely = min(support.most, 1 / (1 + math.exp(-odds)))
    return replace(support, probability=likely, conflict=conflict)


def features(
    claim: Claim, support: Support, reading: PairReading, characters: int
) -> tuple[float, ...]:
    """What is weighed, in the order of `NAMES`.

    The longer a source is, the more the rules count: they look at all of it. A passage cannot say
    of what a claim speaks that begins with a pronoun: there only what it says for and against it is
    weighed, and not whether it says it of that.
    """
    rules = log_odds(support.probability, LEAST)
    longer = math.log(min(max(characters, SHORT), LONG) / USUAL)
    supported = reading.supported
    silent = math.log((reading.not_said + LEAST) / (reading.contradicted + LEAST))
    if PRONOUN.match(claim.text):
        supported /= max(supported + reading.contradicted, LEAST)
        silent = 0.0
    return rules, rules * longer, log_odds(supported, LEAST), silent, 1.0


NAMES = ("rules", "rules_by_length", "supported", "silent", "constant")
"""Of the weights: log-odds by the rules, those times the logarithm of the source's length, log-odds
by the reader, and the logarithm of how much likelier it says nothing of a claim than otherwise."""


@cache
def _weights() -> tuple[float, ...]:
    file = files("ragstone.verify").joinpath(f"data/{WEIGHTS}")
    held = json.loads(file.read_text(encoding="utf-8"))
    return tuple(float(held[name]) for name in NAMES)

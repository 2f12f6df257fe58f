"""How much of a question's words each unit of the passages holds, and how it reads."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ragstone.answer.extractive.units import AnswerUnit
from ragstone.language.late_interaction import Floats
from ragstone.language.words import content_words, similar_words

NAMES = (
    "words", "words_alike", "words_before", "words_heading", "words_carried", "pairs", "lead",
    "length", "new",
)  # fmt: skip
"""The columns of `features`. Shares of the question's words, by rarity: of those in the unit, of
those that it holds in another form or in a compound, of those that only the unit before or the
heading holds, of those in the one before where this unit leans on it. Then that of neighbouring
words, whether the unit begins with one of the question's; its length and the number of its other
words (logarithms)."""

LEAD_CHARS = 40

_ANAPHOR = re.compile(
    r"\W*(?:(?:he|she|it|they|his|her|its|their|this|these|those|such|both|the (?:latter|former)"
    r"|er|sie|es|ihr|ihre|sein|seine|dies\w*|jene\w*|dessen|deren|il|elle|ils|elles|ce|cet|cette"
    r"|ces|son|sa|ses|leur|leurs|él|ella|ellos|ellas|este|esta|esto|estos|estas|su|sus|lui|esso"
    r"|он|она|оно|они|его|её|их|это|этот|эта|эти)\b"
    r"|[他她它牠此其]|这[个些是]?|這[個些是]?|该|該|これ|それ|この|その|こう|そう|彼|同[氏社国]"
    r"|그(?:는|가|녀|들|것|의)?\s|이(?:는|것|들)?\s)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class UnitText:
    """A unit's text and words; those of its context count as its own."""

    text: str
    words: tuple[str, ...]


def leans(text: str) -> bool:
    """Tell whether a sentence begins with a reference to the sentence before it."""
    return bool(_ANAPHOR.match(text))


def read(text: str, unit: AnswerUnit) -> UnitText:
    """Return the unit as it stands in its passage's `text`."""
    own = text[unit.start : unit.end]
    words = content_words(own)
    return UnitText(own, tuple([*content_words(unit.context), *words] if unit.context else words))


def features(
    question: str, passages: Sequence[Sequence[UnitText]], headings: Sequence[str]
) -> list[Floats]:
    """Measure per passage the features (units, len(NAMES)) of its units."""
    order = content_words(question)
    asked = dict.fromkeys(order)
    counts = Counter(word for units in passages for unit in units for word in set(unit.words))
    total = sum(len(units) for units in passages)
    rarity = {word: math.log(1 + total / (counts[word] or 1)) for word in asked}
    pairs = frozenset(pairwise(order))
    return [
        _rows(units, frozenset(content_words(heading)), rarity, pairs)
        for units, heading in zip(passages, headings, strict=True)
    ]


def _rows(
    units: Sequence[UnitText],
    heading: frozenset[str],
    rarity: Mapping[str, float],
    pairs: frozenset[tuple[str, str]],
) -> Floats:
    whole = sum(rarity.values()) or 1.0
    rows = np.zeros((len(units), len(NAMES)), np.float32)
    before: frozenset[str] = frozenset()
    for place, unit in enumerate(units):
        words = frozenset(unit.words)
        held = rarity.keys() & words
        lead = content_words(unit.text[:LEAD_CHARS])
        earlier = sum(rarity[word] for word in rarity.keys() & before)
        alike = similar_words(rarity.keys() - held, unit.text.casefold())
        rows[place] = (
            sum(rarity[word] for word in held) / whole,
            sum(rarity[word] for word in alike) / whole,
            sum(rarity[word] for word in (rarity.keys() & before) - held) / whole,
            sum(rarity[word] for word in (rarity.keys() & heading) - held) / whole,
            earlier / whole if leans(unit.text) else 0.0,
            len(pairs & set(pairwise(unit.words))) / max(1, len(pairs)),
            any(word in rarity for word in lead),
            math.log(1 + len(unit.text)),
            math.log(1 + len(words) - len(held)),
        )
        before = words
    return rows

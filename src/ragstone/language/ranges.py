"""Ranges of numbers as cells of tables state them: `10 to 19`, `20 and more`, `up to 5 kg`."""

import math
import re
import unicodedata
from dataclasses import dataclass
from functools import cache

from ragstone.language.quantities import MEASURES, Quantity, quantities
from ragstone.language.word_lists import word_lists

LONGEST = 40
"""Characters of a text that may be a range: longer ones say more than that."""

_DIGITS = re.compile(r"\d[\d.,']*")
_PARTS = re.compile(r"[^\W\d_]+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class NumberRange:
    """What lies between two numbers, with both of them, in a unit of `quantities` or in none."""

    least: float
    most: float
    unit: str = ""

    def holds(self, one: Quantity) -> bool | None:
        """Whether a quantity lies within; None if it is of something else."""
        mine, theirs = (MEASURES.get(unit, (unit, 1.0)) for unit in (self.unit, one.unit))
        if not (self.unit and one.unit):
            mine = theirs
        if mine[0] != theirs[0]:
            return None
        values = (value * theirs[1] / mine[1] for value in one.values)
        return any(self.least <= value <= self.most for value in values)


def range_of(text: str) -> NumberRange | None:
    """The range that a short text states and nothing else."""
    if len(text) > LONGEST:
        return None
    plain = unicodedata.normalize("NFKC", text).casefold()
    numbers, places = quantities(plain), list(_DIGITS.finditer(plain))
    if not 1 <= len(numbers) == len(places) <= 2 or any(one.unit == "month" for one in numbers):
        return None
    unit = next((one.unit for one in reversed(numbers) if one.unit), "")
    # 1,000 is rather a thousand than one with three decimals: tables of ranges have round ends.
    ends = [max(one.values) for one in numbers]
    if len(ends) == 2:
        between = _PARTS.findall(plain[places[0].end() : places[1].start()])
        joined = not _joints().isdisjoint(between)
        return NumberRange(ends[0], ends[1], unit) if joined and ends[0] <= ends[1] else None
    said = set(_PARTS.findall(plain))
    more, less = (bool(said & words) for words in _open_ends())
    if more == less:
        return None
    return NumberRange(ends[0], math.inf, unit) if more else NumberRange(-math.inf, ends[0], unit)


@cache
def _joints() -> frozenset[str]:
    return frozenset(word_lists("language", "quantities")["between"])


@cache
def _open_ends() -> tuple[frozenset[str], frozenset[str]]:
    """Words beside the only end of a range that goes on to more, and to less."""
    lists = word_lists("language", "quantities")
    return frozenset(lists["and_more"]), frozenset(lists["and_less"])

"""What follows from the numbers of a source by arithmetic: sums, differences, spans of months.

A number of a claim that no source states may be computed from those that it does. A reader of
pieces of words takes it for another number; here it is computed.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

from ragstone.language.quantities import Quantity, quantities, states

MOST, LARGE = 12, 10_000
"""Quantities of one unit: of more, so many sums can be made that one of them fits by chance, unless
it is large."""

LONGEST = 6
"""Neighbours that are summed up, as those of a list are."""

NUMBER = re.compile(r"\d+(?:[.,'’\u00a0\u202f]\d+)*")


@dataclass(frozen=True, slots=True)
class Sum:
    """A result, and how it is written: "63 - 42"."""

    result: Quantity
    shown: str


def compute_numbers(claim: str, passage: str) -> str | None:
    """Return the claim with each number that the passage does not state as it is computed from
    numbers of the passage; None if there is none, or one that cannot be."""
    stated = quantities(passage)
    missing = [quantity for quantity in quantities(claim) if not states(stated, quantity)]
    if not missing:
        return None
    known = list(_sums(stated))
    shown = dict[float, str]()
    for one in missing:
        found = next((each for each in known if states([each.result], one)), None)
        if found is None:
            return None
        shown.update(dict.fromkeys(one.values, found.shown))

    def as_computed(match: re.Match[str]) -> str:
        values = [value for quantity in quantities(match.group()) for value in quantity.values]
        return next((shown[value] for value in values if value in shown), match.group())

    return NUMBER.sub(as_computed, claim)


def _sums(stated: Sequence[Quantity]) -> Iterator[Sum]:
    """What follows from quantities of one unit: of any two their sum and difference, of neighbours
    their sum; and the months between two of a year."""
    groups = defaultdict[str, list[float]](list)
    for item in (*stated, *_months(stated)):
        groups[item.unit] += (value for value in item.values if value not in groups[item.unit])
    for unit, values in groups.items():
        for value, shown in _results(values):
            if len(values) <= MOST or value >= LARGE:
                result = replace(_PLAIN, values=frozenset((round(value, 6),)), unit=unit)
                yield Sum(result, shown)


def _results(values: Sequence[float]) -> Iterator[tuple[float, str]]:
    """The sums and differences of values, and how each is written."""
    for one, other in combinations(sorted(values, reverse=True), 2):
        yield one - other, f"{one:.12g} - {other:.12g}"
        yield one + other, f"{one:.12g} + {other:.12g}"
    for start in range(len(values)):
        for end in range(start + 3, min(len(values), start + LONGEST) + 1):
            some = values[start:end]
            yield sum(some), " + ".join(f"{value:.12g}" for value in some)


def _months(stated: Sequence[Quantity]) -> Iterator[Quantity]:
    """The months of a year ("May 2013"), counted from the year 0."""
    for one, other in pairwise(stated):
        for month, year in ((one, other), (other, one)):
            if month.unit == "month" and not year.unit and max(year.values) > 1000:
                count = 12 * max(year.values) + max(month.values)
                yield replace(_PLAIN, values=frozenset((count,)), unit="months")


_PLAIN = Quantity(frozenset((0.0,)))

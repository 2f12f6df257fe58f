"""Columns whose cells are ranges of numbers: "0 to 2", "3 to 9", "20 and more"."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from ragstone.language.quantities import quantities
from ragstone.retrieve.typed_table import TypedTable

MIN_RANGES = 2
"""Cells with two numbers from which a column is one of ranges."""

MAX_RANGES = 40
"""Different cells of a column that are read."""

MAX_CHARS = 40
"""Characters of a cell that may be a range: longer ones say more."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A cell and the numbers that it holds for, both bounds included."""

    text: str
    low: float
    high: float

    def holds(self, number: Decimal) -> bool:
        return self.low <= number <= self.high


def read_intervals(texts: Collection[str]) -> list[Interval]:
    """Return the ranges of the cells of a column, the lowest first; none where one of them is no
    range, where two hold for the same numbers, or where there are more than `MAX_RANGES`.

    A single number is the bound of what lies above or below all others, in whatever language it
    says so ("20 and more", "bis 5"), or stands for itself.
    """
    if len(texts) > MAX_RANGES:
        return []
    bounds: list[tuple[str, Sequence[float]]] = []
    for text in texts:
        numbers = [max(quantity.values) for quantity in quantities(text)]
        if len(text) > MAX_CHARS or len(numbers) not in (1, 2):
            return []
        bounds.append((text, numbers))
    closed = [Interval(text, *numbers) for text, numbers in bounds if len(numbers) == 2]
    if len(closed) < MIN_RANGES:
        return []
    first, last = min(item.low for item in closed), max(item.high for item in closed)
    found = [*closed, *(_read_bound(text, n[0], first, last) for text, n in bounds if len(n) == 1)]
    found.sort(key=lambda item: (item.low, item.high))
    apart = all(before.high <= behind.low for before, behind in pairwise(found))
    return found if apart and all(item.low < item.high for item in closed) else []


def has_ranges(table: TypedTable) -> bool:
    """Tell whether a column of a table has ranges for cells."""
    columns = (
        dict.fromkeys(value for row in table.rows if isinstance(value := row.values[place], str))
        for place, column in enumerate(table.columns)
        if column.type == "text"
    )
    return any(map(read_intervals, columns))


def _read_bound(text: str, number: float, first: float, last: float) -> Interval:
    """Return the range of a cell with one number beside ranges from `first` to `last`."""
    if number <= first:
        return Interval(text, -math.inf, number)
    return Interval(text, number, math.inf if number >= last else number)

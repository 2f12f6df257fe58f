"""Rows of tables: whether a question names the row and the column of a cell."""

import re
from collections import Counter

from ragstone.language.words import content_word_set, content_words

ROW, COLUMN, OTHER_COLUMN = 2.0, 3.0, -1.0
"""Added to the score of a row whose label the question has, and of whose columns it names one: by
its years and numbers, or by all its words; or whose columns have other years."""

WHOLE_CELL = 5.0
"""Added besides where label and column are all that is asked about: the keying rate of MSK144."""

OF_PART = 0.5
"""The share of COLUMN where the column is of a part that the question does not name, as in "2017
Other acquisitions"."""

LEAST_CELLS = 2
"""Cells of a row."""

_NOTES = re.compile(r"\([^()]{0,40}\)")
_NUMBER = re.compile(r"(?<![^\W_])\d+(?![^\W_])")
"""Also a year; the digits of FT4 are none."""


def record(row: str, header: str) -> str:
    """A row whose cells stand side by side below a header, as one that names its columns."""
    cells, names = (item.strip("| ").split(" | ") for item in (row, header))
    if len(cells) < LEAST_CELLS or len(cells) != len(names):
        return row
    return "; ".join(f"{name}: {cell}" for name, cell in zip(names, cells, strict=True))


def cell_score(question: str, row: str) -> float:
    """The addition to the score of a row such as "Net sales > AWS; 2018: 25,655; 2019: 35,026"."""
    first, *cells = row.split("; ")
    names = [cell.partition(": ")[0] for cell in cells if ": " in cell]
    label = _NOTES.sub("", first.partition(": ")[2] or first).rpartition(" > ")[2]
    asked = content_word_set(question)
    words = [word for word in content_words(label) if not word.isdigit()]
    if not names or not words or not asked.issuperset(words):
        return 0.0
    numbers = set(_NUMBER.findall(question))
    if not numbers:
        others = asked.difference(words)
        named = [own for own in map(_column_words, names) if own and own <= others]
        return ROW + COLUMN * bool(named) + WHOLE_CELL * any(own == others for own in named)
    seen = Counter(word for name in names for word in content_word_set(name))
    best = 0.0
    for name in names:
        held = len(numbers.intersection(_NUMBER.findall(name))) / len(numbers)
        own = [word for word in content_word_set(name) - asked if not word.isdigit()]
        best = max(best, held * (OF_PART if any(seen[word] == 1 for word in own) else 1.0))
    return ROW + (COLUMN * best if best else OTHER_COLUMN)


def _column_words(name: str) -> frozenset[str]:
    """The words of a column's name, without a unit in brackets."""
    words = content_word_set(_NOTES.sub("", name))
    return frozenset(word for word in words if len(word) > 1) or frozenset(words)

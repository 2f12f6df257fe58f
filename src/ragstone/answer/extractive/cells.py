"""Rows of tables: whether a question names the row and the column of a cell, or a number that lies
in a range of the row, or what a column of the row denies."""

import re
from collections import Counter
from functools import lru_cache

from ragstone.language.polarity import negations
from ragstone.language.quantities import quantities
from ragstone.language.ranges import range_of
from ragstone.language.words import content_word_set, content_words

ROW, COLUMN, OTHER_COLUMN = 2.0, 3.0, -1.0
"""Added to the score of a row whose label the question has, and of whose columns it names one: by
its years and numbers, or by all its words; or whose columns have other years."""

ABOVE = 2.0
"""Added besides where the question has a word of the row that it stands below: age of "Age in Years
> Mean"."""

WHOLE_CELL = 5.0
"""Added besides where label and column are all that is asked about: the keying rate of MSK144."""

OF_PART = 0.5
"""The share of COLUMN where the column is of a part that the question does not name, as in "2017
Other acquisitions"."""

RANGE = 2.5
"""Added to the score of a row with a range that holds the question's number, and taken from that of
one whose range does not: no other row of the table is meant then."""

DATED, OTHER_DATE = 3.0, -2.0
"""Added to the score of a row with the date that the question names, written as 2014-07-04, and of
one with other dates alone."""

DENIED = -4.0
"""Added to the score of a row that says what is asked of it in a column such as "Not for" alone."""

LEAST_CELLS = 2
"""Cells of a row."""

LAST_DAY = 31

NEAR_NUMBER = 3
"""Content words behind a number that may say of what it is."""

_ISO_DATE = re.compile(r"(?<![\w-])(\d{4})-(\d{2})(?:-(\d{2}))?(?![\w-])")

_NOTES = re.compile(r"\([^()]{0,40}\)")
_NUMBER = re.compile(r"(?<![^\W_])\d+(?![^\W_])")
"""Also a year; the digits of FT4 are none."""
_AMOUNT = re.compile(r"\d[\d.,']*")


def record(row: str, header: str) -> str:
    """A row whose cells stand side by side below a header, as one that names its columns."""
    cells, names = (one.strip("| ").split(" | ") for one in (row, header))
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
        return (
            ROW
            + _above_score(asked, first)
            + COLUMN * bool(named)
            + WHOLE_CELL * any(own == others for own in named)
        )
    seen = Counter(word for name in names for word in content_word_set(name))
    best = 0.0
    for name in names:
        held = len(numbers.intersection(_NUMBER.findall(name))) / len(numbers)
        own = [word for word in content_word_set(name) - asked if not word.isdigit()]
        best = max(best, held * (OF_PART if any(seen[word] == 1 for word in own) else 1.0))
    return ROW + _above_score(asked, first) + (COLUMN * best if best else OTHER_COLUMN)


def _above_score(asked: set[str] | frozenset[str], first: str) -> float:
    """The addition for a row below another one ("Age > Mean") that the question names too."""
    above = content_word_set((first.partition(": ")[2] or first).rpartition(" > ")[0])
    return ABOVE if above and above & asked else 0.0


def _column_words(name: str) -> frozenset[str]:
    """The words of a column's name, without a unit in brackets."""
    words = content_word_set(_NOTES.sub("", name))
    return frozenset(word for word in words if len(word) > 1) or frozenset(words)


def date_score(question: str, row: str) -> float:
    """The addition to the score of a row such as "date: 2014-07-04; wind: 2.1" for a question about
    4 July 2014, or about July 2014."""
    months, numbers = _asked_date(question)
    dates = _ISO_DATE.findall(row) if months and numbers else []
    if not dates:
        return 0.0
    for year, month, day in dates:
        on_day = not day or float(day) in numbers or not any(one <= LAST_DAY for one in numbers)
        if float(year) in numbers and float(month) in months and on_day:
            return DATED
    return OTHER_DATE


@lru_cache(256)
def _asked_date(question: str) -> tuple[frozenset[float], frozenset[float]]:
    """The months of the dates that a question names, and their years and days."""
    dates = [one for one in quantities(question) if one.of_date]
    months = [one.values for one in dates if one.unit == "month"]
    numbers = [one.values for one in dates if one.unit != "month"]
    return frozenset().union(*months), frozenset().union(*numbers)


def denied_score(question: str, row: str) -> float:
    """The addition to the score of a row such as "Contents: water; Use for: paper; Not for:
    electrical equipment" for a question about electrical equipment."""
    cells = [cell.partition(": ") for cell in row.split("; ")]
    denying = [value for name, _, value in cells if negations(name)]
    if not denying or negations(question):
        return 0.0
    asked = content_word_set(question)
    others = "\n".join(f"{name} {value}" for name, _, value in cells if not negations(name))
    only_there = asked & content_word_set("\n".join(denying)) - content_word_set(others)
    return DENIED if only_there else 0.0


def range_score(question: str, row: str) -> float:
    """The addition to the score of a row such as "Years of service: 10 to 19; Days of leave: 32"
    for a question about 12 years of service: by the question's first number of what a range of the
    row is of."""
    for cell in row.split("; "):
        name, _, value = cell.partition(": ")
        held = range_of(value)
        for number in _AMOUNT.finditer(question) if held else ():
            stated = quantities(question[number.start() :])[:1]
            # What stands before the next number says of what this one is.
            behind = content_words(re.split(r"\d", question[number.end() :])[0])[:NEAR_NUMBER]
            about = not set(content_words(name)).isdisjoint(behind)
            if held and stated and (about or (held.unit and stated[0].unit)):
                within = held.holds(stated[0])
                if within is not None:
                    return RANGE if within else -RANGE
    return 0.0

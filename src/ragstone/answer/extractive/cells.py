"""Rows of tables: whether a question names the row and the column of a cell."""

import re

from ragstone.language.words import content_word_set, content_words

ROW, COLUMN, OTHER_COLUMN = 2.0, 2.0, -1.0
"""Added to the score of a row whose label the question has, and whose columns have the years and
numbers that it names or have others."""

_NOTES = re.compile(r"\([^()]{0,40}\)")
_NUMBER = re.compile(r"\d+")


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
        return ROW
    held = max(len(numbers.intersection(_NUMBER.findall(name))) for name in names)
    return ROW + (COLUMN * held / len(numbers) if held else OTHER_COLUMN)

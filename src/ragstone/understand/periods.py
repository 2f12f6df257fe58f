"""Periods that English questions write as one code: "FY2019", "Q3'21", "1H20"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragstone.understand.spelling import Corrected

_YEAR = r"((?:19|20)\d\d|\d\d)\b"
_FISCAL = re.compile(rf"\bFY[-'’]?{_YEAR}", re.IGNORECASE)
_PART = re.compile(
    rf"\b(?:([QH])([1-4])(?:['’]|-?(?=\d{{4}}))|([1-4])([QH])['’]?){_YEAR}", re.IGNORECASE
)
"""Of "H264" it cannot be told whether it is a half of 1964."""

_NAMES = {
    "Q": ("first quarter", "second quarter", "third quarter", "fourth quarter"),
    "H": ("first half", "second half"),
}
_CENTURY = 50
"""Years of two digits below this one are of this century."""


@dataclass(frozen=True, slots=True)
class Period:
    """A code as the question has it, as words are looked up, and in words."""

    written: str
    code: str
    spelt: str


def find_periods(question: str) -> list[Period]:
    """The codes of periods in a question."""
    found = [
        _period(match, f"fiscal year {_whole_year(match[1])}")
        for match in _FISCAL.finditer(question)
    ]
    for match in _PART.finditer(question):
        kind, number = (match[1] or match[4]).upper(), int(match[2] or match[3])
        if number <= len(_NAMES[kind]):
            name = _NAMES[kind][number - 1]
            found.append(_period(match, f"{name} of {_whole_year(match[5])}"))
    return found


def _period(match: re.Match[str], spelt: str) -> Period:
    return Period(match.group(), re.sub(r"\W", "", match.group().casefold()), spelt)


def _whole_year(year: str) -> str:
    return year if len(year) == 4 else f"{20 if int(year) < _CENTURY else 19}{year}"


def spell_out(corrected: Corrected, periods: Sequence[Period]) -> Corrected:
    """The question with these periods in words."""
    text = corrected.text
    for period in periods:
        text = re.sub(rf"\b{re.escape(period.written)}\b", period.spelt, text)
    changes = tuple((period.written, period.spelt) for period in periods)
    return Corrected(text, (*corrected.changes, *changes))

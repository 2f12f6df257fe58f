"""What a chat model says of passages: a grade from 0 to 10 for each and for all together, and what
else to search, as the VoiceHelper document evaluates a retrieval."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragstone.language.json_answer import json_values

BEST = 10.0
LONGEST_QUERY = 500

_NUMBER = re.compile(r"\s*(\d{1,2}(?:\.\d+)?)\s*(?:/\s*10)?\s*")


@dataclass(frozen=True, slots=True)
class Appraisal:
    """The grade of each passage in order (None where the reply has none), of all together, and the
    query to search next, empty for none."""

    grades: tuple[float | None, ...]
    overall: float
    query: str = ""


def appraisal(said: str, count: int) -> Appraisal | None:
    """What a reply says of `count` passages; None if it grades none of them.

    Of several JSON values the one with most grades counts, and of those the last.
    """
    best: Appraisal | None = None
    known = (0, False)
    for value in json_values(said):
        found, named = _read(value, count)
        has = (sum(one is not None for one in found.grades), named)
        if has[0] and has >= known:
            best, known = found, has
    return best


def _read(value: Any, count: int) -> tuple[Appraisal, bool]:
    """The appraisal, and whether it has an overall grade of its own."""
    said = value if isinstance(value, dict) else {"grades": value}
    grades = _grades(said.get("grades", said), count)
    overall = _grade(said.get("overall"))
    query = said.get("query")
    line = " ".join(query.split())[:LONGEST_QUERY] if isinstance(query, str) else ""
    best = max((one for one in grades if one is not None), default=0.0)
    return Appraisal(grades, best if overall is None else overall, line), overall is not None


def _grades(value: Any, count: int) -> tuple[float | None, ...]:
    if isinstance(value, Mapping):
        return tuple(_grade(value.get(str(n))) for n in range(1, count + 1))
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == count:
        return tuple(_grade(one) for one in value)
    return (None,) * count


def _grade(value: Any) -> float | None:
    """A number from 0 to 10, also where it stands in an object or as `8/10`."""
    if isinstance(value, Mapping):
        value = value.get("grade", value.get("score"))
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value)
        value = float(match[1]) if match else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= BEST else None

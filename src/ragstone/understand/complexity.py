"""How much a question asks for, from 1 (a plain fact) to 10: by its words, in microseconds.

The scale is that of language models asked for one; the patterns are `data/complexity.json`.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from ragstone.core.intent import Analysis

LOW, HIGH = 1, 10
LONG_WORDS = (12, 22, 34)
"""Words beyond each of which a question counts as one harder."""

CJK_LETTERS_A_WORD = 2
MOST_CLAUSES = 3
MANY_NAMES = 3
QUESTION_MARKS = re.compile(r"[?？]+(?=\s|$|[^\s?？])")
_NAME = re.compile(r"(?<!^)(?<![.!?]\s)\b[A-ZÀ-Þ][\w-]+(?:\s+[A-ZÀ-Þ][\w-]+)*")
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SPACED = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d[\d.,]*")

WORTH: Mapping[str, int] = {
    "comparison": 3,
    "reasoning": 2,
    "calculation": 1,
    "temporal": 1,
    "several_sources": 1,
}


def analyse(question: str) -> Analysis:
    """The analysis of a question in any of the languages of the patterns."""
    folded = question.casefold()
    found = {kind: bool(_pattern(kind).search(folded)) for kind in WORTH}
    found["temporal"] |= len(set(_YEAR.findall(question))) > 1
    names = {name.casefold() for name in _NAME.findall(question)}
    clauses = len(_pattern("clause").findall(folded))
    score = (
        LOW
        + _length(question)
        + sum(WORTH[kind] for kind, there in found.items() if there)
        + min(MOST_CLAUSES, max(0, clauses - 1))
        + 2 * (len(QUESTION_MARKS.findall(question)) > 1)
        + (len(names) >= MANY_NAMES)
    )
    return Analysis(
        complexity=max(LOW, min(HIGH, score)),
        comparison=found["comparison"],
        reasoning=found["reasoning"],
        sources=found["several_sources"] or found["comparison"],
        temporal=found["temporal"],
        calculation=found["calculation"],
        whole_document=bool(_pattern("whole_document").search(folded)),
    )


def _length(question: str) -> int:
    letters = len(_CJK.findall(question))
    words = len(_SPACED.findall(_CJK.sub(" ", question))) + letters // CJK_LETTERS_A_WORD
    return sum(words > most for most in LONG_WORDS)


@cache
def _pattern(kind: str) -> re.Pattern[str]:
    """Whole words in languages that part them with spaces, any place in those that do not."""
    path = files("ragstone.language").joinpath("data/complexity.json")
    phrases = json.loads(path.read_text(encoding="utf-8"))[kind]
    spaced = [p for language, some in phrases.items() for p in some if not _CJK.search(p)]
    joined = [p for language, some in phrases.items() for p in some if _CJK.search(p)]
    either = rf"\b(?:{_any(spaced)})\b|{_any(joined)}"
    return re.compile(either)


def _any(phrases: list[str]) -> str:
    return "|".join(re.escape(one) for one in sorted(set(phrases), key=len, reverse=True))

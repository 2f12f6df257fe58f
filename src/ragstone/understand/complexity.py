"""How much a question asks for, from 1 (a plain fact) to 10: by its words, in microseconds.

The scale is that of language models asked for one; the patterns are `data/complexity.json`.
"""

import json
import logging
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from ragstone.core.answer import Usage
from ragstone.core.errors import RagstoneError
from ragstone.core.intent import Analysis
from ragstone.core.turn import Turn
from ragstone.engine.stage import prompt
from ragstone.language.json_answer import json_answer
from ragstone.ports import Adapters

log = logging.getLogger(__name__)

MAX_TOKENS = 200


async def analyse_question(
    turn: Turn, adapters: Adapters, asks_model: bool, question: str
) -> tuple[Analysis, Usage]:
    """The model's analysis; that of the patterns where there is no model or it makes no sense."""
    known, model = analyse(question), adapters.completer
    if model is None or not asks_model:
        return known, Usage()
    rules = await prompt(turn, adapters, "complexity")
    try:
        said = await model.complete(rules, f"Question: {question}", MAX_TOKENS)
    except RagstoneError as error:
        log.warning("The question's complexity is judged by patterns: %s", error)
        return known, Usage()
    return _parse_analysis(json_answer(said.text), known), said.usage


def _parse_analysis(answer: object, known: Analysis) -> Analysis:
    if not isinstance(answer, dict):
        return known
    complexity = answer.get("complexity")
    if isinstance(complexity, bool) or not isinstance(complexity, int | float):
        return known
    if not LOW <= complexity <= HIGH:
        return known
    return Analysis(
        round(complexity),
        answer.get("comparison") is True,
        answer.get("reasoning") is True,
        answer.get("sources") is True,
        answer.get("temporal") is True,
        answer.get("calculation") is True,
        answer.get("whole_document") is True,
        known.several,
        by="model",
    )


LOW, HIGH = 1, 10
LONG_WORDS = (12, 22, 34)
"""Words beyond each of which a question counts as one harder."""

CJK_LETTERS_A_WORD = 2
MAX_CLAUSES = 3
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
    """Return the analysis of a question in any of the languages of the patterns."""
    folded = question.casefold()
    found = {kind: bool(_pattern(kind).search(folded)) for kind in WORTH}
    found["temporal"] |= len(set(_YEAR.findall(question))) > 1
    names = {name.casefold() for name in _NAME.findall(question)}
    several = len(QUESTION_MARKS.findall(question)) > 1
    clauses = len(_pattern("clause").findall(folded))
    score = (
        LOW
        + _length(question)
        + sum(WORTH[kind] for kind, there in found.items() if there)
        + min(MAX_CLAUSES, max(0, clauses - 1))
        + 2 * several
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
        several=several,
    )


def _length(question: str) -> int:
    letters = len(_CJK.findall(question))
    words = len(_SPACED.findall(_CJK.sub(" ", question))) + letters // CJK_LETTERS_A_WORD
    return sum(words > most for most in LONG_WORDS)


@cache
def _pattern(kind: str) -> re.Pattern[str]:
    """Match whole words in languages that part them with spaces, any place in those that do not."""
    path = files("ragstone.understand").joinpath("data/complexity.json")
    phrases = json.loads(path.read_text(encoding="utf-8"))[kind]
    spaced = [p for language, some in phrases.items() for p in some if not _CJK.search(p)]
    joined = [p for language, some in phrases.items() for p in some if _CJK.search(p)]
    either = rf"\b(?:{_alternation(spaced)})\b|{_alternation(joined)}"
    return re.compile(either)


def _alternation(phrases: list[str]) -> str:
    return "|".join(re.escape(phrase) for phrase in sorted(set(phrases), key=len, reverse=True))

"""Compound questions taken apart by rules: several questions in one, and comparisons."""

import re

from ragstone.language.language import detect
from ragstone.language.mentions import function_words
from ragstone.language.words import STOPWORDS, words
from ragstone.understand.comparison import comparison
from ragstone.understand.follow_up import ASKS, is_dependent

MOST = 4
LONGEST = 500
"""Characters of a question that is taken apart."""

_SENTENCE = re.compile(r"[^?？!！。\n]{1,400}[?？]")
_CLAUSES = re.compile(
    rf"(?:,\s?|\s)(?:and|und|et|y|e|or|as well as)(?: also)?\s(?={ASKS.pattern}\s)"
    rf"|,\s(?={ASKS.pattern}\s)",
    re.IGNORECASE,
)


def subquestions(question: str) -> list[str]:
    """2 to `MOST` questions that `question` is made of; none if it is one question."""
    question = question.strip()
    if len(question) > LONGEST:
        return []
    for parts in (_sentences(question), _clauses(question), _comparison_parts(question)):
        parts = list(dict.fromkeys(part for part in parts if part))
        if len(parts) > 1:
            return parts[:MOST]
    return []


def keywords(question: str) -> str:
    """The words of the question that carry meaning, as they are written, in order."""
    kept = [
        token
        for token in re.findall(r"[^\W_][\w'’\-+#./]*", question)
        if token.casefold() not in function_words()
        and any(word not in STOPWORDS for word in words(token))
    ]
    return " ".join(dict.fromkeys(kept))


def _sentences(question: str) -> list[str]:
    found = [match.group().strip() for match in _SENTENCE.finditer(question)]
    return _complete([item for item in found if len(words(item)) > 1])


def _clauses(question: str) -> list[str]:
    if not ASKS.match(question):
        return []
    parts = [part.strip(" ,?.!") for part in _CLAUSES.split(question)]
    if any(len(part.split()) < 3 for part in parts):
        return []
    return _complete([f"{part}?" for part in parts])


def _complete(parts: list[str]) -> list[str]:
    """The parts; one that points back comes with the first, which it may lean on."""
    language = detect(" ".join(parts)) or "en"
    return [
        f"{parts[0]} {part}" if place and is_dependent(part, language) else part
        for place, part in enumerate(parts)
    ]


def _comparison_parts(question: str) -> list[str]:
    found = comparison(question)
    if found is None:
        return []
    rest = found.after or f" {keywords(found.aspect)}"
    return [f"{item}{rest}".strip() for item in (found.first, found.second)]

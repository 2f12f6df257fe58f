"""Which words of a question may be spelt wrong at all: no identifiers, quotations or code."""

import re
from dataclasses import dataclass

from ragstone.language.dictionary import MAX_LETTERS, Dictionary
from ragstone.language.language import detect

_KEPT = re.compile(
    r"`[^`]*`|\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|‘[^’]*’|(?<!\w)'[^']*'(?!\w)"
    r"|<[^<>]*>|\{[^{}]*\}|\$[^$]*\$"
)
"""Quoted text, code, mark-up and formulas."""

_WORD = re.compile(
    r"(?<![\w'’`.@#$%&/\\:=+*~^_-])[A-Za-z]+(?:['’]s)?"
    r"(?![\w'’`@#$&/\\=+*~^_(-]|[.:]\w)"
)
"""A word that stands alone: no part of a name with digits, hyphens, dots or slashes."""

_SMALL = (
    "what which who whom whose how why where when the of does did do is are were was has have can "
    "with for from that this and"
)
_ENGLISH = frozenset(_SMALL.split())
_SHARE, _ENGLISH_SHARE = 0.5, 1 / 3
"""The share of known words from which a question may be English; the smaller one where the detector
takes it for English too."""

LEAST = 3
"""Letters of the shortest word that is looked at."""

MOST = 12
"""A question with more unknown words is not misspelt English."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A word of a question that no dictionary holds: its place, in small letters, and whether it
    is written like a name."""

    start: int
    end: int
    word: str
    name: bool = False
    first: bool = False


def unknown_words(question: str, dictionary: Dictionary) -> list[Unknown]:
    """The words that no dictionary holds, in order; none if the question is not in English or has
    too many of them."""
    text = _KEPT.sub(lambda kept: " " * len(kept.group()), question)
    shouted = text.isupper()
    found: list[Unknown] = []
    others = 0
    for match in _WORD.finditer(text):
        written = match.group().removesuffix("'s").removesuffix("’s")
        word = written.lower()
        if len(word) < 2 or dictionary.log_frequency(word):
            others += 1
        elif LEAST <= len(word) <= MAX_LETTERS and (shouted or written[1:].islower()):
            first = not text[: match.start()].strip()
            name = written[0].isupper() and not shouted and not first
            end = match.start() + len(written)
            found.append(Unknown(match.start(), end, word, name, first and written[0].isupper()))
    return found if 0 < len(found) <= MOST and _english(text, others, len(found)) else []


def _english(text: str, known: int, unknown: int) -> bool:
    """Short and misspelt texts mislead the detector, so frequent small words may outvote it."""
    share = known / (known + unknown)
    if share < _ENGLISH_SHARE:
        return False
    language = detect(text)
    if share < _SHARE and language != "en":
        return False
    if language in ("en", ""):
        return True
    small = sum(word in _ENGLISH for word in re.findall(r"[a-z]+", text.lower()))
    return small >= 2

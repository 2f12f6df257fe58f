"""Which words of a question may be spelt wrong, and which are made of known words."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

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

MIN_WORD_LETTERS = 3
"""Letters of the shortest word that is looked at."""

MAX_UNKNOWN_WORDS = 12
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
    """Return the words that no dictionary holds, in order; none if the question is not in English
    or has too many of them."""
    text = _KEPT.sub(lambda kept: " " * len(kept.group()), question)
    shouted = text.isupper()
    found: list[Unknown] = []
    others = 0
    for match in _WORD.finditer(text):
        written = match.group().removesuffix("'s").removesuffix("’s")
        word = written.lower()
        if len(word) < 2 or dictionary.log_frequency(word):
            others += 1
        elif MIN_WORD_LETTERS <= len(word) <= MAX_LETTERS and (shouted or written[1:].islower()):
            first = not text[: match.start()].strip()
            name = written[0].isupper() and not shouted and not first
            end = match.start() + len(written)
            found.append(Unknown(match.start(), end, word, name, first and written[0].isupper()))
    return (
        found if 0 < len(found) <= MAX_UNKNOWN_WORDS and _english(text, others, len(found)) else []
    )


def _english(text: str, known: int, unknown: int) -> bool:
    """Tell whether it is English. Short and misspelt texts mislead the detector, so frequent words
    count."""
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


Known = Callable[[str], bool]
Form = Literal["", "prefixed", "compound"]

_LISTED = (
    "un re non anti pre post over under sub super inter intra trans micro macro neuro hyper hypo "
    "multi poly mono auto bio cyto immuno counter cardio photo thermo electro hydro geo psycho "
    "socio extra ultra semi mega meta para peri endo exo epi onco osteo hepato nephro myo lipo "
    "glyco phospho pro tri tetra di bi co de dis mis out"
)
_PREFIXES = tuple(_LISTED.split())
_ENDINGS = ("s", "es", "d", "ed", "ing", "al", "ic", "ly")
_VERBAL = ("e", "es", "ed", "ing", "ion", "ions", "or", "ors")
"""What a verb may end in, itself and as a noun: none of these is a usual slip for another."""

_STEM = 5
_MIN_PART_LETTERS = 4
"""Letters that a part must have: shorter ones are found in most misspelt words."""


def form(word: str, known: Known) -> Form:
    """`microerythrocyte` is a prefix and a known word, `lacemaker` two known words."""
    for prefix in _PREFIXES:
        rest = word.removeprefix(prefix)
        if rest != word and len(rest) >= _MIN_PART_LETTERS and known(rest):
            return "prefixed"
    for cut in range(_MIN_PART_LETTERS, len(word) - _MIN_PART_LETTERS + 1):
        if known(word[:cut]) and known(word[cut:]):
            return "compound"
    return ""


def inflections(word: str) -> frozenset[str]:
    """Return the words that differ from `word` by an ending only: `cytokine` and `cytokines`."""
    longer = {word + ending for ending in _ENDINGS}
    return frozenset(longer | {word[: -len(end)] for end in _ENDINGS if word.endswith(end)})


def differ_by_inflection(one: str, other: str) -> bool:
    """Tell whether the two differ by an ending only, `dilating` and `dilation` too."""
    return other in inflections(one) or bool(_stems(one) & _stems(other))


def _stems(word: str) -> set[str]:
    stems = {word[: -len(ending)] for ending in _VERBAL if word.endswith(ending)}
    return {stem for stem in stems if len(stem) >= _STEM}

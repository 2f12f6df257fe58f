"""What a sentence consists of when it is compared with another: words, names, numbers, negations.

Words are stems; Chinese, Japanese, Korean and Thai give pairs of characters. Numbers are
`quantities`. A word's weight says how much it tells: names and rare words more than usual ones.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from ragstone.language.dictionary import english
from ragstone.language.english import common
from ragstone.language.polarity import negations
from ragstone.language.quantities import Quantity, quantities
from ragstone.language.words import STOPWORDS, in_pairs, stem, words

_WORD = re.compile(r"[^\W_](?:[^\W_]|[\u0300-\u036f])*+")
_OPENING = re.compile(r"^[\W_]*$")
_PAIR_WEIGHT = 0.5
LIGHT, HEAVY = 0.3, 1.5
"""The weights of the most usual English word and of one that no dictionary holds."""

MOST_WORDS = 400
"""Words of one sentence that are looked at."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word: its stem, its spelling (casefolded), its weight, whether it is a name, and its
    start in the text."""

    stem: str
    word: str
    weight: float
    name: bool
    start: int


@dataclass(frozen=True, slots=True)
class Terms:
    """A sentence as it is compared."""

    words: tuple[Term, ...]
    quantities: tuple[Quantity, ...]
    negations: int


def terms(text: str) -> Terms:
    """The terms of a sentence."""
    found: list[Term] = []
    for match in _WORD.finditer(text):
        if len(found) >= MOST_WORDS:
            break
        found += _terms(text, match)
    return Terms(tuple(found), tuple(quantities(text)), negations(text))


def _terms(text: str, match: re.Match[str]) -> list[Term]:
    spelt = match.group()
    if spelt[0].isdigit():
        return []
    word, plain = _word(spelt)
    if not plain.stem:
        return []
    if in_pairs(word):
        return [
            Term(part, part, _PAIR_WEIGHT, False, match.start())
            for part in words(word)
            if part not in STOPWORDS and not part[0].isdigit()
        ]
    name = spelt[0].isupper() and (not plain.common or not _opens(text, match.start()))
    return [Term(plain.stem, word, plain.weight, name, match.start())]


@dataclass(frozen=True, slots=True)
class _WordEntry:
    """The stem, weight and rarity of a word; `stem` is empty for one that does not count."""

    stem: str
    weight: float = 0.0
    common: bool = False


@lru_cache(20_000)
def _word(spelt: str) -> tuple[str, _WordEntry]:
    """The casefolded word, and its entry."""
    word = unicodedata.normalize("NFC", spelt.casefold())
    if in_pairs(word):
        return word, _WordEntry(word)
    if word in STOPWORDS or len(word) == 1:
        return word, _WordEntry("")
    return word, _WordEntry(stem(word), weight(word), common(word))


def _opens(text: str, start: int) -> bool:
    """Whether the word at `start` is the first one."""
    return start < 20 and _OPENING.match(text[:start]) is not None


def weight(word: str) -> float:
    """How much a casefolded word tells, by how seldom English books hold it; a word of another
    language weighs as much as the rarest one."""
    return min(HEAVY, max(LIGHT, (10 - english().log_frequency(word)) / 4))

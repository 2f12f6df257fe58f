"""The words by which a sentence is compared with others: stems, and how much each tells.

Chinese, Japanese, Korean and Thai give pairs of characters. Names and rare words weigh more than
usual ones.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from ragstone.language.dictionary import english
from ragstone.language.words import STOPWORDS, is_paired, stem, words

_WORD = re.compile(r"[^\W_](?:[^\W_]|[\u0300-\u036f])*+")
PAIR_WEIGHT, NUMBER_WEIGHT = 0.5, 1.2
MIN_WEIGHT, MAX_WEIGHT = 0.3, 1.5
"""The weights of the most usual English word and of one that no dictionary holds."""

MAX_WORDS = 400
"""Words of one sentence that are looked at."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word: its stem, its spelling (casefolded), and its weight."""

    stem: str
    word: str
    weight: float


def terms(text: str) -> list[Term]:
    """Return the words of `text` that tell something, in their order."""
    found: list[Term] = []
    for match in _WORD.finditer(text):
        if len(found) >= MAX_WORDS:
            break
        found += _find_terms(match.group())
    return found


@lru_cache(20_000)
def _find_terms(spelt: str) -> tuple[Term, ...]:
    word = unicodedata.normalize("NFC", spelt.casefold())
    if word[0].isdigit():
        return (Term(word, word, NUMBER_WEIGHT),)
    if is_paired(word):
        parts = (part for part in words(word) if part not in STOPWORDS)
        return tuple(Term(part, part, PAIR_WEIGHT) for part in parts)
    if word in STOPWORDS or len(word) == 1:
        return ()
    return (Term(stem(word), word, word_weight(word)),)


def common_share(one: str, other: str) -> float:
    """Return the share (Dice, 0..1) of words, numbers left out, that two texts have in common."""
    mine, theirs = (
        {term.stem for term in terms(text) if not term.word[0].isdigit()} for text in (one, other)
    )
    return 2 * len(mine & theirs) / max(1, len(mine) + len(theirs))


def word_weight(word: str) -> float:
    """How much a casefolded word tells, by how seldom English books hold it; a word of another
    language weighs as much as the rarest one."""
    return min(MAX_WEIGHT, max(MIN_WEIGHT, (10 - english().log_frequency(word)) / 4))

"""Whether the passages were enough for an answer: what of the question they speak of."""

import re
from collections.abc import Sequence
from functools import cache

from ragstone.language.word_lists import word_lists
from ragstone.language.words import STOPWORDS, content_word_set, in_pairs, similar_words, words
from ragstone.verify.terms import weight

ENOUGH = 0.6
"""Share of what the question asks about from which passages can be sufficient."""

TELLING = 0.6
"""The weight of a word from which it is an aspect by itself: "work" and "people" say little."""

PAIR = 0.7
"""The weight of a pair of characters."""

MOST_ASPECTS = 5
_SIGNS = ".,;:!?()\"'“”„«»¿¡？。，"


def coverage(question: str, texts: Sequence[str]) -> tuple[float, tuple[str, ...]]:
    """The share (0..1) of what the question asks about that the texts speak of, by how much its
    words tell; and what they do not speak of, as it is asked, neighbours together. 1 for a
    question that is about nothing.

    A word in another form or in a compound counts as there. What kind of answer is wanted ("how
    long") is nothing that a text has to say.
    """
    held = frozenset[str]().union(*map(content_word_set, texts))
    whole = "\n".join(texts).casefold()
    wanted = missing = 0.0
    aspects: list[list[str]] = [[]]
    telling = [False]
    for piece in _about(question).split():
        spelt = piece.strip(_SIGNS)
        meant = [word for word in words(piece) if word not in STOPWORDS]
        # The letter of "Netflix's" and "l'eau" is not a word, that of "vitamin C" is one.
        meant = [word for word in meant if len(word) > 1 or len(spelt) == 1 or in_pairs(word)]
        absent = {word for word in meant if word not in held}
        absent -= similar_words(absent, whole)
        tells = {word: _weight(word, spelt) for word in meant}
        wanted += sum(tells[word] for word in meant)
        missing += sum(tells[word] for word in meant if word in absent)
        if meant and len(absent) == len(set(meant)):
            aspects[-1].append(spelt)
            telling[-1] |= any(tells[word] >= TELLING for word in absent)
        elif aspects[-1]:
            aspects.append([])
            telling.append(False)
    told = (" ".join(aspect) for aspect, tells in zip(aspects, telling, strict=True) if tells)
    found = tuple(dict.fromkeys(told))
    return (1 - missing / wanted if wanted else 1.0), found[:MOST_ASPECTS]


def _about(question: str) -> str:
    """The question without what says only which kind of answer is wanted."""
    phrases, signs = _question_patterns()
    return signs.sub(" ", phrases.sub(" ", question.replace("’", "'")))


@cache
def _question_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    lists = word_lists("verify", "asking")
    phrases, signs = (sorted(map(re.escape, lists[n]), key=len, reverse=True) for n in _LISTS)
    return (
        re.compile(rf"(?<!\w)(?:{'|'.join(phrases)})(?!\w)", re.IGNORECASE),
        re.compile("|".join(signs)),
    )


_LISTS = ("phrase", "sign")


def _weight(word: str, spelt: str) -> float:
    """How much a word tells, which is a stem, by itself or as it is spelt; of a script without
    spaces it is a pair of characters."""
    return PAIR if in_pairs(word) else min(weight(word), weight(spelt.casefold()))

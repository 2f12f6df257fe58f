"""Negations and opposites: what turns a sentence into its contrary."""

import re
from collections.abc import Collection
from functools import cache
from itertools import pairwise

from ragstone.language.word_lists import word_lists

_WORD = re.compile(r"[^\W\d_]+(?:['’]t\b)?")
_CHINESE = re.compile(r"不|没有|沒有|未(?!来|來)|并非|並非|无法|無法|从未|從未|绝非")
_JAPANESE = re.compile(r"ない|ません|なかった|ずに")
_KOREAN = re.compile(r"않|없|아니|못하|못했")
_CONTRACTED = re.compile(r"n['’]t\b", re.IGNORECASE)


def negations(text: str) -> int:
    """How many negations a sentence has."""
    known = _negations()
    signs = sum(len(one.findall(text)) for one in (_CHINESE, _JAPANESE, _KOREAN, _CONTRACTED))
    return signs + sum(word in known for word in _words(text))


def negation_moved(claim: str, source: str) -> bool:
    """Whether each text has a word right after a negation that the other has without one: "you may
    not copy it, but sell it" and "you may copy it, but not sell it"."""
    (denied, said), (denied_there, said_there) = (
        _denied_and_other_words(claim),
        _denied_and_other_words(source),
    )
    return bool(denied & said_there - denied_there) and bool(denied_there & said - denied)


def _denied_and_other_words(text: str) -> tuple[set[str], set[str]]:
    """The words right after negations, and all the others, casefolded."""
    words = _words(text)
    after = {b for a, b in pairwise(words) if a in _negations() or _CONTRACTED.search(a)}
    return after, set(words) - after


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def opposed(claim: Collection[str], source: Collection[str]) -> bool:
    """Whether the claim has a word (casefolded) whose opposite the source has in its place."""
    pairs = _opposites()
    return any(
        word not in source and any(other in source and other not in claim for other in pairs[word])
        for word in claim
        if word in pairs
    )


@cache
def _negations() -> frozenset[str]:
    return frozenset(word_lists("language", "polarity")["not"])


@cache
def _opposites() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for pair in word_lists("language", "polarity")["opposites"]:
        one, other = (side.split("/") for side in pair.split("|"))
        for a, b in ((one, other), (other, one)):
            for word in a:
                found.setdefault(word, set()).update(b)
    return {word: frozenset(others) for word, others in found.items()}

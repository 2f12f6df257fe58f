"""Negations: what turns a sentence into its contrary."""

import re
from functools import cache

from ragstone.language.word_lists import word_lists

_WORD = re.compile(r"[^\W\d_]+(?:['’]t\b)?")
_CHINESE = re.compile(r"不|没有|沒有|未(?!来|來)|并非|並非|无法|無法|从未|從未|绝非")
_JAPANESE = re.compile(r"ない|ません|なかった|ずに")
_KOREAN = re.compile(r"않|없|아니|못하|못했")
_CONTRACTED = re.compile(r"n['’]t\b", re.IGNORECASE)


def negations(text: str) -> int:
    """How many negations a sentence has."""
    known = _negations()
    signs = sum(len(item.findall(text)) for item in (_CHINESE, _JAPANESE, _KOREAN, _CONTRACTED))
    return signs + sum(word in known for word in _words(text))


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


@cache
def _negations() -> frozenset[str]:
    return frozenset(word_lists("language", "polarity")["not"])

"""Which names are so alike that they are one entity: spellings and endings, not other names."""

import re
from collections.abc import Iterable, Iterator

from ragstone.language.similar_names import similarity

ALIKE = 0.93
"""Share of characters in common."""

MIN_CHARS = 9
"""Characters of names that are compared: in shorter ones a letter makes another name."""

MAX_IN_BLOCK = 60
"""Names with the same beginnings of their words that are compared with each other."""

_DIGITS = re.compile(r"\d+")


def alike(one: str, other: str) -> bool:
    """Tell whether two keys are spellings of one name: as many words, which begin alike and have
    the same numbers, and nearly the same letters. Names of two words that differ in more than one
    of them are two names."""
    here, there = one.split(), other.split()
    if min(len(one), len(other)) < MIN_CHARS or len(here) != len(there):
        return False
    if _DIGITS.findall(one) != _DIGITS.findall(other) or one.isupper() or other.isupper():
        return False
    if any(a[:2] != b[:2] for a, b in zip(here, there, strict=True)):
        return False
    if sum(a != b for a, b in zip(here, there, strict=True)) != 1:
        return False
    return similarity(one, other) >= ALIKE


def alike_pairs(keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of keys that are spellings of one name, each once, in order."""
    blocks: dict[tuple[str, ...], list[str]] = {}
    for key in sorted(set(keys)):
        if len(key) >= MIN_CHARS:
            blocks.setdefault(tuple(word[:2] for word in key.split()), []).append(key)
    for block in blocks.values():
        if len(block) > MAX_IN_BLOCK:
            continue
        for number, item in enumerate(block):
            yield from ((item, other) for other in block[number + 1 :] if alike(item, other))

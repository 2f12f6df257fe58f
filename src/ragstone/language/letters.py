"""Words of the letters a to z as rows of a matrix, for work on many words at once."""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"(?<![a-z0-9])[a-z]{3,24}(?![a-z0-9])")


def plain_words(text: str) -> set[str]:
    """Every word of three to 24 letters, in small letters and without accents."""
    return set(_WORD.findall(plain(text)))


def plain(text: str) -> str:
    """`text` in small letters and without accents: `Möngke` is `mongke`."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.lower())
    return "".join(char for char in parts if not unicodedata.combining(char))


WIDTH = 24
"""The longest word; longer ones are cut."""

Rows = NDArray[np.uint8]
"""(n, WIDTH): each row the bytes of one word, filled up with zeros."""


def rows(words: Sequence[str]) -> Rows:
    """The matrix of `words`; characters other than a to z may collide."""
    flat = np.array([word.encode("ascii", "replace")[:WIDTH] for word in words], dtype=f"S{WIDTH}")
    return flat.view(np.uint8).reshape(len(words), WIDTH)


def lengths(matrix: Rows) -> NDArray[np.int64]:
    """How many letters each row has."""
    found: NDArray[np.int64] = np.count_nonzero(matrix, axis=1)
    return found

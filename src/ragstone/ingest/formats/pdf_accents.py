"""Accented letters of a PDF page that are drawn as two characters: a letter and an accent over it.

TeX sets them so with its first fonts. PDFium tells both one after the other: "r´egl´e" for "réglé".
"""

import unicodedata
from collections.abc import Sequence

from ragstone.ingest.formats.pdf_codes import SPACES
from ragstone.ingest.formats.pdf_direction import Character

_MARKS = {
    ord(accent): mark
    for accent, mark in zip(
        "`´^ˆ~˜¨¯˘˙˚˝ˇ¸˛",
        "\u0300\u0301\u0302\u0302\u0303\u0303\u0308\u0304\u0306\u0307\u030a\u030b\u030c\u0327\u0328",
        strict=True,
    )
}
"""An accent by itself, and the mark that is joined with a letter."""

_DOTLESS = str.maketrans("ıȷ", "ij")

_WORD_GAP = 0.15
"""A gap of more heights of a letter than this may be between words."""


def join_accents(characters: Sequence[Character]) -> list[Character]:
    """Put each accent and the letter that it is drawn over or under together."""
    if not any(code in _MARKS for _, code, *_ in characters):
        return list(characters)
    joined: list[Character] = []
    place = 0
    while place < len(characters):
        item = characters[place]
        place += 1
        mark = _MARKS.get(item[1])
        rest = characters[place : place + 2] if mark else ()
        if mark and rest and (letter := _join(rest[0], mark, item)):
            joined.append(letter)
            place += 1
        elif mark and joined and (letter := _join(joined[-1], mark, item)):
            joined[-1] = letter
            # PDFium may take the way back from the accent for a space.
            place += len(rest) > 1 and rest[0][1] in SPACES and _is_near(letter, rest[1])
        else:
            joined.append(item)
    return joined


def _join(letter: Character, mark: str, accent: Character) -> Character | None:
    """Return the letter with its accent; None where it has none such, or stands beside it."""
    index, code, edges, baseline = letter
    sign = unicodedata.normalize("NFC", chr(code).translate(_DOTLESS) + mark)
    if len(sign) > 1 or edges is None or accent[2] is None:
        return None
    center = (accent[2][0] + accent[2][2]) / 2
    is_over = edges[0] <= center <= edges[2] and accent[2][1] < edges[3] and edges[1] < accent[2][3]
    return (index, ord(sign), edges, baseline) if is_over else None


def _is_near(letter: Character, following: Character) -> bool:
    """Tell whether a character follows a letter without the gap that parts words."""
    edges, after = letter[2], following[2]
    if edges is None or after is None:
        return False
    return edges[0] < after[0] < edges[2] + _WORD_GAP * (edges[3] - edges[1])

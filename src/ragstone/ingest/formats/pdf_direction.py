"""Lines of a PDF page in scripts that are read leftwards, by where their characters stand.

PDFium guesses the direction of each piece of text, and reverses words that a program wrote in the
order of their places. So a line is put in order from right to left, and what is read rightwards in
it, as figures are, is turned back: rule L2 of Unicode's annex 9 for a line of one direction.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragstone.ingest.formats.pdf_codes import SPACES
from ragstone.ingest.formats.pdf_lines import Edges

Character = tuple[int, int, Edges | None, float]
"""Index, code point, edges and baseline; spaces and ends of lines have no edges."""

_SPACE = " "
_MIN_GAP, _MIN_SURE_GAP = 0.15, 0.22
"""A gap of more heights of the line is a space, if PDFium has both characters at the ends of
words, and if not. Between letters that do not join are gaps of up to 0.16, also within words."""

_LEVEL = 0.3
"""A character whose baseline is off that of the line by more heights of it is of another one."""

_LEFTWARD = ("R", "AL")
_RIGHTWARD = re.compile(
    r"(?=[NSOW]{0,200}L)[NL](?:[NLSOW]*[NL])?|(?<!N)(?:NNNW)+N{1,3}(?!N)|N(?:S?N)*"
)
"""By kinds of characters: words of letters (L) that are read rightwards, with figures (N), spaces
(W) and signs (O) among them; a figure whose thousands are parted by spaces, seen from the right;
and one with its separators (S)."""

_MIRRORED = str.maketrans("()[]{}«»‹›<>", ")(][}{»«›‹><")
_LAM, _ALEFS = 0x644, (0x622, 0x623, 0x625, 0x627)


@dataclass(slots=True)
class _Glyph:
    """A letter and its marks, or the letters of a ligature."""

    edges: Edges
    characters: list[Character]
    ends_word: bool
    """Whether PDFium has no letter or figure before it, or none behind it."""


def order_leftward_lines(characters: Sequence[Character]) -> tuple[list[Character], set[int]]:
    """Put each line that is mostly of leftward letters in order from right to left.

    Returns:
        All characters, and the indices of those in such lines.
    """
    ordered: list[Character] = []
    leftward: set[int] = set()
    turns = False
    if not any(unicodedata.bidirectional(chr(code)) in _LEFTWARD for _, code, *_ in characters):
        return list(characters), leftward
    for line in _split_lines(characters):
        letters = [chr(code) for _, code, edges, _ in line if edges and chr(code).isalpha()]
        # A line of figures alone goes on as the one before it.
        turns = _are_leftward(letters) if letters else turns
        turned = _order_line(line) if turns else []
        leftward.update(place for place, *_ in turned)
        ordered += turned or line
    for place, (first, second) in enumerate(pairwise(ordered)):
        # Lam and alef are one glyph, whose letters PDFium turns with the line that they are in.
        if second[1] == _LAM and first[1] in _ALEFS and first[2] == second[2] is not None:
            ordered[place] = (first[0], second[1], *first[2:])
            ordered[place + 1] = (second[0], first[1], *second[2:])
    return ordered, leftward


def _split_lines(characters: Sequence[Character]) -> Iterator[list[Character]]:
    """Yield what stands at one height, and each space or end of a line before it by itself."""
    line: list[Character] = []
    level = tallest = 0.0
    for item in characters:
        _, code, edges, baseline = item
        height = _height(edges) if edges else 0.0
        tallest = max(tallest, height)
        is_blank = not line or line[0][2] is None
        is_off = edges is not None and abs(baseline - level) > _LEVEL * tallest
        if is_blank or is_off or (edges is None and code not in SPACES):
            if line:
                yield line
            line, level, tallest = [], baseline, height
        line.append(item)
    if line:
        yield line


def _height(edges: Edges) -> float:
    return edges[3] - edges[1]


def _are_leftward(letters: Sequence[str]) -> bool:
    return 2 * sum(unicodedata.bidirectional(each) in _LEFTWARD for each in letters) > len(letters)


def _glyphs(line: Sequence[Character]) -> list[_Glyph]:
    """The glyphs of a line from right to left. A mark goes with the letter that it stands over."""
    glyphs: list[_Glyph] = []
    marks: list[_Glyph] = []
    last = _SPACE
    for item in line:
        sign = chr(item[1])
        if item[2] and unicodedata.combining(sign):
            marks.append(_Glyph(item[2], [item], True))
            continue
        if item[2] and glyphs and item[2] == glyphs[-1].edges:
            glyphs[-1].characters.append(item)
            continue
        kind = _kind(sign) if item[2] else _SPACE
        goes_on = kind == last and sign.isalnum()
        if glyphs and not goes_on:
            glyphs[-1].ends_word = True
        if item[2]:
            glyphs.append(_Glyph(item[2], [item], not goes_on))
        last = kind
    if glyphs:
        glyphs[-1].ends_word = True
    glyphs.sort(key=_center)
    letters = tuple(glyphs)
    for mark in marks:
        center = _center(mark)
        at = max(0, bisect_right(letters, center, key=_center) - 1)
        near = letters[at] if letters else mark
        if near is not mark and near.edges[0] <= center <= near.edges[2]:
            near.characters += mark.characters
        else:
            glyphs.append(mark)
    return sorted(glyphs, key=_center, reverse=True)


def _center(glyph: _Glyph) -> float:
    return (glyph.edges[0] + glyph.edges[2]) / 2


def _order_line(line: Sequence[Character]) -> list[Character]:
    """Return the line from right to left, with spaces where gaps are; empty where it has spaces and
    no gaps: then its characters do not say how wide they are."""
    if not (glyphs := _glyphs(line)):
        return []
    height = max(_height(glyph.edges) for glyph in glyphs)
    reached, ends_word = glyphs[0].edges[0], True
    ordered: list[Character] = []
    for glyph in glyphs:
        least = _MIN_GAP if ends_word and glyph.ends_word else _MIN_SURE_GAP
        if reached - glyph.edges[2] > least * height:
            ordered.append((-1, ord(_SPACE), None, 0.0))
        ordered += glyph.characters
        reached, ends_word = min(reached, glyph.edges[0]), glyph.ends_word
    has_spaces = any(code in SPACES for _, code, _, _ in line)
    if has_spaces and all(edges for _, _, edges, _ in ordered):
        return []
    return ordered


def read_leftward(parts: Sequence[str]) -> list[str]:
    """Return the parts of a text, which stand from right to left, in the order of reading."""
    is_arabic = any(unicodedata.bidirectional(part[0]) == "AL" for part in parts)
    kinds = "".join(_kind(part[0], is_arabic) for part in parts)
    read = list(parts)
    rightward: set[int] = set()
    for match in _RIGHTWARD.finditer(kinds):
        start, end = match.span()
        read[start:end] = read[start:end][::-1]
        rightward.update(range(start, end))
    for place, part in enumerate(parts):
        if place not in rightward and _is_turned(part, parts, place):
            read[place] = part.translate(_MIRRORED)
    return read


def _kind(sign: str, is_arabic: bool = False) -> str:
    """Return the kind of a sign for `_RIGHTWARD`. Beside Arabic letters signs as % and - are not
    read with figures (rules W2 to W5)."""
    direction = unicodedata.bidirectional(sign)
    if direction in ("EN", "AN") or (direction == "ET" and not is_arabic):
        return "N"
    if direction == "CS" or (direction == "ES" and not is_arabic):
        return "S"
    if direction in _LEFTWARD:
        return "R"
    return {"L": "L", "WS": "W"}.get(direction, "O")


def _is_turned(part: str, parts: Sequence[str], place: int) -> bool:
    """Tell whether a bracket is the glyph that was drawn, not the sign that is meant: it opens
    behind a word, or closes before one."""
    mirrored = part.translate(_MIRRORED)
    if mirrored == part:
        return False
    before = parts[place - 1] if place else _SPACE
    behind = parts[place + 1] if place + 1 < len(parts) else _SPACE
    if unicodedata.category(part[0]) in ("Ps", "Pi"):
        return before != _SPACE and (behind == _SPACE or not behind[0].isalnum())
    return behind[0].isalnum() and not before[0].isalnum()

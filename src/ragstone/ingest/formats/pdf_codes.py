"""What the characters of a PDF page mean: letters, signs of symbol fonts, ligatures, or nothing.

A font may show glyphs without saying which characters they are. Its text is then glyph numbers,
shifted letters or private characters, whatever language it is in.
"""

import ctypes
import re
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import median_low
from typing import Any

import pypdfium2.raw

from ragstone.ingest.formats.numbering import PICTURE_SIGNS
from ragstone.ingest.formats.pdf_lines import TEX_LETTERS, Edges

_C: Any = pypdfium2.raw

BREAKS = (10, 13)
_SPACE = 32
SPACES = (9, 32, 160, 0x2002, 0x2003, 0x2009, 0x202F, 0x3000)
CUTS = (2, 0xFFFE)
"""What PDFium puts where a hyphen divides a word at a line's end."""

_BLANKS = frozenset((*BREAKS, *SPACES, *CUTS))

_MAX_UNREADABLE = 0.3
"""Of a page's characters; what is left of a page with more is fragments. Frames and brackets drawn
with the glyphs of mathematical fonts stay below it."""

_SAMPLE = 200
_MIN_EVIDENCE = 40
"""Characters of a font on a page that tell letters from glyph numbers."""

_MAX_STRANGE = 0.1
"""Of a font's codes. TeX's have ligatures and quotation marks where ASCII has controls."""

_TEX_BREAKS = {10: ord("Ω"), 13: ord("ﬂ")}
_MIN_VOWELS = 0.25
"""Of ASCII letters. Languages in Latin letters have 0.33 to 0.5; glyph numbers taken for letters,
each a fixed distance from its own, 0.12 to 0.2."""

_MIN_GLYPHS = 5
"""A font that shows fewer different ones on a page fills areas or draws lines."""

_DINGBATS = frozenset(range(0x2701, 0x27C0))
_MAX_DINGBATS = 10
"""Different ones on a page. Some programs call the glyphs of any font dingbats."""

_VOWELS = frozenset("aeiouy")
_NAME_BYTES = 200
_PICTURE_FONT = re.compile(
    rb"(?:^|\+)(wingdings ?[23]?|webdings|(?:itc)? ?zapf ?dingbats|monotype ?sorts"
    rb"|(?:open|star)symbol)"
)
"""In such a font no glyph is the letter at whose place it stands."""

_MONOSPACED = re.compile(rb"courier|mono")
"""In such a font Word sets the letter "o" as the bullet of lists inside of others."""

_BULLET = ord("•")
_SYMBOL_BULLET = 0xB7
_DOT = ord(".")
_OPENING = re.compile(r"[^\W_]|[\"'“‘«„(\[$€£]")
"""What the text of an item begins with."""

_BLANK = f"[{re.escape(''.join(map(chr, _BLANKS)))}]"
_NOT_BLANK = re.compile(_BLANK.replace("[", "[^", 1))
_ALONE_OR_MARK = re.compile(
    rf"(?<!{_NOT_BLANK.pattern})(?:({_NOT_BLANK.pattern})(?!{_NOT_BLANK.pattern})|[^\w\s])"
)


@dataclass(frozen=True, slots=True)
class PageCodes:
    """The code points of a page's characters, by their places in PDFium's text."""

    codes: list[int]
    """0 for what is left out: the unreadable, and the first half of a surrogate pair."""
    unreadable: int = 0
    """How many characters are text that cannot be read."""


def is_unreadable(raw: Any) -> bool:
    """Tell whether so much of a PDFium text page cannot be read that the rest is fragments."""
    count = _C.FPDFText_CountChars(raw)
    # A look at some characters spares most pages the reading of each.
    sample = range(0, count, max(1, count // _SAMPLE))
    if not any(_is_doubtful(raw, place) for place in sample):
        return False
    read = read_codes(raw)
    readable = sum(code not in _BLANKS for code in read.codes if code)
    return read.unreadable > _MAX_UNREADABLE * (readable + read.unreadable)


def _is_doubtful(raw: Any, place: int) -> bool:
    code = _C.FPDFText_GetUnicode(raw, place)
    has_error = _C.FPDFText_HasUnicodeMapError(raw, place) == 1
    return has_error or code in _DINGBATS or _code_point(code) != code or not code


def read_codes(raw: Any) -> PageCodes:
    """Read what each character of a PDFium text page means."""
    get_unicode, has_error = _C.FPDFText_GetUnicode, _C.FPDFText_HasUnicodeMapError
    places = range(_C.FPDFText_CountChars(raw))
    codes = [get_unicode(raw, place) for place in places]
    unmapped = [place for place in places if has_error(raw, place) == 1]
    for place in [place for place, code in enumerate(codes) if code in BREAKS]:
        # PDFium makes the ends of lines itself: any other is a glyph, of TeX's or a space.
        if _C.FPDFText_IsGenerated(raw, place) != 1:
            mapped = has_error(raw, place) != 1
            codes[place] = _SPACE if mapped else _TEX_BREAKS[codes[place]]
    meanings = dict.fromkeys(_join_surrogates(codes), 0)
    text = "".join(map(chr, (min(code, sys.maxunicode) for code in codes)))
    meanings |= _read_signs(raw, text)
    unreadable = 0
    for of_font in _by_font(raw, unmapped):
        shown = [codes[place] for place in of_font if place not in meanings]
        if not _are_letters(shown):
            unreadable += len(shown) if len(set(shown)) >= _MIN_GLYPHS else 0
            for place in of_font:
                meanings.setdefault(place, 0)
    changed = {code: meaning for code in set(codes) if code != (meaning := _code_point(code))}
    changed[0] = 0
    if len(set(codes) & _DINGBATS) > _MAX_DINGBATS:
        changed |= dict.fromkeys(_DINGBATS, 0)
    for place in [place for place, code in enumerate(codes) if code in changed]:
        if place not in meanings:
            codes[place] = changed[codes[place]]
            unreadable += not codes[place]
    for place, meaning in meanings.items():
        codes[place] = meaning
    return PageCodes(codes, unreadable)


def _by_font(raw: Any, places: Sequence[int]) -> Iterator[list[int]]:
    """Yield the places of each font's characters; those of fonts with few are together, as a font
    may stand for a hundredth of a script. The fonts that TeX draws have no name."""
    fonts = defaultdict(list)
    for place in places:
        fonts[_font_name(raw, place)].append(place)
    small = []
    for name, of_font in fonts.items():
        if name and len(of_font) < _MIN_EVIDENCE:
            small += of_font
        else:
            yield of_font
    yield small


def _font_name(raw: Any, place: int) -> bytes:
    name = ctypes.create_string_buffer(_NAME_BYTES)
    _C.FPDFText_GetFontInfo(raw, place, name, _NAME_BYTES, ctypes.byref(ctypes.c_int()))
    return name.value.lower()


def _are_letters(codes: Sequence[int]) -> bool:
    """Tell whether the codes of a font that maps none to Unicode are letters all the same, as in
    the fonts that TeX draws: they stand where ASCII has them."""
    strange = sum(not (0x20 <= code < 0x7F or 0xC0 <= code <= 0xFF) for code in codes)
    if strange > _MAX_STRANGE * len(codes):
        return False
    letters = [chr(code).lower() for code in codes if code < 0x80 and chr(code).isalpha()]
    figures = sum(0x30 <= code <= 0x39 for code in codes)
    vowels = sum(letter in _VOWELS for letter in letters)
    spelled = len(letters) < _MIN_EVIDENCE or vowels >= _MIN_VOWELS * len(letters)
    words = [code for code in codes if code != _DOT]  # Tables of contents are full of dots.
    return spelled and (len(words) < _MIN_EVIDENCE or 2 * (len(letters) + figures) >= len(words))


@lru_cache(maxsize=1 << 16)
def _code_point(code: int) -> int:
    """Return the code point that a character stands for, 0 where nobody can know."""
    if 0xF721 <= code <= 0xF7FF:
        return code - 0xF700  # Adobe's small capitals and old-style figures.
    if code in _BLANKS or code in TEX_LETTERS or 0x80 <= code < 0xA0:
        return code
    if code == 0xFFFD or code > sys.maxunicode:
        return 0
    return 0 if unicodedata.category(chr(code)) in ("Cc", "Cn", "Co", "Cs") else code


def _read_signs(raw: Any, text: str) -> dict[int, int]:
    """What the glyphs of symbol fonts mean that stand alone or begin a line, by their places."""
    signs = {}
    for match in _ALONE_OR_MARK.finditer(text):
        place = match.start()
        first = ord(text[place - 1 : place] or "\n") in BREAKS
        if not (first or match[1]):
            continue
        name = _font_name(raw, place)
        sign = _sign(ord(text[place]), name, alone=match[1] is not None)
        following = _NOT_BLANK.search(text, place + 1)
        if match[0] == "o" and first and following and _MONOSPACED.search(name):
            sign = None if _font_name(raw, following.start()) == name else _BULLET
        if sign == _BULLET and not (first and following and _OPENING.match(following[0])):
            sign = 0
        if sign is not None:
            signs[place] = sign
    return signs


def _sign(code: int, font_name: bytes, *, alone: bool) -> int | None:
    """Return what a glyph of a symbol font shows, a bullet where only that it is a picture is
    known; None for what is no such glyph."""
    # Private characters beyond those of symbol fonts are rare letters too.
    is_private = 0xF000 <= code <= 0xF0FF or (alone and unicodedata.category(chr(code)) == "Co")
    glyph = code & 0xFF if is_private else code
    if glyph <= 0xFF and (font := _PICTURE_FONT.search(font_name)):
        return ord(PICTURE_SIGNS.get(font[1], {}).get(chr(glyph), "•"))
    is_bullet = is_private or (b"symbol" in font_name and code == _SYMBOL_BULLET)
    return _BULLET if is_bullet and _code_point(code) in (0, code) else None


def _join_surrogates(codes: list[int]) -> list[int]:
    """Put each pair of halves together in the place of the second; the places of the first."""
    firsts = []
    for place, (high, low) in enumerate(pairwise(codes)):
        if 0xD800 <= high < 0xDC00 <= low < 0xE000:
            codes[place + 1] = 0x10000 + ((high - 0xD800) << 10) + low - 0xDC00
            firsts.append(place)
    return firsts


_WIDER = 1.6
"""A ligature is wider than its last letter by this, in fonts of any kind by 1.8 to 2.3."""

_WIDEST = 2.65
"""One of three letters is three times as wide as its last one, or more."""

_LIGATURES = {
    ord("i"): ("fi", "ffi"),
    ord("l"): ("fl", "ffl"),
    ord("f"): ("ff", "ff"),
    ord("h"): ("Th", "Th"),
}

_Character = tuple[int, int, Edges | None, float]
"""Index, code point, edges and baseline; what has no glyph has no edges."""


def find_ligatures(raw: Any, characters: Sequence[_Character]) -> Mapping[int, str]:
    """Return the letters of ligatures that a PDF maps to one letter, by their places in the text.

    Args:
        raw: A text page of PDFium.
        characters: What is seen of it, in the order of the text.
    """
    # Some programs map the glyph of "fi" to "i" and that of "Th" to "h", so that the text reads
    # "irst" and "he". Only the width tells: beside the "i" of its font the glyph is twice as wide.
    widths: dict[int, dict[int, float]] = defaultdict(dict)
    known = {edges for (_, _, edges, _), (_, _, after, _) in pairwise(characters) if edges == after}
    for place, code, edges, _ in characters:
        # The letters of a ligature that is said whole share its edges.
        if code in _LIGATURES and edges and edges not in known and edges[3] > edges[1]:
            widths[code][place] = (edges[2] - edges[0]) / (edges[3] - edges[1])
    found: dict[int, str] = {}
    for code, of_code in widths.items():
        # Most pages have no such glyph: their fonts are not even asked for.
        if max(of_code.values()) < _WIDER * min(of_code.values()):
            continue
        short, long = _LIGATURES[code]
        for of_font in _group_widths(raw, of_code):
            narrow = median_low([width for width in of_font.values() if width > 0] or [0.0])
            for place, width in of_font.items():
                if narrow and width >= _WIDER * narrow:
                    found[place] = long if width >= _WIDEST * narrow else short
    return found


def _group_widths(raw: Any, widths: Mapping[int, float]) -> Sequence[Mapping[int, float]]:
    """Return the widths of each font's glyphs, those of text that runs upwards apart."""
    fonts: dict[tuple[bytes, float], dict[int, float]] = defaultdict(dict)
    for place, width in widths.items():
        angle = round(_C.FPDFText_GetCharAngle(raw, place), 1)
        fonts[_font_name(raw, place), angle][place] = width
    return list(fonts.values())

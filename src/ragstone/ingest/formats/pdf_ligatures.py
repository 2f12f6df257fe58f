"""Ligatures of which a PDF says their last letter only, told by their width.

Some programs map the glyph of "fi" to "i", and that of "Th" to "h": the text then reads "irst" and
"he". Beside the "i" of the same font such a glyph is twice as wide.
"""

import ctypes
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median_low
from typing import Any

import pypdfium2.raw

from ragstone.ingest.formats.pdf_frame import Edges

_C: Any = pypdfium2.raw

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
_NAME_BYTES = 200

_Character = tuple[int, int, Edges | None, float]
"""Index, code point, edges and baseline; what has no glyph has no edges."""


def find_ligatures(raw: Any, characters: Sequence[_Character]) -> Mapping[int, str]:
    """The letters of ligatures that look like one letter, by their places on a PDFium text page."""
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
        for of_font in _by_font(raw, of_code):
            narrow = median_low([width for width in of_font.values() if width > 0] or [0.0])
            for place, width in of_font.items():
                if narrow and width >= _WIDER * narrow:
                    found[place] = long if width >= _WIDEST * narrow else short
    return found


def _by_font(raw: Any, widths: Mapping[int, float]) -> Sequence[Mapping[int, float]]:
    """The widths of each font's glyphs, those of text that runs upwards apart."""
    fonts: dict[tuple[bytes, int], dict[int, float]] = defaultdict(dict)
    name = ctypes.create_string_buffer(_NAME_BYTES)
    flags = ctypes.byref(ctypes.c_int())
    for place, width in widths.items():
        _C.FPDFText_GetFontInfo(raw, place, name, _NAME_BYTES, flags)
        angle = round(_C.FPDFText_GetCharAngle(raw, place), 1)
        fonts[name.value, angle][place] = width
    return list(fonts.values())

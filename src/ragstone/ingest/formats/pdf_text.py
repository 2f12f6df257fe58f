"""The text of a PDF page with its places, asked of PDFium character by character."""

import ctypes
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pypdfium2.raw

from ragstone.core.document import Box
from ragstone.ingest.formats.pdf_lines import HYPHEN, PageLine, Run, clean, line_of

_C: Any = pypdfium2.raw

_BOLD_WEIGHT = 700
_BOLD_NAME = re.compile(rb"bold|black|heavy", re.IGNORECASE)
_NAME_BYTES = 200
_GAP = 0.75
"""A gap of more font sizes than this parts two runs: more than between words, less than between
cells."""

_RISE = 0.5
"""A baseline that moves by more font sizes than this begins another run."""

_BREAKS = (10, 13)
_SPACES = (9, 32, 160, 0x2002, 0x2003, 0x2009, 0x202F, 0x3000)
_CUTS = (2, 0xFFFE)
_NO_BOX = Box(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Frame:
    """What is seen of a page: its edges in PDF's coordinates and its rotation in degrees."""

    left: float
    bottom: float
    right: float
    top: float
    rotation: int = 0

    def seen(self, x: float, y: float) -> tuple[float, float]:
        """A point as its distance from the left and the top of the page as it is shown."""
        if self.rotation == 90:
            return y - self.bottom, x - self.left
        if self.rotation == 180:
            return self.right - x, y - self.bottom
        if self.rotation == 270:
            return self.top - y, self.right - x
        return x - self.left, self.top - y

    def box(self, one: tuple[float, float], other: tuple[float, float]) -> Box:
        """The rectangle between two corners, as it is shown."""
        (x1, y1), (x2, y2) = self.seen(*one), self.seen(*other)
        return Box(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))


def frame_of(page: Any) -> Frame:
    """The frame of a pypdfium2 page."""
    return Frame(*page.get_cropbox(), page.get_rotation() % 360)


def page_lines(text_page: Any, frame: Frame) -> list[PageLine]:
    """The lines of a page as PDFium orders them."""
    found = []
    for runs in _lines(text_page.raw, frame, _Fonts()):
        if line := line_of(runs):
            found.append(line)
    return found


@dataclass(slots=True)
class _Open:
    """A run that grows."""

    first: int
    baseline: float
    size: float
    parts: list[str] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    last: int = 0
    space: bool = False


class _Fonts:
    """Which fonts of a page are bold: by their names, as many say no weight or a wrong one."""

    def __init__(self) -> None:
        self._known: dict[int, bool] = {}
        self._name = ctypes.create_string_buffer(_NAME_BYTES)
        self._flags = ctypes.c_int()

    def is_bold(self, raw: Any, char: int) -> bool:
        piece = _C.FPDFText_GetTextObject(raw, char)
        font = ctypes.cast(_C.FPDFTextObj_GetFont(piece), ctypes.c_void_p).value if piece else None
        if (font or 0) not in self._known:
            self._known[font or 0] = self._asked(raw, char)
        return self._known[font or 0]

    def _asked(self, raw: Any, char: int) -> bool:
        flags = ctypes.byref(self._flags)
        _C.FPDFText_GetFontInfo(raw, char, self._name, _NAME_BYTES, flags)
        named = _BOLD_NAME.search(self._name.value) is not None
        return named or _C.FPDFText_GetFontWeight(raw, char) >= _BOLD_WEIGHT


def _lines(raw: Any, frame: Frame, fonts: _Fonts) -> Iterator[list[Run]]:
    """The runs of one line after the other."""
    runs: list[Run] = []
    run: _Open | None = None
    for place, code, box, baseline in _characters(raw, frame):
        if box is None:
            if run is not None and code in _SPACES:
                run.space = True
                continue
            if run is not None:
                if code in _CUTS:
                    run.parts.append(HYPHEN)
                runs.append(_closed(raw, run, fonts))
            if code not in _SPACES and runs:
                yield runs
                runs = []
            run = None
            continue
        if run is not None and _apart(run, box, baseline):
            runs.append(_closed(raw, run, fonts))
            run = None
        if run is None:
            run = _Open(place, baseline, _height(raw, place))
        if run.space:
            run.parts.append(" ")
            run.space = False
        run.parts.append(chr(code))
        run.boxes.append(box)
        run.last = place
    if run is not None:
        runs.append(_closed(raw, run, fonts))
    if runs:
        yield runs


def _characters(raw: Any, frame: Frame) -> Iterator[tuple[int, int, Box | None, float]]:
    """Index, code point, box and baseline of what is seen; spaces and ends of lines have no box."""
    unicode, loose, origin = (
        _C.FPDFText_GetUnicode,
        _C.FPDFText_GetLooseCharBox,
        _C.FPDFText_GetCharOrigin,
    )
    edges, x, y = _C.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
    to_edges, to_x, to_y = ctypes.byref(edges), ctypes.byref(x), ctypes.byref(y)
    upright = not frame.rotation
    left, top = frame.left, frame.top
    high = 0
    for place in range(_C.FPDFText_CountChars(raw)):
        code = unicode(raw, place)
        if 0xD800 <= code < 0xDC00:
            high = code
            continue
        if high:
            code = 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00)
            high = 0
            if not 0x10000 <= code <= 0x10FFFF:
                continue
        if code in _SPACES or code in _BREAKS or code in _CUTS:
            yield place, code, None, 0.0
            continue
        if not code or 0xD800 <= code < 0xE000:
            continue
        if not loose(raw, place, to_edges):
            yield place, code, _NO_BOX, 0.0
            continue
        origin(raw, place, to_x, to_y)
        if upright:
            box = Box(edges.left - left, top - edges.top, edges.right - left, top - edges.bottom)
            yield place, code, box, top - y.value
        else:
            corners = (edges.left, edges.top), (edges.right, edges.bottom)
            yield place, code, frame.box(*corners), frame.seen(x.value, y.value)[1]


def _apart(run: _Open, box: Box, baseline: float) -> bool:
    """Whether a character belongs to another run; text may go in either direction."""
    before = run.boxes[-1]
    size = run.size or before.bottom - before.top
    if abs(baseline - run.baseline) > _RISE * size:
        # Text that runs upwards stays together: its characters stand one above the other.
        beside = min(abs(before.top - box.bottom), abs(box.top - before.bottom))
        return not (abs(box.left - before.left) < _RISE * size and beside < _GAP * size)
    return max(box.left - before.right, before.left - box.right) > _GAP * size


def _closed(raw: Any, run: _Open, fonts: _Fonts) -> Run:
    boxes = run.boxes
    box = Box(
        min(one.left for one in boxes),
        min(one.top for one in boxes),
        max(one.right for one in boxes),
        max(one.bottom for one in boxes),
    )
    bold = fonts.is_bold(raw, run.first) and fonts.is_bold(raw, run.last)
    size = round(run.size * 2) / 2
    return Run(clean("".join(run.parts)), box, run.baseline, size, bold)


def _height(raw: Any, char: int) -> float:
    """The font size as the reader sees it: the nominal one times the text matrix."""
    size = float(_C.FPDFText_GetFontSize(raw, char))
    matrix = _C.FS_MATRIX()
    if _C.FPDFText_GetMatrix(raw, char, matrix):
        scale = float((matrix.c**2 + matrix.d**2) ** 0.5)
        return size * scale if scale else size
    return size

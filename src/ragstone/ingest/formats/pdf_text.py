"""The text of a PDF page with its places, asked of PDFium character by character."""

import ctypes
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pypdfium2.raw

from ragstone.core.document import Box
from ragstone.ingest.formats.pdf_codes import BREAKS, CUTS, SPACES, read_codes
from ragstone.ingest.formats.pdf_frame import Edges, Frame
from ragstone.ingest.formats.pdf_ligatures import find_ligatures
from ragstone.ingest.formats.pdf_lines import BULLETS, HYPHEN, PageLine, TextRun, build_line, clean
from ragstone.ingest.formats.pdf_rules import Rules
from ragstone.ingest.formats.raised import raise_text

_C: Any = pypdfium2.raw

_BOLD_WEIGHT = 700
_BOLD_NAME = re.compile(rb"bold|black|heavy", re.IGNORECASE)
_NAME_BYTES = 200
_GAP = 0.75
"""A gap of more font sizes than this parts two runs: more than between words, less than between
cells."""

_WORD_GAP = 0.15
"""A gap of more font sizes than this may have a ruled line in it."""

_RISE = 0.5
"""A baseline that moves by more font sizes than this begins another run."""

_MIN_RAISED, _MAX_RAISED = 0.15, 0.85
"""A raised character stands higher by more font sizes than this, and is smaller than this part of
the text before it."""

_BULLET = re.compile(f"[{BULLETS}]")
_NOWHERE = (0.0, 0.0, 0.0, 0.0)


def page_lines(text_page: Any, frame: Frame, rules: Rules) -> list[PageLine]:
    """The lines of a page as PDFium orders them; a ruled line parts what stands beside it."""
    characters = list(_characters(text_page.raw, frame))
    found = _Lines(text_page.raw, rules, find_ligatures(text_page.raw, characters))
    for place, code, edges, baseline in characters:
        if edges is not None:
            found.add(place, code, edges, baseline)
        elif code in SPACES:
            found.space()
        elif code in CUTS:
            found.end_line(cut=True)
        else:
            found.break_line()
    found.end_line()
    return found.lines


@dataclass(slots=True)
class _Open:
    """A run that grows."""

    first: int
    baseline: float
    size: float
    parts: list[str] = field(default_factory=list)
    boxes: list[Edges] = field(default_factory=list)
    last: int = 0
    space: bool = False
    is_raised: bool = False
    """Whether its last character is."""


class _Lines:
    """Characters become runs, and runs lines."""

    def __init__(self, raw: Any, rules: Rules, ligatures: Mapping[int, str]) -> None:
        self.lines: list[PageLine] = []
        self._raw = raw
        self._rules = rules
        self._ligatures = ligatures
        self._fonts = _Fonts()
        self._runs: list[TextRun] = []
        self._run: _Open | None = None
        self._may_end = False

    def add(self, place: int, code: int, edges: Edges, baseline: float) -> None:
        if self._may_end and not (self._run and _is_on_line(self._run, edges, baseline)):
            self.end_line()
        self._may_end = False
        if self._run is not None and (
            _apart(self._run, edges, baseline) or self._is_parted(self._run, edges)
        ):
            self._end_run()
        if self._run is None:
            self._run = _Open(place, baseline, _height(self._raw, place))
        elif len(self._run.boxes) == 1 and _BULLET.match(self._run.parts[0]):
            self._run.space = True  # Between an item's bullet and its text some PDFs leave none.
        run = self._run
        if run.space:
            run.parts.append(" ")
            run.space = False
        text = self._ligatures.get(place) or chr(code)
        run.is_raised = _is_raised(run, edges, baseline)
        run.parts.append(raise_text(text) if run.is_raised else text)
        run.boxes.append(edges)
        run.last = place

    def _is_parted(self, run: _Open, edges: Edges) -> bool:
        left, top, _right, bottom = edges
        gap = left - run.boxes[-1][2]
        beside = bool(self._rules.down) and gap > _WORD_GAP * run.size
        return beside and self._rules.part(left - gap, left, (top + bottom) / 2)

    def space(self) -> None:
        if self._run is not None:
            self._run.space = True

    def break_line(self) -> None:
        """End the line, unless PDFium only takes raised text for the end of one."""
        if self._run is not None and self._run.is_raised:
            self.space()
            self._may_end = True
        else:
            self.end_line()

    def end_line(self, *, cut: bool = False) -> None:
        """`cut` says that a hyphen divides the word at the end."""
        if cut and self._run is not None:
            self._run.parts.append(HYPHEN)
        self._end_run()
        if line := build_line(self._runs):
            self.lines.append(line)
        self._runs = []

    def _end_run(self) -> None:
        run, self._run = self._run, None
        if run is None:
            return
        lefts, tops, rights, bottoms = zip(*run.boxes, strict=True)
        box = Box(min(lefts), min(tops), max(rights), max(bottoms))
        bold = all(self._fonts.is_bold(self._raw, char) for char in (run.first, run.last))
        size = round(run.size * 2) / 2
        self._runs.append(TextRun(clean("".join(run.parts)), box, run.baseline, size, bold))


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


def _characters(raw: Any, frame: Frame) -> Iterator[tuple[int, int, Edges | None, float]]:
    """Index, code point, edges and baseline of what is seen; spaces and ends of lines have none."""
    loose, origin = _C.FPDFText_GetLooseCharBox, _C.FPDFText_GetCharOrigin
    edges, x, y = _C.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
    to_edges, to_x, to_y = ctypes.byref(edges), ctypes.byref(x), ctypes.byref(y)
    upright = not frame.rotation
    left, top = frame.left, frame.top
    for place, code in enumerate(read_codes(raw).codes):
        if not code:
            continue
        if code in SPACES or code in BREAKS or code in CUTS:
            yield place, code, None, 0.0
            continue
        if not loose(raw, place, to_edges):
            yield place, code, _NOWHERE, 0.0
            continue
        origin(raw, place, to_x, to_y)
        if upright:
            seen = edges.left - left, top - edges.top, edges.right - left, top - edges.bottom
            yield place, code, seen, top - y.value
        else:
            corners = (edges.left, edges.top), (edges.right, edges.bottom)
            yield place, code, frame.edges(*corners), frame.map_point(x.value, y.value)[1]


def _apart(run: _Open, edges: Edges, baseline: float) -> bool:
    """Whether a character belongs to another run; text may go in either direction."""
    left, top, right, bottom = run.boxes[-1]
    size = run.size or bottom - top
    if abs(baseline - run.baseline) > _RISE * size:
        # Text that runs upwards stays together: its characters stand one above the other.
        beside = min(abs(top - edges[3]), abs(edges[1] - bottom))
        return not (abs(edges[0] - left) < _RISE * size and beside < _GAP * size)
    return max(edges[0] - right, left - edges[2]) > _GAP * size


def _is_on_line(run: _Open, edges: Edges, baseline: float) -> bool:
    """Whether a character stands behind a run on the same line."""
    return abs(baseline - run.baseline) < _MIN_RAISED * run.size and not _apart(
        run, edges, baseline
    )


def _is_raised(run: _Open, edges: Edges, baseline: float) -> bool:
    """Whether a character of a run is smaller and higher than its first one, and not in brackets of
    its own, which part it from a number."""
    raised = run.baseline - baseline > _MIN_RAISED * run.size
    if not raised or not run.boxes or run.parts[-1] in "( ":
        return False
    _, top, _, bottom = run.boxes[0]
    return edges[3] - edges[1] < _MAX_RAISED * (bottom - top)


def _height(raw: Any, char: int) -> float:
    """The font size as the reader sees it: the nominal one times the text matrix."""
    size = float(_C.FPDFText_GetFontSize(raw, char))
    matrix = _C.FS_MATRIX()
    if _C.FPDFText_GetMatrix(raw, char, matrix):
        scale = float((matrix.c**2 + matrix.d**2) ** 0.5)
        return size * scale if scale else size
    return size

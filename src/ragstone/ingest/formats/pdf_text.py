"""The text of a PDF page and its places, asked of PDFium character by character, and its fields.

Accented letters of a PDF page that are drawn as two characters: a letter and an accent over it.

TeX sets them so with its first fonts. PDFium tells both one after the other: "r´egl´e" for "réglé".
"""

import ctypes
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pypdfium2.raw

from ragstone.core.document import Box
from ragstone.ingest.formats.inline_text import raise_text
from ragstone.ingest.formats.pdf_codes import BREAKS, CUTS, SPACES, find_ligatures, read_codes
from ragstone.ingest.formats.pdf_direction import Character, order_leftward_lines, read_leftward
from ragstone.ingest.formats.pdf_lines import (
    BULLETS,
    HYPHEN,
    Edges,
    Frame,
    PageLine,
    TextRun,
    build_line,
    clean,
)
from ragstone.ingest.formats.pdf_rules import Rules
from ragstone.ingest.formats.struck import strike_out

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


_C: Any = pypdfium2.raw

_BOLD_WEIGHT = 700
_BOLD_NAME = re.compile(rb"bold|black|heavy", re.IGNORECASE)
_MONO_NAME = re.compile(rb"courier|mono|consol|menlo|typewriter|cmtt|fixed", re.IGNORECASE)
_FIXED_PITCH = 1
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

_STRUCK_TOP, _STRUCK = 0.4, 0.12
"""A line strikes text out between so many of its heights above the baseline."""

_BULLET = re.compile(f"[{BULLETS}]")
_NOWHERE = (0.0, 0.0, 0.0, 0.0)


def page_lines(text_page: Any, frame: Frame, rules: Rules) -> list[PageLine]:
    """The lines of a page as PDFium orders them; a ruled line parts what stands beside it."""
    characters = join_accents(list(_characters(text_page.raw, frame)))
    characters, struck = mark_struck(characters, rules)
    characters, leftward = order_leftward_lines(characters)
    ligatures = find_ligatures(text_page.raw, characters)
    found = _Lines(text_page.raw, rules, {**ligatures, **struck}, leftward)
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


def mark_struck(
    characters: list[Character], rules: Rules
) -> tuple[list[Character], dict[int, str]]:
    """Return the characters, of those that a ruled line strikes out the first one alone, in the
    place of all; and the mark that stands for it, by its index. Such a line goes through their
    middle and begins and ends with them, so that no border of a table, underline or bar of a
    fraction is one."""
    heights = [rule.at for rule in rules.across]
    crossed: dict[int, list[int]] = {}
    for place, (_, _, edges, baseline) in enumerate(characters if heights else ()):
        if edges is None:
            continue
        left, top, right, bottom = edges
        highest, lowest = (baseline - share * (bottom - top) for share in (_STRUCK_TOP, _STRUCK))
        for number in range(bisect_left(heights, highest), bisect_right(heights, lowest)):
            if rules.across[number].start <= (left + right) / 2 <= rules.across[number].end:
                crossed.setdefault(number, []).append(place)
    struck: set[int] = set()
    marks: dict[int, str] = {}
    for number, places in crossed.items():
        boxes = [edges for place in places if (edges := characters[place][2]) is not None]
        near = _GAP / 2 * max(bottom - top for _, top, _, bottom in boxes)
        rule = rules.across[number]
        lefts, tops, rights, bottoms = zip(*boxes, strict=True)
        edges = min(lefts), min(tops), max(rights), max(bottoms)
        fits = abs(edges[0] - rule.start) <= near and abs(edges[2] - rule.end) <= near
        if fits and struck.isdisjoint(places):
            first, last = places[0], places[-1]
            index, code, _, baseline = characters[first]
            text = "".join(chr(item[1]) for item in characters[first : last + 1])
            characters[first] = (index, code, edges, baseline)
            marks[index] = strike_out(text)
            struck.update(range(first, last + 1))
    return [
        item for place, item in enumerate(characters) if place not in struck or item[0] in marks
    ], marks


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

    def __init__(
        self, raw: Any, rules: Rules, ligatures: Mapping[int, str], leftward: Set[int]
    ) -> None:
        self.lines: list[PageLine] = []
        self._raw = raw
        self._rules = rules
        self._ligatures = ligatures
        self._leftward = leftward
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
        left, top, right, bottom = edges
        before = run.boxes[-1]
        start, end = (before[2], left) if left >= before[0] else (right, before[0])
        beside = bool(self._rules.down) and end - start > _WORD_GAP * run.size
        return beside and self._rules.part(start, end, (top + bottom) / 2)

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
        if len(self._runs) > 1 and self._runs[0].text == "o":
            # Word's second bullet is a letter of another font, with a gap behind it.
            self._runs[0] = self._runs[0]._replace(text="◦")
        if line := build_line(self._runs):
            self.lines.append(line)
        self._runs = []

    def _end_run(self) -> None:
        run, self._run = self._run, None
        if run is None:
            return
        lefts, tops, rights, bottoms = zip(*run.boxes, strict=True)
        box = Box(min(lefts), min(tops), max(rights), max(bottoms))
        # A bold word that begins a sentence does not make it a heading.
        fonts = [self._fonts.look_up(self._raw, char) for char in (run.first, run.last)]
        bold, mono = (all(said) for said in zip(*fonts, strict=True))
        # Type of one size differs by hundredths of a point; halves still tell sizes apart.
        size = round(run.size * 2) / 2
        parts = read_leftward(run.parts) if run.first in self._leftward else run.parts
        self._runs.append(TextRun(clean("".join(parts)), box, run.baseline, size, bold, mono))


class _Fonts:
    """Which fonts of a page are bold, and whose letters are equally wide: by their names too, as
    many say nothing of it or what is wrong."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[bool, bool]] = {}
        self._name = ctypes.create_string_buffer(_NAME_BYTES)
        self._flags = ctypes.c_int()

    def look_up(self, raw: Any, char: int) -> tuple[bool, bool]:
        """Whether the font of a character is bold, and whether its letters are equally wide."""
        piece = _C.FPDFText_GetTextObject(raw, char)
        font = ctypes.cast(_C.FPDFTextObj_GetFont(piece), ctypes.c_void_p).value if piece else None
        # Asked once for each font, not for each run.
        if (font or 0) not in self._known:
            self._known[font or 0] = self._ask(raw, char)
        return self._known[font or 0]

    def _ask(self, raw: Any, char: int) -> tuple[bool, bool]:
        flags = ctypes.byref(self._flags)
        _C.FPDFText_GetFontInfo(raw, char, self._name, _NAME_BYTES, flags)
        named = _BOLD_NAME.search(self._name.value) is not None
        bold = named or _C.FPDFText_GetFontWeight(raw, char) >= _BOLD_WEIGHT
        mono = _MONO_NAME.search(self._name.value) is not None
        return bold, mono or bool(self._flags.value & _FIXED_PITCH)


def _characters(raw: Any, frame: Frame) -> Iterator[Character]:
    """Yield the characters that are seen, and spaces and ends of lines."""
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
        # Nearly all pages are, and calling `Frame.edges` for each character would cost most of the
        # time.
        if upright:
            seen = edges.left - left, top - edges.top, edges.right - left, top - edges.bottom
            yield place, code, seen, top - y.value
        else:
            corners = (edges.left, edges.top), (edges.right, edges.bottom)
            yield place, code, frame.edges(*corners), frame.map_point(x.value, y.value)[1]


def _apart(run: _Open, edges: Edges, baseline: float) -> bool:
    """Tell whether a character belongs to another run; text may go in either direction."""
    left, top, right, bottom = run.boxes[-1]
    size = run.size or bottom - top
    if abs(baseline - run.baseline) > _RISE * size:
        # Text that runs upwards stays together: its characters stand one above the other.
        beside = min(abs(top - edges[3]), abs(edges[1] - bottom))
        return not (abs(edges[0] - left) < _RISE * size and beside < _GAP * size)
    return max(edges[0] - right, left - edges[2]) > _GAP * size


def _is_on_line(run: _Open, edges: Edges, baseline: float) -> bool:
    """Tell whether a character stands behind a run on the same line."""
    return abs(baseline - run.baseline) < _MIN_RAISED * run.size and not _apart(
        run, edges, baseline
    )


def _is_raised(run: _Open, edges: Edges, baseline: float) -> bool:
    """Tell whether a character of a run is smaller and higher than its first one, and not in
    brackets of its own, which part it from a number."""
    raised = run.baseline - baseline > _MIN_RAISED * run.size
    if not raised or not run.boxes or run.parts[-1] in "( ":
        return False
    _, top, _, bottom = run.boxes[0]
    return edges[3] - edges[1] < _MAX_RAISED * (bottom - top)


def _height(raw: Any, char: int) -> float:
    """Return the font size as the reader sees it: the nominal one times the text matrix."""
    size = float(_C.FPDFText_GetFontSize(raw, char))
    matrix = _C.FS_MATRIX()
    if _C.FPDFText_GetMatrix(raw, char, matrix):
        scale = float((matrix.c**2 + matrix.d**2) ** 0.5)
        # Some programs set type of 1 point and scale it by the matrix.
        return size * scale if scale else size
    return size


_MAX_FIELDS = 2000
"""Of a page; those behind them are not read."""

_MAX_BYTES = 1 << 16
_INVISIBLE = _C.FPDF_ANNOT_FLAG_HIDDEN | _C.FPDF_ANNOT_FLAG_NOVIEW

_PASSWORD = 1 << 13
"""The flag of fields whose text nobody sees (PDF 32000-1, table 228)."""

_TEXT_SIZE = 11.0
"""Points of the text in a field that is higher: PDFium does not tell its size."""

_BOXES = (_C.FPDF_FORMFIELD_CHECKBOX, _C.FPDF_FORMFIELD_RADIOBUTTON)
_TEXTS = (_C.FPDF_FORMFIELD_TEXTFIELD, _C.FPDF_FORMFIELD_COMBOBOX, _C.FPDF_FORMFIELD_LISTBOX)


def insert_fields(lines: list[PageLine], page: Any, frame: Frame) -> list[PageLine]:
    """Return the lines of a page with its fields: beside the text that they stand beside, else as
    lines of their own.

    Args:
        lines: In the order in which they are read.
        page: A pypdfium2 page of a document whose forms are initialised, or that has none.
        frame: What is seen of the page.
    """
    # PDFium reads the text of a page without its fields, which are drawn above it.
    lines = list(lines)
    for run in _read_fields(page, frame) if page.formenv else ():
        same_row = [place for place, line in enumerate(lines) if _share_row(line.box, run.box)]
        # Of the columns of a page the nearest.
        place = min(same_row, key=lambda at: _gap(lines[at].box, run.box), default=None)
        if place is not None:
            runs = sorted([*lines[place].runs, run], key=lambda part: part.box.left)
            lines[place] = build_line(runs) or lines[place]
        elif line := build_line([run]):
            above = [at for at, other in enumerate(lines) if other.baseline <= run.baseline]
            lines.insert(above[-1] + 1 if above else 0, line)
    return lines


def _share_row(one: Box, other: Box) -> bool:
    return (
        one.top <= (other.top + other.bottom) / 2 <= one.bottom
        or other.top <= (one.top + one.bottom) / 2 <= other.bottom
    )


def _gap(one: Box, other: Box) -> float:
    """Return how far apart two boxes are from left to right, 0 for those that overlap."""
    return max(0.0, other.left - one.right, one.left - other.right)


def _read_fields(page: Any, frame: Frame) -> Iterator[TextRun]:
    """Yield the boxes of a page with their marks, and what other fields hold, in their order."""
    form = page.formenv.raw
    for number in range(min(_C.FPDFPage_GetAnnotCount(page.raw), _MAX_FIELDS)):
        with _annotation(page, number) as annotation:
            kind = _C.FPDFAnnot_GetFormFieldType(form, annotation)
            text = ""
            # Hidden fields hold what scripts of the form keep for themselves.
            if _C.FPDFAnnot_GetFlags(annotation) & _INVISIBLE:
                continue
            if kind in _BOXES:
                text = "☒" if _C.FPDFAnnot_IsChecked(form, annotation) else "☐"
            elif kind in _TEXTS:
                is_secret = _C.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD
                text = "" if is_secret else _value(form, annotation)
            edges = _C.FS_RECTF()
            if text and _C.FPDFAnnot_GetRect(annotation, edges):
                corners = (edges.left, edges.bottom), (edges.right, edges.top)
                box = Box(*frame.edges(*corners))
                size = min(box.bottom - box.top, _TEXT_SIZE)
                yield TextRun(text, box, (box.top + box.bottom + 0.7 * size) / 2, size)


@contextmanager
def _annotation(page: Any, number: int) -> Iterator[Any]:
    annotation = _C.FPDFPage_GetAnnot(page.raw, number)
    try:
        yield annotation
    finally:
        _C.FPDFPage_CloseAnnot(annotation)


def _value(form: Any, annotation: Any) -> str:
    buffer = (_C.FPDF_WCHAR * (_MAX_BYTES // 2))()
    size = _C.FPDFAnnot_GetFormFieldValue(form, annotation, buffer, _MAX_BYTES)
    if size > _MAX_BYTES:  # Then nothing of it was written.
        return ""
    return clean(bytes(buffer)[: max(0, size - 2)].decode("utf-16-le", "ignore"))

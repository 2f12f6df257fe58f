"""The ruled lines of a PDF page: drawn ones, and thin rectangles.

What stands behind cells is not a line: filings have one behind each sign beside a figure."""

import ctypes
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pypdfium2.raw

from ragstone.ingest.formats.pdf_lines import Frame

_C: Any = pypdfium2.raw

_MAX_PATHS = 10_000
"""What has more on a page is a drawing."""

_MAX_SEGMENTS = 400
"""So many segments of a path are looked at; an outline of letters or of a map has more."""

_MAX_RULES = 3_000
_MAX_DEPTH = 3
_THIN = 3.0
"""A path that is not a thicker is a line, in points."""

_SHORT = 4.0
"""What is shorter, with all that it touches, is not a line; dots in a row are one."""

_LEVEL = 0.7
_SAME = 2.0
"""Lines so near to each other are one."""


class Rule(NamedTuple):
    """A line in points: where it stands, from the left or the top, and from where to where it
    goes the other way."""

    at: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Rules:
    """The lines across a page and those down it, in the order of where they stand."""

    across: tuple[Rule, ...] = ()
    down: tuple[Rule, ...] = ()

    def part(self, left: float, right: float, y: float) -> bool:
        """Tell whether a line goes down between two places at this height."""
        return any(
            left - 1 <= at <= right + 1 and start <= y <= end for at, start, end in self.down
        )


_NO_RULES = Rules()
_Matrix = tuple[float, float, float, float, float, float]
_Point = tuple[float, float]
_UNMOVED: _Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


def page_rules(page: Any, frame: Frame) -> Rules:
    """Return the rules of a pypdfium2 page as they are shown; none where too much is drawn."""
    across: list[Rule] = []
    down: list[Rule] = []
    raw = page.raw
    count, get = _C.FPDFPage_CountObjects(raw), _C.FPDFPage_GetObject
    if count > _MAX_PATHS:
        return _NO_RULES
    for start, end in _lines(raw, count, get, _UNMOVED, 1):
        left, top, right, bottom = frame.edges(start, end)
        if right - left >= bottom - top:
            across.append(Rule((top + bottom) / 2, left, right))
        else:
            down.append(Rule((left + right) / 2, top, bottom))
        if len(across) + len(down) > 4 * _MAX_RULES:
            return _NO_RULES
    rules = Rules(tuple(_merge_rules(across)), tuple(_merge_rules(down)))
    return rules if len(rules.across) + len(rules.down) <= _MAX_RULES else _NO_RULES


def _lines(
    holder: Any, count: int, get: Any, matrix: _Matrix, depth: int
) -> Iterator[tuple[_Point, _Point]]:
    """Yield the ends of what is drawn in a straight line, on the page before it is turned."""
    for place in range(count):
        piece = get(holder, place)
        kind = _C.FPDFPageObj_GetType(piece)
        if kind == _C.FPDF_PAGEOBJ_PATH:
            yield from _path_lines(piece, matrix)
        elif kind == _C.FPDF_PAGEOBJ_FORM and depth < _MAX_DEPTH:
            inner = _C.FPDFFormObj_CountObjects(piece)
            if 0 < inner <= _MAX_PATHS:
                moved = _product(_matrix(piece), matrix)
                yield from _lines(piece, inner, _C.FPDFFormObj_GetObject, moved, depth + 1)


def _path_lines(path: Any, matrix: _Matrix) -> Iterator[tuple[_Point, _Point]]:
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    if not _C.FPDFPath_GetDrawMode(path, ctypes.byref(fill), ctypes.byref(stroke)):
        return
    count = _C.FPDFPath_CountSegments(path)
    if not (fill.value or stroke.value) or not 2 <= count <= _MAX_SEGMENTS:
        return
    moved = _product(_matrix(path), matrix)
    for points in _figures(path, count, moved):
        xs, ys = zip(*points, strict=True)
        left, bottom, right, top = min(xs), min(ys), max(xs), max(ys)
        if min(right - left, top - bottom) <= _THIN:
            yield (left, bottom), (right, top)
        elif stroke.value:
            yield from (pair for pair in itertools.pairwise(points) if _is_level(*pair))


def _figures(path: Any, count: int, matrix: _Matrix) -> Iterator[list[_Point]]:
    """Yield the corners of each part of a path; one with curves has none."""
    a, b, c, d, e, f = matrix
    x, y = ctypes.c_float(), ctypes.c_float()
    to_x, to_y = ctypes.byref(x), ctypes.byref(y)
    points: list[_Point] = []
    for place in range(count):
        segment = _C.FPDFPath_GetPathSegment(path, place)
        kind = _C.FPDFPathSegment_GetType(segment)
        if kind == _C.FPDF_SEGMENT_MOVETO:
            if len(points) > 1:
                yield points
            points = []
        elif kind != _C.FPDF_SEGMENT_LINETO:
            return
        _C.FPDFPathSegment_GetPoint(segment, to_x, to_y)
        points.append((a * x.value + c * y.value + e, b * x.value + d * y.value + f))
        if _C.FPDFPathSegment_GetClose(segment) and len(points) > 2:
            points.append(points[0])
    if len(points) > 1:
        yield points


def _is_level(one: _Point, other: _Point) -> bool:
    return abs(one[0] - other[0]) <= _LEVEL or abs(one[1] - other[1]) <= _LEVEL


def _matrix(piece: Any) -> _Matrix:
    found = _C.FS_MATRIX()
    if not _C.FPDFPageObj_GetMatrix(piece, found):
        return _UNMOVED
    return found.a, found.b, found.c, found.d, found.e, found.f


def _product(first: _Matrix, then: _Matrix) -> _Matrix:
    """Return the matrix that moves by one and then by another."""
    a, b, c, d, e, f = first
    p, q, r, s, t, u = then
    return (
        a * p + b * r,
        a * q + b * s,
        c * p + d * r,
        c * q + d * s,
        e * p + f * r + t,
        e * q + f * s + u,
    )


def _merge_rules(rules: Iterable[Rule]) -> list[Rule]:
    """Return lines that stand in one place and touch are one."""
    found: list[Rule] = []
    group: list[Rule] = []
    for rule in sorted(rules):
        if group and rule.at - group[0].at > _SAME:
            found += _join_rules(group)
            group = []
        group.append(rule)
    found += _join_rules(group)
    return [rule for rule in found if rule.end - rule.start >= _SHORT]


def _join_rules(group: Sequence[Rule]) -> list[Rule]:
    found: list[Rule] = []
    for rule in sorted(group, key=lambda item: item.start):
        if found and rule.start <= found[-1].end + _SAME:
            found[-1] = found[-1]._replace(end=max(found[-1].end, rule.end))
        elif group:
            at = sum(item.at for item in group) / len(group)
            found.append(Rule(at, rule.start, rule.end))
    return found

"""The lines of a picture, from the stretches of text that were recognised in it."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragstone.core.document import Box
from ragstone.ingest.document import Block
from ragstone.ingest.formats.pdf_lines import PageLine, TextRun, build_line, clean, join_boxes
from ragstone.ingest.formats.recognition import Corners, Stretch

SIZE = 10.0
"""The points to which the usual type is scaled while lines are put in order."""

_HEIGHT = 1.3
"""The height of a recognised box in type sizes."""

_ALIKE = (0.8, 1.25)
"""Boxes of type of one size differ by as much: "on" is less high than "Plenty"."""

_SAME_ROW = 0.5
"""Boxes side by side whose heights overlap by this share stand in one row."""

_TOUCH = 0.3
"""A gap of fewer type sizes is one between words."""

_MAX_SKEW = 20.0


@dataclass(frozen=True, slots=True)
class Outlook:
    """How a picture is looked at so that its lines are level: turned by `angle` degrees around its
    corner, moved, and scaled; `points` is how long a pixel is on the page."""

    angle: float = 0.0
    left: float = 0.0
    top: float = 0.0
    scale: float = 1.0
    points: float = 1.0

    def map_point(self, x: float, y: float) -> tuple[float, float]:
        """Return where a pixel is in this view."""
        x, y = _rotate(x, y, -self.angle)
        return (x - self.left) * self.scale, (y - self.top) * self.scale

    def on_page(self, box: Box) -> Box:
        """Return the rectangle on the page in which something of this view is."""
        corners = [
            _rotate(x / self.scale + self.left, y / self.scale + self.top, self.angle)
            for x in (box.left, box.right)
            for y in (box.top, box.bottom)
        ]
        xs, ys = zip(*corners, strict=True)
        edges = (max(0.0, round(edge * self.points, 2)) for edge in _edges(xs, ys))
        return Box(*edges)


def page_block(block: Block, view: Outlook) -> Block:
    """Return a block whose places were seen so, with those on the page."""
    places = tuple(
        replace(place, box=view.on_page(place.box)) if place.box else place
        for place in block.places
    )
    return replace(block, places=places)


def build_lines(found: Sequence[Stretch], points: float) -> tuple[list[PageLine], Outlook]:
    """Return the lines from the top down as a reader sees them, and how to look for that. A pixel
    is `points` points long on the page."""
    if not found:
        return [], Outlook(points=points)
    turn, angle = _direction(found)
    level = [stretch for stretch in found if _turn(stretch) == turn]
    heights = [math.dist(item.corners[0], item.corners[3]) for item in level for _ in item.text]
    scale = SIZE * _HEIGHT / max(statistics.median(heights), 1.0)
    view = Outlook(angle, scale=scale, points=points)
    corners = [view.map_point(*corner) for stretch in found for corner in stretch.corners]
    left, top = (min(axis) / scale for axis in zip(*corners, strict=True))
    view = replace(view, left=left, top=top)
    runs = [_run(stretch, view) for stretch in found]
    return [line for line in map(build_line, _rows(runs)) if line], view


def _rotate(x: float, y: float, degrees: float) -> tuple[float, float]:
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return cos * x - sin * y, sin * x + cos * y


def _edges(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float, float, float]:
    return min(xs), min(ys), max(xs), max(ys)


def _angle(corners: Corners) -> float:
    """Return the direction of reading in degrees, clockwise."""
    (x1, y1), (x2, y2) = corners[:2]
    return math.degrees(math.atan2(y2 - y1, x2 - x1))


def _turn(stretch: Stretch) -> int:
    return round(_angle(stretch.corners) / 90) % 4 * 90


def _direction(found: Sequence[Stretch]) -> tuple[int, float]:
    """The quarter in which most text runs, and its exact angle, which the long lines tell."""
    weights = dict.fromkeys((0, 90, 180, 270), 0)
    for item in found:
        weights[_turn(item)] += len(item.text)
    turn = max(weights, key=lambda quarter: weights[quarter])
    level = sorted(
        (stretch for stretch in found if _turn(stretch) == turn), key=lambda item: -len(item.text)
    )
    offs = [
        (_angle(item.corners) - turn + 180) % 360 - 180 for item in level[: len(level) // 2 + 1]
    ]
    skew = statistics.median(offs)
    return turn, turn + (skew if abs(skew) <= _MAX_SKEW else 0.0)


def _run(stretch: Stretch, view: Outlook) -> TextRun:
    xs, ys = zip(*(view.map_point(*corner) for corner in stretch.corners), strict=True)
    box = Box(*_edges(xs, ys))
    height = math.dist(stretch.corners[0], stretch.corners[3]) * view.scale / _HEIGHT
    least, most = _ALIKE
    size = SIZE if least * SIZE <= height <= most * SIZE else round(height * 2) / 2
    return TextRun(clean(stretch.text), box, (box.top + box.bottom) / 2 + 0.35 * size, size)


def _rows(runs: Sequence[TextRun]) -> list[list[TextRun]]:
    """Return runs that stand side by side, from the left, with one baseline."""
    rows: list[list[TextRun]] = []
    for run in sorted(runs, key=lambda item: item.baseline):
        if rows and _is_beside(rows[-1], run):
            rows[-1].append(run)
        else:
            rows.append([run])
    return [_join_words(sorted(row, key=lambda item: item.box.left)) for row in rows]


def _is_beside(row: Sequence[TextRun], run: TextRun) -> bool:
    return all(_is_free(item.box, run.box) for item in row) and any(
        _is_level(item.box, run.box) for item in row
    )


def _is_free(one: Box, other: Box) -> bool:
    return min(one.right, other.right) - max(one.left, other.left) < SIZE / 2


def _is_level(one: Box, other: Box) -> bool:
    shared = min(one.bottom, other.bottom) - max(one.top, other.top)
    return shared >= _SAME_ROW * min(one.bottom - one.top, other.bottom - other.top)


def _join_words(row: Sequence[TextRun]) -> list[TextRun]:
    """Return the row with its words put together that only a space parts."""
    baseline = statistics.median(run.baseline for run in row)
    runs: list[TextRun] = []
    for run in row:
        last = runs[-1] if runs else None
        if last and run.box.left - last.box.right < _TOUCH * SIZE and last.size == run.size:
            box = join_boxes([last.box, run.box])
            runs[-1] = last._replace(text=f"{last.text} {run.text}", box=box)
        else:
            runs.append(run._replace(baseline=baseline))
    return runs

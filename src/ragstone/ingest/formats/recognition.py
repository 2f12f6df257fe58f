"""The text of pictures: scanned pages, photos, screenshots. A plugin or a package recognises it.

The lines of a picture, from the stretches of text that were recognised in it.
"""

import math
import statistics
import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Protocol, TypeVar

from ragstone.core.document import Box
from ragstone.core.errors import UnreadableDocument
from ragstone.ingest.document import Block
from ragstone.ingest.formats.pdf_lines import PageLine, TextRun, build_line, clean, join_boxes
from ragstone.ingest.free_memory import give_back
from ragstone.registry import PLUGINS_OFF, Registry

T = TypeVar("T")

UNREAD = "pages_unread"
"""In a document's metadata: scanned pages whose text would be read if the extra were installed."""

PICTURES_UNREAD = "pictures_unread"
"""In a document's metadata: pictures inside of it, of which the same is true."""

MAX_SIDE = 2400
"""Pixels of the longer side that are looked at: an A4 page at 200 dpi has 2,339."""

DPI = 200

PAGE_SECONDS = 60.0
"""For recognising a page, which are added to the time for its document, and for a picture inside of
one: where that takes longer, the document's own text is kept."""

AHEAD = 4


@dataclass(frozen=True, slots=True)
class Recognition:
    """Whether and how the text of pictures is read.

    A document may have `pages` pages to recognise. `ahead` is how many of them are read before
    their blocks are given, and `noticed` is called before each. Pictures inside of a document are
    given up where one takes more than PAGE_SECONDS.
    """

    wanted: bool = True
    pages: int = 1000
    ahead: int = AHEAD
    noticed: Callable[[], None] = lambda: None

    @property
    def possible(self) -> bool:
        return self.wanted and is_installed()

    @property
    def why_not(self) -> str:
        """What to do so that the text is read, as a sentence."""
        if not is_installed():
            return f"To read its text, {missing_step()}."
        return "To read its text, set INGEST__OCR_PAGES."


_DEFAULT = Recognition()
CHOSEN: ContextVar[Recognition] = ContextVar("recognition", default=_DEFAULT)
"""What the file that is being opened is read with: parsers have no settings of their own."""


Corners = tuple[tuple[float, float], ...]
"""Four points in pixels from the left and the top, clockwise."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Text in a picture, mostly a line. Its corners begin with the upper left one of the first
    letter, however the text is turned."""

    text: str
    corners: Corners


class Recognizer(Protocol):
    """Reads the text in pictures, in a process that has no network and no settings."""

    def is_installed(self) -> bool:
        """Whether all that it needs is there; asked in the server too, so nothing is loaded."""
        ...

    def read(self, pixels: Any) -> list[Stretch]:
        """Return the text in a picture, an array of rows of blue, green and red from 0 to 255,
        whose longer side has at most MAX_SIDE pixels."""
        ...


RECOGNIZERS: Registry[Recognizer] = Registry(
    "ragstone.recognizers", "recognizer of text", {}, makes=Recognizer
)
"""What reads the text in pictures; the first that is installed does, those of packages first."""


@cache
def _find_recognizer() -> Recognizer | None:
    names = (*RECOGNIZERS.others, *RECOGNIZERS.ours)

    def load(name: str) -> Recognizer:
        made = RECOGNIZERS.make(name)
        made.is_installed()  # What breaks there is left out too.
        return made

    made = RECOGNIZERS.keep_usable(names, "It reads no pictures.", load).values()
    return next((item for item in made if item.is_installed()), None)


def is_installed() -> bool:
    """Tell whether something reads the text in pictures."""
    return _find_recognizer() is not None


def missing_step() -> str:
    """Return what to do so that it is read, as the end of a sentence."""
    if RECOGNIZERS.ours:
        return "pip install 'ragstone[ocr]'"
    return f"switch the plugin ocr on ({PLUGINS_OFF})"


_LATE: list[threading.Thread] = []


def in_time(work: Callable[[], T], seconds: float) -> T:
    """Return what `work` gives; raises TimeoutError where that takes longer, and then it goes on
    without anybody waiting: nothing ends a model's computation."""
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="recognition", daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not done:
        _LATE.append(thread)
        raise TimeoutError
    return done[0]


def is_computing() -> bool:
    """Tell whether a computation goes on for which nobody waits."""
    return any(thread.is_alive() for thread in _LATE)


def recognise_text(pixels: Any, recognition: Recognition) -> list[Stretch]:
    """Return the text in a picture, as `Recognizer.read` gives it; only where that is possible."""
    recognizer = _find_recognizer()
    if recognizer is None:
        raise UnreadableDocument(f"Nothing reads the text in pictures: {missing_step()}.")
    recognition.noticed()
    try:
        return recognizer.read(pixels)
    finally:
        give_back()


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

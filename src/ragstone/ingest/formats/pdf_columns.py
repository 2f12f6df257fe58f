"""The reading order of a PDF page: columns of prose one after the other."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragstone.ingest.formats.pdf_lines import PageLine, TextRun, build_line

_MIN_LINES = 4
"""So many lines of prose make a column."""

_MIN_WORDS = 4
_FILLED = 0.6
"""A line of prose fills at least this share of its column; a cell or a label mostly does not."""

_CLEAR = 4.0
"""Points by which two columns are apart at least."""


@dataclass(frozen=True, slots=True)
class _Band:
    """A stretch of a page in which two columns stand side by side, parted at `gutter`."""

    top: float
    bottom: float
    gutter: float


def in_reading_order(lines: Sequence[PageLine]) -> Iterator[list[PageLine]]:
    """Stretches of lines: what is above columns, each of the columns, what is below.

    Lines that stand in no column keep the order in which PDFium gave them.
    """
    bands = _bands(lines)
    if not bands:
        yield list(lines)
        return
    rest = list(lines)
    for band in bands:
        above = [line for line in rest if _middle(line) < band.top]
        inside = [line for line in rest if band.top <= _middle(line) <= band.bottom]
        rest = [line for line in rest if _middle(line) > band.bottom]
        if above:
            yield above
        for column in _split_at_gutter(inside, band.gutter):
            yield from in_reading_order(column)
    if rest:
        yield rest


def _middle(line: PageLine) -> float:
    return (line.box.top + line.box.bottom) / 2


def _split_at_gutter(lines: Sequence[PageLine], gutter: float) -> Iterator[list[PageLine]]:
    """The lines left of a gutter, and those right of it; one over both is cut in two."""
    left: list[PageLine] = []
    right: list[PageLine] = []
    for line in lines:
        for side, wanted in ((left, True), (right, False)):
            runs = [run for run in line.runs if (run.box.left < gutter - _CLEAR) is wanted]
            if part := build_line(runs):
                side.append(part)
    for column in (left, right):
        if column:
            yield column


def _bands(lines: Sequence[PageLine]) -> list[_Band]:
    runs = [run for line in lines for run in line.runs]
    prose = [run for run in runs if run.text.count(" ") >= _MIN_WORDS - 1]
    edges = Counter(round(run.box.left / 3) for run in prose)
    first = min((edge for edge, count in edges.items() if count > 1), default=0)
    for edge, count in edges.most_common(6):
        if count >= _MIN_LINES and edge > first + 10:
            gutter = min(run.box.left for run in prose if abs(run.box.left / 3 - edge) <= 1)
            if bands := _find_bands(runs, gutter):
                return bands
    return []


def _find_bands(runs: Sequence[TextRun], gutter: float) -> list[_Band]:
    """The bands between runs that cross the gutter, in which both sides are prose."""
    bands: list[_Band] = []
    group: list[TextRun] = []
    ordered = sorted(runs, key=lambda run: run.box.top)
    for run in (*ordered, None):
        crosses = run is None or (
            run.box.left < gutter - _CLEAR and run.box.right > gutter - _CLEAR
        )
        if not crosses and run is not None:
            group.append(run)
            continue
        if band := _band(group, gutter):
            bands.append(band)
        group = []
    return bands


def _band(runs: Sequence[TextRun], gutter: float) -> _Band | None:
    left = [run for run in runs if run.box.right <= gutter - _CLEAR]
    right = [run for run in runs if run.box.left >= gutter - _CLEAR]
    one, other = _column_of_prose(left), _column_of_prose(right)
    if one is None or other is None:
        return None
    shared = min(one[1], other[1]) - max(one[0], other[0])
    if shared < 0.5 * min(one[1] - one[0], other[1] - other[0]):
        return None
    return _Band(min(run.box.top for run in runs), max(run.box.bottom for run in runs), gutter)


def _column_of_prose(runs: Sequence[TextRun]) -> tuple[float, float] | None:
    """From where to where prose goes that fills its column; None if it is none."""
    prose = [run for run in runs if run.text.count(" ") >= _MIN_WORDS - 1]
    if len(prose) < _MIN_LINES or 2 * len(prose) < len(runs):
        return None
    width = max(run.box.right for run in prose) - min(run.box.left for run in prose)
    full = sum(run.box.right - run.box.left >= _FILLED * width for run in prose)
    if 3 * full < 2 * len(prose):
        return None
    return min(run.box.top for run in prose), max(run.box.bottom for run in prose)

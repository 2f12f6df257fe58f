"""How the lines of a PDF page stand: columns of prose in reading order, and rows of cells."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ragstone.core.document import Box
from ragstone.ingest.formats.pdf_lines import (
    BULLETS,
    HYPHEN,
    PageLine,
    TextRun,
    build_line,
    join_boxes,
)

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


def sort_into_columns(lines: Sequence[PageLine]) -> Iterator[list[PageLine]]:
    """Yield stretches of lines: what is above columns, each of the columns, what is below.

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
        for column in _cut_at_gutter(inside, band.gutter):
            yield from sort_into_columns(column)
    if rest:
        yield rest


def _middle(line: PageLine) -> float:
    return (line.box.top + line.box.bottom) / 2


def _cut_at_gutter(lines: Sequence[PageLine], gutter: float) -> Iterator[list[PageLine]]:
    """Yield the lines left of a gutter, and those right of it; one over both is cut in two."""
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
    # Edges are counted in steps of 3 points, as lines of a column are not set exactly.
    first = min((edge for edge, count in edges.items() if count > 1), default=0)
    # Left edges of prose, most frequent first: those of indented paragraphs are rarer than columns.
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
    # Prose that is not beside the other column is a page of one column with an indent.
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
    # Cells of a table are seldom full; lines of prose are, but for the last of a paragraph.
    if 3 * full < 2 * len(prose):
        return None
    return min(run.box.top for run in prose), max(run.box.bottom for run in prose)


_SIGN = r"[-+–—−]"
_CURRENCY = r"(?:(?:US|CA?|AU?|HK|NZ|S|R)?\$|[€£¥₹]|(?:EUR|USD|GBP|CHF)\s)"
_NUMBER = rf"\(?\s*{_SIGN}?\s*{_CURRENCY}?\s*\(?{_SIGN}?\s*(?:\d[\d.,'’\u202f]*|[.,]\d+)"
_AFTER = r"(?:\s?(?:%|\)|x|bps|pts?|pp|million|billion|[€$£]))*"
_NOTE = r"(?:\s?\(?[*†‡]+\)?|\s?\((?:\d{1,2}|[a-z])\)|[⁰¹²³⁴-⁹])*"
_VALUE = re.compile(
    rf"(?:{_NUMBER}(?:\s?{_NUMBER})?{_AFTER}{_NOTE}"
    rf"|{_CURRENCY}?\s*\(?(?:[-–—−]|--)\)?\s?%?{_NOTE}"
    r"|n/?a|N/?A|n/?m|N/?M|nil|\*+)"
)
_PREFIX = re.compile(rf"(?:\(?{_SIGN}?{_CURRENCY}\s*\(?{_SIGN}?|\()", re.IGNORECASE)
_SUFFIX = re.compile(r"[)%*†‡⁰¹²³⁴-⁹]+|\((?:\d{1,2}|[a-z])\)[,;]?|\)\s?%")
_TIGHT = re.compile(r"(?<=[$€£¥₹(])\s+(?=[\d.(\-–—−])|(?<=[\d)])\s+(?=[)%])|(?<=[–—-])\s+(?=%)")
_BULLET_RUN = re.compile(
    rf"[{BULLETS}·–—*-]|\(?(?:\d{{1,3}}|[A-Za-z]|[ivxIVX]{{1,5}})[.)]|\d+(?:\.\d+)+\.?"
    r"|(?:Item|Note|Section|Article|Step|Chapter|Part)\s+\w{1,4}[.:)]?|[*†‡]+",
    re.IGNORECASE,
)
_LEADERS = re.compile(r"\s*(?:\.\s?){4,}$|\s*…+$")
_RAISED = re.compile(r"\(?(?:\d{1,2}|[a-z]|[*†‡]+)\)?[,;]?")
_TOC_LEADERS = re.compile(r"(?:\.\s?){4,}\s*\w{0,5}$|…\s*\w{0,5}$")
_SLIVER = 7.0

_MAX_BRIDGES = 40
"""So many cells may lie over the gap between two columns."""

MAX_EDGE_GAP = 3.0
"""Points by which the edges of cells in one column may differ: they are set, not drawn."""


class Cell(NamedTuple):
    """Text that stands apart from what is left and right of it."""

    text: str
    box: Box
    is_value: bool = False

    @property
    def digits_end(self) -> float:
        """About where the digits end: a bracket or a percent sign hangs over."""
        after = len(self.text) - len(self.text.rstrip(")%* "))
        return self.box.right - after * (self.box.right - self.box.left) / max(len(self.text), 1)

    @property
    def center(self) -> float:
        return (self.box.left + self.box.right) / 2


@dataclass(frozen=True, slots=True)
class Row:
    """Cells on one baseline, from left to right; `size` is that of the largest type."""

    cells: tuple[Cell, ...]
    baseline: float
    size: float
    box: Box
    lines: frozenset[int]
    """The places of the lines that it has taken in."""

    has_leaders: bool = False
    bold: bool = False

    @property
    def text(self) -> str:
        return " ".join(cell.text for cell in self.cells)

    @property
    def has_figures(self) -> bool:
        """Whether there are figures beside the label, or several."""
        return any(cell.is_value for cell in self.cells[1:])

    @property
    def values(self) -> list[Cell]:
        return [cell for cell in self.cells if cell.is_value]


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a table as text, and where it stands."""

    text: str
    box: Box


def is_value(text: str) -> bool:
    """Tell whether a cell holds a figure, or what stands for one ("—", "N/A")."""
    return _VALUE.fullmatch(text) is not None


def build_rows(lines: Sequence[tuple[int, PageLine]]) -> list[Row]:
    """Return the runs of the lines (each with its place on the page) as rows, from the top down.

    A raised mark of a note goes to the row of what it stands beside.
    """
    runs = [(place, run) for place, line in lines for run in line.runs]
    groups: list[list[tuple[int, TextRun]]] = []
    raised: list[tuple[int, TextRun]] = []
    for place, run in sorted(runs, key=lambda item: item[1].baseline):
        # The mark of a note stands higher than its figure, and would be a row of its own.
        if _RAISED.fullmatch(run.text) and _is_raised(run, runs):
            raised.append((place, run))
        elif groups and _same_row(groups[-1][0][1], run):
            groups[-1].append((place, run))
        else:
            groups.append([(place, run)])
    for place, run in raised:
        # About a quarter of its size below a raised mark is the baseline of its text.
        near = min(groups, key=lambda item: abs(item[0][1].baseline - run.baseline - run.size / 4))
        near.append((place, run))
    return sorted((_row(group) for group in groups), key=lambda row: row.baseline)


def _same_row(first: TextRun, run: TextRun) -> bool:
    return run.baseline - first.baseline <= 0.3 * max(run.size, first.size, 1.0)


def _is_raised(run: TextRun, runs: Sequence[tuple[int, TextRun]]) -> bool:
    """Tell whether this is a small mark at the end of larger text."""
    return any(
        item.size > 1.1 * run.size
        and -2 <= run.box.left - item.box.right <= 0.5 * item.size
        and 0 <= item.baseline - run.baseline <= 0.6 * item.size
        for _, item in runs
    )


def _row(group: Iterable[tuple[int, TextRun]]) -> Row:
    ordered = sorted(group, key=lambda item: item[1].box.left)
    runs = [run for _, run in ordered]
    largest = max(runs, key=lambda run: run.size)
    leaders = any(_TOC_LEADERS.search(run.text) for run in runs)
    return Row(
        tuple(_cells(runs)),
        largest.baseline,
        largest.size,
        join_boxes([run.box for run in runs]),
        frozenset(place for place, _ in ordered),
        leaders,
        all(run.bold for run in runs),
    )


def _cells(runs: Sequence[TextRun]) -> list[Cell]:
    """Return runs become cells; a currency or a percent sign goes to the figure beside it."""
    merged: list[tuple[str, Box]] = []
    for i, run in enumerate(runs):
        # A cell ends nowhere in the middle of a word, so its hyphens are signs.
        text = run.text.replace(HYPHEN, "-").replace("\u00ad", "")
        if merged and _joins(
            merged[-1], text, run, first=len(merged) == 1, last=i + 1 == len(runs)
        ):
            before, box = merged[-1]
            merged[-1] = (f"{before} {text}", join_boxes([box, run.box]))
        else:
            merged.append((text, run.box))
    cells = []
    for text, box in merged:
        text = _LEADERS.sub("", _TIGHT.sub("", text))
        if text:
            cells.append(Cell(text, box, is_value(text)))
    return cells


def _joins(before: tuple[str, Box], text: str, run: TextRun, *, first: bool, last: bool) -> bool:
    gap = run.box.left - before[1].right
    # Filings set the "$" in a column of its own, far left of the figure.
    if _PREFIX.fullmatch(before[0]):
        return is_value(text) or text[:1].isdigit()
    if _SUFFIX.fullmatch(text):
        return gap < 2.5 * run.size and (is_value(before[0]) or gap < run.size)
    # The number of an item or of a section, and what it numbers.
    numbers = first and _BULLET_RUN.fullmatch(before[0]) is not None
    return numbers and gap < 6 * run.size and not is_value(text)


def find_columns(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """Return the left and the right edge of each column: where cells of rows with several lie over
    each other."""
    spans = [
        (number, cell.box.left, cell.box.right)
        for number, row in enumerate(rows)
        if len(row.cells) > 1
        for cell in row.cells
    ]
    return _without_slivers(_find_stretches(spans, 0), spans)


def _without_slivers(
    columns: Sequence[tuple[float, float]], spans: Sequence[tuple[int, float, float]]
) -> list[tuple[float, float]]:
    """Neighbours that no row has both of, and that nearly touch, are one column: a dash stands
    beside where figures end."""
    kept: list[tuple[float, float]] = []
    rows: list[set[int]] = []
    owners: list[set[int]] = [set() for _ in columns]
    for row, left, right in spans:
        shared = [min(right, end) - max(left, begin) for begin, end in columns]
        owners[shared.index(max(shared))].add(row)
    for (left, right), here in zip(columns, owners, strict=True):
        if kept and left - kept[-1][1] < _SLIVER and not here & rows[-1]:
            kept[-1] = (kept[-1][0], right)
            rows[-1] |= here
        else:
            kept.append((left, right))
            rows.append(here)
    return kept


def _find_stretches(
    spans: Sequence[tuple[int, float, float]], least: int
) -> list[tuple[float, float]]:
    """Return stretches that more than `least` cells cover. One in which a row has two cells is
    taken apart where fewest cells bridge the gap."""
    if not spans:
        return []
    edges = sorted(
        edge for _, left, right in spans for edge in ((left, 1), (max(right - 0.5, left + 0.1), -1))
    )
    found: list[tuple[float, float]] = []
    depth, begin = 0, 0.0
    for x, step in edges:
        before, depth = depth, depth + step
        if before == least and depth > least:
            begin = x
        elif before > least and depth == least:
            found.append((begin, x))
    columns = []
    for left, right in found:
        inside = [span for span in spans if span[1] < right and span[2] > left]
        rows = Counter(row for row, *_ in inside)
        crowded = sum(count > 1 for count in rows.values())
        # A title over all columns bridges their gaps; leaving out as many cells as bridge them
        # parts the columns. More than a third of the rows would be cells of their own.
        if crowded and crowded * 8 > len(rows) and least < min(len(rows) // 3, _MAX_BRIDGES):
            parts = _find_stretches(inside, least + 1)
            if len(parts) > 1:
                columns += parts
                continue
        columns.append((left, right))
    return columns


def find_column(cell: Cell, columns: Sequence[tuple[float, float]]) -> int:
    """Return the column that a cell lies over most, else the nearest."""
    shared = [min(cell.box.right, right) - max(cell.box.left, left) for left, right in columns]
    return max(range(len(columns)), key=lambda i: shared[i])

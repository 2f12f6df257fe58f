"""Heads of tables on a PDF page: which rows are one, and which columns each cell of it names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragstone.core.document import Box
from ragstone.ingest.formats.pdf_layout import MAX_EDGE_GAP, Cell, Row, TableRow
from ragstone.ingest.formats.pdf_lines import join_boxes, share_column

_ALIGNED = 4.0
_SKIPPED = 10.0
"""What a column without a name costs, in points by which a cell may miss the middle."""

_OUTSIDE = 200.0
_YEAR_CELL = re.compile(
    r"(?:fiscal\s+(?:year\s+)?|FY\s?)?(?:[a-z]+\.?\s+\d{1,2},\s+)?(?:19|20)\d\d", re.IGNORECASE
)


_PERIOD_WORD = re.compile(
    r"\b(?:ended|as of|at|months?|weeks?|quarters?|years?)\b|\d{4}", re.IGNORECASE
)

_MONTH = (
    r"(?:jan(?:uary|\.)?|feb(?:ruary|\.)?|mar(?:ch|\.)?|apr(?:il|\.)?|may|june?|july?"
    r"|aug(?:ust|\.)?|sept?(?:ember|\.)?|oct(?:ober|\.)?|nov(?:ember|\.)?|dec(?:ember|\.)?)"
)
_YEAR = r"(?:FY\s?|FY’|fiscal\s+(?:year\s+)?)?(?:19|20)\d\d(?:\s?[-–/]\s?(?:(?:19|20)?\d\d))?E?"
_NOTE = r"(?:\s?\((?:\d{1,2}|[a-z]|unaudited|as adjusted|restated)\)|\s?[*†])*"
_DATE = (
    rf"{_MONTH}\s+\d{{1,2}},?(?:\s+{_YEAR})?|\d{{1,2}}\s+{_MONTH}(?:\s+{_YEAR})?|{_MONTH}\s+{_YEAR}"
)
_PERIOD = re.compile(
    rf"(?:(?:as\s+(?:of|at)|at|on|for\s+the|the)\s+)*(?:{_YEAR}|{_DATE}|Q[1-4](?:\s*{_YEAR})?)"
    rf"(?:\s+(?:and|vs?\.?|versus|to)\s+(?:{_YEAR}|{_DATE}))?{_NOTE}",
    re.IGNORECASE,
)
_SPAN = re.compile(
    r"(?:for\s+the\s+)?(?:fiscal\s+|calendar\s+)?(?:(?:\w+|\d+)\s+)?(?:years?|months?|weeks?|quarters?"
    rf"|periods?)\s+ended(?:\s+(?:{_DATE}|{_YEAR}|and|,)+)*,?:?",
    re.IGNORECASE,
)
RANGE = re.compile(
    r"(?P<start>\d{1,4}(?:\.\d{1,2})?)\s?(?:[-–−]\s?(?P<end>\d{1,4}(?:\.\d{1,2})?)|\+)"
)
_MIN_RANGES, _SHORT_LABEL = 3, 3

_STUB_PERIOD = re.compile(
    rf"(?:as\s+of\s+|at\s+)?(?:{_DATE}),?|(?:fiscal\s+)?years?\s+ended\s+{_MONTH}.*"
    rf"|(?:\w+\s+){{0,3}}ended(?:\s+{_MONTH}.*)?,?",
    re.IGNORECASE,
)
UNIT = re.compile(
    r"\(?[^()]{0,40}\b(?:in|dollars?|amounts?|millions?|thousands?|billions?|unaudited|percent"
    r"|per\s+share|€|\$)\b[^()]{0,80}\)?[;,:]?(?:\s*\(unaudited\))?|\(?[$€£]\s?\w*\)?",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"[%$]?\s*(?:change|increase|decrease|growth|variance)s?.*|(?:vs\.?|versus)\s.*", re.I
)

_OVERHANG = 40.0
"""A name may begin so many points before the figures below it."""


def is_period(text: str) -> bool:
    return bool(_PERIOD.fullmatch(text) or _SPAN.fullmatch(text) or _CHANGE.fullmatch(text))


def is_period_row(row: Row) -> bool:
    """Tell whether a row names columns by years, dates or periods, or by ranges such as ages."""
    if _is_range_row(row):
        return True
    cells = list(row.cells)
    if not is_period(cells[0].text) or len(cells) == 1:
        cells = cells[1:] if len(cells) > 1 else cells
    named = [cell for cell in cells if is_period(cell.text)]
    if len(cells) < len(row.cells) and _PERIOD.fullmatch(row.cells[0].text) is None:
        # A label stands first: a row of contracts by the year in which they end has one too.
        stub = row.cells[0].text
        if not (_STUB_PERIOD.fullmatch(stub) or UNIT.fullmatch(stub)) and len(named) < 2:
            return False
    return (
        bool(named)
        and all(not cell.is_value or is_period(cell.text) for cell in cells)
        and any(re.search(r"\d{4}|ended", cell.text, re.I) for cell in named)
    )


def _is_range_row(row: Row) -> bool:
    """Tell whether cells are ranges that follow each other ("50–59", "60–69", "70+"), beside a
    label of a few words at most."""
    found = [RANGE.fullmatch(cell.text) for cell in row.cells]
    ranges = found if found[0] else found[1:]
    starts = [float(span["start"]) for span in ranges if span]
    return (
        len(starts) == len(ranges) >= _MIN_RANGES
        and sum(bool(span and span["end"]) for span in ranges) >= _MIN_RANGES - 1
        # Ranges that do not rise are values: "10-12" in a table of results.
        and all(before < after for before, after in pairwise(starts))
        and (ranges is found or len(row.cells[0].text.split()) <= _SHORT_LABEL)
    )


def is_over_columns(row: Row, left: float, right: float, middle: float) -> bool:
    """Tell whether a row stands over the columns, alone or beside a name for the labels."""
    if is_period_row(row):
        return True
    if row.has_figures or row.has_leaders:
        return False
    # Figures that end where their name does may all be narrower than that.
    over = [
        cell
        for cell in row.cells
        if left + MAX_EDGE_GAP < cell.box.right and cell.box.left <= right
    ]
    if not over or any(len(cell.text) > 60 for cell in row.cells):
        return False
    if len(row.cells) == 1:
        cell = row.cells[0]
        off = abs(cell.center - (left + right) / 2)
        if abs(cell.center - middle) < MAX_EDGE_GAP and off > 2 * MAX_EDGE_GAP:
            # A title stands over the middle of the page, not of the columns.
            return False
        above = cell.center >= left - MAX_EDGE_GAP and cell.box.left >= left - _OVERHANG
        return (above or off < 12) and len(cell.text.split()) <= 9
    return len(over) >= len(row.cells) - 1


def read_names(
    head: Sequence[Row], columns: Sequence[tuple[float, float]], stub: bool
) -> tuple[list[str], list[TableRow]]:
    """Return the names of the columns, and what else stands in the head."""
    notes: list[TableRow] = []
    prefix: list[str] = []
    rows: list[list[Cell]] = []
    first = columns[1][0] if stub else columns[0][0]
    for row in head:
        cells = list(row.cells)
        if stub and cells[0].center < first and cells[0].box.left < columns[0][1]:
            cell = cells.pop(0)
            if _STUB_PERIOD.fullmatch(cell.text) and cells:
                prefix.append(cell.text)
            else:
                notes.append(TableRow(cell.text, cell.box))
        if len(cells) == 1 and UNIT.fullmatch(cells[0].text) and not is_period(cells[0].text):
            notes.append(TableRow(cells[0].text, cells[0].box))
        else:
            rows.append(cells)
    lead = " ".join(prefix)
    names = _name_columns(rows, columns, int(stub))
    # A date beside the years leads each of them: "December 31, 2022".
    if lead:
        names = [f"{lead} {name}" if re.match(_YEAR, name) else name for name in names]
    return names, notes


@dataclass(slots=True)
class _Stack:
    """The lines of one cell of a head, from its first to its last row."""

    texts: list[str]
    box: Box
    first: int
    last: int

    @property
    def text(self) -> str:
        return " ".join(self.texts).replace("- ", "-")

    @property
    def center(self) -> float:
        return (self.box.left + self.box.right) / 2


def _name_columns(
    rows: Sequence[Sequence[Cell]], columns: Sequence[tuple[float, float]], first: int
) -> list[str]:
    """The name of each column, from the top of the head down; those before `first` have none.

    A cell over several columns is part of the name of each.
    """
    named: list[tuple[int, str, range]] = []
    leaves = list(columns[first:])
    levels = _levels(_stacks(rows))
    for depth, level in enumerate(levels):
        below = list(leaves)
        ranges = _ranges(level, columns[first:], below, are_groups=depth > 0)
        # Where none found a column, a level of the same cells would find none either, without end.
        raises = any(ranges) or depth == 0 or depth + 1 < len(levels)
        for cell, found in zip(level, ranges, strict=True):
            if not found and len(level) > 1 and raises:
                # It found no column of its own.
                # It stands between the cells below it, and so above several of them.
                _raise(levels, depth, cell)
                continue
            named.append((cell.first, cell.text, found))
            if len(found) == 1:
                leaves[found.start] = cell.box.left, cell.box.right
    # Read from the top down: "Year ended" before "2022".
    names: list[list[str]] = [[] for _ in columns]
    for _, text, found in sorted(named, key=lambda item: item[0]):
        for column in found:
            if text not in names[first + column]:
                names[first + column].append(text)
    return [" ".join(parts) for parts in names]


def _raise(levels: list[list[_Stack]], depth: int, cell: _Stack) -> None:
    if depth + 1 == len(levels):
        levels.append([])
    levels[depth + 1] = sorted([*levels[depth + 1], cell], key=lambda item: item.box.left)


def _stacks(rows: Sequence[Sequence[Cell]]) -> list[_Stack]:
    """Return cells, those whose text is wrapped over several rows as one, from the top down."""
    done: list[_Stack] = []
    for number, cells in enumerate(rows):
        here = []
        for cell in cells:
            over = [item for item in done if share_column(item.box, cell.box)]
            last = max((item.last for item in over), default=0)
            over = [item for item in over if item.last == last]
            under = [item for item in cells if over and share_column(over[0].box, item.box)]
            alone = len(over) == len(under) == 1
            # One period over several columns stands over the middle one too.
            if (
                alone
                and not (
                    len(cells) > 1 == len(rows[last]) and _PERIOD_WORD.search(over[0].texts[-1])
                )
                and _is_wrapped(over[0], cell)
            ):
                stack = over[0]
                stack.texts.append(cell.text)
                stack.box, stack.last = join_boxes([stack.box, cell.box]), number
            else:
                here.append(_Stack([cell.text], cell.box, number, number))
        done += here
    return done


def _levels(stacks: Sequence[_Stack]) -> list[list[_Stack]]:
    """The cells with none below them, then those above these, and so on; each from the left."""
    depths: list[int] = []
    for stack in reversed(stacks):
        below = [
            (item, depth)
            for item, depth in zip(reversed(stacks), depths, strict=False)
            if item.first > stack.last
        ]
        over = [(item, depth) for item, depth in below if share_column(item.box, stack.box)]
        beside = [] if over else _neighbour_depths(stack, below)
        if sum(item.first == stack.first for item in stacks) == 1:
            # Alone in its row it may stand over the gap between two cells, and further down over
            # the name of a column.
            nearest = min((item.first for item, _ in over), default=len(stacks))
            for row in range(stack.last + 1, nearest):
                beside += _neighbour_depths(stack, [pair for pair in below if pair[0].first == row])
        depths.append(max([*beside, *(depth for _, depth in over)], default=-1) + 1)
    levels: list[list[_Stack]] = [[] for _ in range(max(depths, default=-1) + 1)]
    for stack, depth in zip(reversed(stacks), depths, strict=True):
        levels[depth].append(stack)
    return [sorted(level, key=lambda item: item.box.left) for level in levels]


def _neighbour_depths(stack: _Stack, below: Sequence[tuple[_Stack, int]]) -> list[int]:
    """Return the depths of the two cells between which one stands that has none right below it."""
    left = [pair for pair in below if pair[0].center < stack.center]
    right = [pair for pair in below if pair[0].center > stack.center]
    if not left or not right:
        return []
    nearest = (
        max(left, key=lambda pair: pair[0].center),
        min(right, key=lambda pair: pair[0].center),
    )
    return [depth for _, depth in nearest]


def _is_wrapped(stack: _Stack, cell: Cell) -> bool:
    """Tell whether a cell goes on with the text above it; a year is a level of its own."""
    if _YEAR_CELL.fullmatch(stack.texts[-1]) and not cell.text.startswith("("):
        return False
    near = cell.box.top - stack.box.bottom < 0.8 * (cell.box.bottom - cell.box.top)
    aligned = min(
        abs(stack.center - cell.center),
        abs(stack.box.left - cell.box.left),
        abs(stack.box.right - cell.box.right),
    )
    return near and aligned <= _ALIGNED


def _ranges(
    cells: Sequence[_Stack],
    columns: Sequence[tuple[float, float]],
    leaves: Sequence[tuple[float, float]],
    *,
    are_groups: bool,
) -> list[range]:
    """Return the columns of each cell: stretches in order, over whose middles the cells stand best,
    with as few columns left out as can be. `leaves` are the columns' lowest names, which may stand
    beside the figures below. Where all `are_groups` that begin where a column does, they are set
    left."""
    set_left = (
        are_groups
        and len(cells) > 1
        and all(any(abs(cell.box.left - left) <= 1 for left, _ in leaves) for cell in cells)
    )
    size = len(columns)
    # costs[k][n]: the least for the first k cells over the first n columns, and the last range.
    costs: list[list[tuple[float, range]]] = [[(n * _SKIPPED, range(0)) for n in range(size + 1)]]
    for cell in cells:
        before = costs[-1]
        line = [(before[0][0] + _OUTSIDE, range(0))]
        for end in range(1, size + 1):
            # Either the last column has no name, or the cell names none, or it names a stretch up
            # to here.
            best = line[end - 1][0] + _SKIPPED, range(0)
            lost = before[end][0] + _OUTSIDE, range(-1, -1)
            best = min(best, lost, key=lambda item: item[0])
            for start in range(end):
                if set_left:
                    miss = abs(cell.box.left - leaves[start][0])
                else:
                    miss = min(_miss(cell, columns[start:end]), _miss(cell, leaves[start:end]))
                cost = before[start][0] + miss
                if cost < best[0]:
                    best = cost, range(start, end)
            line.append(best)
        costs.append(line)
    return _trace_path(costs, len(cells), size)


def _trace_path(
    costs: Sequence[Sequence[tuple[float, range]]], count: int, size: int
) -> list[range]:
    found: list[range] = []
    end = size
    while count:
        taken = costs[count][end][1]
        if taken:
            found.append(taken)
            end, count = taken.start, count - 1
        elif taken.start < 0 or not end:
            found.append(range(0))
            count -= 1
        else:
            end -= 1
    return found[::-1]


def _miss(cell: _Stack, columns: Sequence[tuple[float, float]]) -> float:
    """Tell how far a cell is from standing over these columns, in points."""
    left, right = columns[0][0], columns[-1][1]
    if len(columns) == 1:
        off = min(
            abs((left + right) / 2 - cell.center),
            abs(left - cell.box.left),
            abs(right - cell.box.right),
        )
        apart = max(left - cell.box.right, cell.box.left - right, 0.0)
        # A cell beside a single column is worse than one that only misses its middle.
        return off + 2 * apart
    off = abs((left + right) / 2 - cell.center)
    return off + max(cell.box.left - right, left - cell.box.right, 0.0)

"""Tables of a PDF page, from how its cells are aligned: filings rule hardly any of theirs."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from ragstone.core.document import Box
from ragstone.ingest.formats.pdf_heads import (
    RANGE,
    UNIT,
    is_over_columns,
    is_period,
    is_period_row,
    read_names,
)
from ragstone.ingest.formats.pdf_layout import (
    MAX_EDGE_GAP,
    Cell,
    Row,
    TableRow,
    build_rows,
    find_column,
    find_columns,
)
from ragstone.ingest.formats.pdf_lines import PageLine, join_boxes

_MAX_BETWEEN = 6
"""So many rows without figures may follow each other within a table."""

_MAX_HEADER_ROWS = 8
MAX_RUNS = 4_000
"""What has more on a page is a drawing or an attack."""

_MAX_COLUMNS = 60
_MAX_GAP = 4.0
"""A gap of more usual steps from row to row than this ends a table."""

_HEADER_GAP = 2.6
_SHORT_WORDS = 7
_NEXT = 60.0
"""Tables are next to each other if at most so many points are between them."""

_ALIGNED = 4.0
_MIDDLE = 72.0
"""A label so many points right of the others is in the middle of its table."""

_DANGLING = re.compile(
    r"(?:,|[-–—/]|\b(?:and|or|of|to|in|for|from|by|the|on|with|net|per|a|an|used|at|as|than))$",
    re.I,
)
_GENERIC = re.compile(
    r"others?\b.{0,30}|basic|diluted|total|net|current|non-?current|deferred|federal|state|local"
    r"|domestic|foreign|international|united states|u\.s\.|products?|services?|services and other",
    re.IGNORECASE,
)
_PAGE = re.compile(r"\d{1,4}")
_PAGE_NAME = re.compile(
    r"pages?(?:\s+(?:no\.?|numbers?))?|seite|página|pagina|strona|页码?|頁|ページ", re.IGNORECASE
)
_TOTAL = re.compile(r"(?:sub-?)?totals?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its rows, the notes in its head that are no column's name, the names themselves.

    `lines` are the places of the lines that it has taken in.
    """

    rows: tuple[TableRow, ...]
    notes: tuple[TableRow, ...]
    names: tuple[str, ...]
    lines: frozenset[int]
    box: Box
    columns: tuple[tuple[float, float], ...] = ()


def find_tables(lines: Sequence[tuple[int, PageLine]], before: Table | None = None) -> list[Table]:
    """Return the tables among the lines of a page or of one of its columns, from the top down.

    One without names whose columns stand below those of the one right before it has its names;
    `before` is the one with which the page before ended.
    """
    if sum(len(line.runs) for _, line in lines) > MAX_RUNS:
        return []
    # A box far higher than its type is text that runs upwards, as beside a table: it would join
    # rows that do not belong together.
    upright = [item for item in lines if item[1].box.bottom - item[1].box.top < 4 * item[1].size]
    rows = build_rows(upright)
    pitch = _pitch(rows)
    edges = join_boxes([row.box for row in rows]) if rows else Box(0, 0, 0, 0)
    middle = (edges.left + edges.right) / 2
    found: list[Table] = []
    free = 0
    for start, end in _cores(rows, pitch):
        # `free` keeps a head from reaching into the table above it.
        for top, first, last in _parts(rows, start, end, _Above(free, pitch, middle)):
            above = before
            if found:
                near = rows[top].box.top - found[-1].box.bottom < _NEXT
                above = found[-1] if near and len(found[-1].columns) > 2 else None
            if table := _table(rows[top:first], rows[first : last + 1], above):
                found.append(table)
                free = last + 1
    return found


def _pitch(rows: Sequence[Row]) -> float:
    """Return the usual step from one row to the next, in points."""
    steps = sorted(below.baseline - row.baseline for row, below in pairwise(rows))
    return steps[len(steps) // 2] if steps else 12.0


def _cores(rows: Sequence[Row], pitch: float) -> Iterator[tuple[int, int]]:
    """Yield the first and the last row with figures of what may be one table."""
    place = 0
    while place < len(rows):
        if not rows[place].has_figures:
            place += 1
            continue
        start = end = place
        left = _values_left(rows[place])
        figures = len(rows[place].values)
        place += 1
        while place < len(rows) and place - end <= _MAX_BETWEEN:
            row = rows[place]
            if row.baseline - rows[place - 1].baseline > max(_MAX_GAP * pitch, 3.5 * row.size):
                break
            if row.has_figures or _is_lone_value(row, left):
                end, left = place, min(left, _values_left(row))
                figures += len(row.values)
            elif not _fits(row, left):
                break
            place += 1
        # A single figure beside words is a sentence or an address, not a table.
        if end > start or figures > 1 or rows[start].has_leaders:
            yield start, end
        place = end + 1


def _is_lone_value(row: Row, left: float) -> bool:
    return len(row.cells) == 1 and row.cells[0].is_value and row.cells[0].box.left >= left


def _values_left(row: Row) -> float:
    cells = row.cells[1:] if len(row.cells) > 1 else row.cells
    return min(cell.box.left for cell in cells if cell.is_value)


def _fits(row: Row, left: float) -> bool:
    """Tell whether a row without figures can stand between rows of a table whose figures start
    here: a label, or a short head over some columns, but no line of prose."""
    if row.box.right <= left + MAX_EDGE_GAP:
        return True
    if len(row.cells) > 1:
        return all(len(cell.text) <= 60 for cell in row.cells[1:])
    return len(row.text.split()) <= _SHORT_WORDS and len(row.text) <= 60


class _Above(NamedTuple):
    """What bounds the head of a table: the first row that is free, the usual step from row to
    row, and the middle of the page."""

    free: int
    pitch: float
    middle: float


def _parts(
    rows: Sequence[Row], start: int, end: int, above: _Above
) -> Iterator[tuple[int, int, int]]:
    """Cut rows where a new head begins: for each table the first row of its head, the first and
    the last of its body."""
    heads = [i for i in range(start, end + 1) if is_period_row(rows[i])]
    firsts: list[int] = []
    for i in range(start, end + 1):
        if (
            i not in heads
            and rows[i].has_figures
            and (not firsts or any(firsts[-1] < head < i for head in heads))
        ):
            firsts.append(i)
    if not firsts:
        return
    for place, first in enumerate(firsts):
        last = end
        if place + 1 < len(firsts):
            last = max(
                i for i in range(first, firsts[place + 1]) if i not in heads and rows[i].has_figures
            )
        top = _head_top(rows, first, _body_left(rows[first : last + 1]), above)
        yield top, first, last
        above = above._replace(free=last + 1)


def _body_left(rows: Sequence[Row]) -> float:
    """Return where the columns after the first begin."""
    return min((_values_left(row) for row in rows if row.has_figures), default=0.0)


def _head_top(rows: Sequence[Row], first: int, left: float, above: _Above) -> int:
    """Tell how far up the head of a body reaches that begins at `first`."""
    # A total far below may be wider than the columns; the first rows tell their width.
    right = max(row.box.right for row in rows[first : first + 5])
    top = first
    for place in range(first - 1, max(above.free, first - _MAX_HEADER_ROWS) - 1, -1):
        row, below = rows[place], rows[place + 1]
        if below.baseline - row.baseline > max(_HEADER_GAP * above.pitch, 2.2 * row.size):
            break
        if is_over_columns(row, left, right, above.middle):
            top = place
        # Labels of groups may stand between the head and the first row, and the name of the labels
        # halfway between two rows of the head.
        elif not (_is_label(row, left) and (top == first or _is_too_close(rows[place - 1], row))):
            break
    return top


def _is_too_close(above: Row, row: Row) -> bool:
    """Tell whether a row stands too close to the one above it to be the next line of it."""
    return row.baseline - above.baseline < 0.8 * row.size


def _is_label(row: Row, left: float) -> bool:
    return len(row.cells) == 1 and row.box.right <= left + MAX_EDGE_GAP


@dataclass(slots=True)
class _Record:
    """A row of the body: its label, the text of its other columns, and where it stands."""

    label: str
    indent: float
    values: dict[int, str]
    boxes: list[Box]
    baseline: float
    size: float
    figures: bool = False

    @property
    def is_group(self) -> bool:
        return bool(self.label) and not self.values


def _table(head: Sequence[Row], body: Sequence[Row], above: Table | None) -> Table | None:
    columns = find_columns(body)
    # More columns than this are the marks of a chart or a map.
    if not 2 <= len(columns) <= _MAX_COLUMNS:
        return None
    lines = frozenset(place for row in (*head, *body) for place in row.lines)
    box = join_boxes([row.box for row in (*head, *body)])
    if _is_contents(head, body, columns):
        rows = tuple(_contents_row(row) for row in (*head, *body))
        return Table(rows, (), (), lines, box)
    if not _is_aligned(body, columns, bool(head)):
        return None
    stub = _has_stub(body, columns)
    head, body = _separate_labels(head, body, columns)
    is_name = [not _is_label(row, columns[1][0]) or is_period_row(row) for row in head]
    end = len(head) - is_name[::-1].index(True) if True in is_name else 0
    top, labels = head[:end], head[end:]
    names, notes = read_names(top, columns, stub)
    # A table goes on upon the next page, or below a heading of its own, without repeating its head.
    if not any(names) and above is not None and _stand_below(columns, above.columns):
        names = list(above.names)
    records = _records([*labels, *body], columns, stub)
    rows = tuple(_lines(records, names, stub))
    return Table(rows, tuple(notes), tuple(names), lines, box, tuple(columns)) if rows else None


def _stand_below(
    columns: Sequence[tuple[float, float]], above: Sequence[tuple[float, float]]
) -> bool:
    """Tell whether as many columns stand in the same places."""
    return len(columns) == len(above) and all(
        min(right, end) - max(left, begin) > 0.5 * min(right - left, end - begin)
        for (left, right), (begin, end) in zip(columns, above, strict=True)
    )


def _is_contents(
    head: Sequence[Row], body: Sequence[Row], columns: Sequence[tuple[float, float]]
) -> bool:
    """Tell whether this is a table of contents: titles and pages, and dots between the two or a
    head that says so."""
    if len(columns) > 3:
        return False
    if any(row.has_leaders for row in body):
        return True
    last = [row.cells[-1].text for row in body if len(row.cells) > 1]
    pages = [int(text) for text in last if _PAGE.fullmatch(text)]
    named = not head or any(_PAGE_NAME.fullmatch(cell.text) for row in head for cell in row.cells)
    rising = all(before <= page for before, page in pairwise(pages))
    return named and rising and 4 <= len(pages) == len(last) and len(columns) == 2


def _contents_row(row: Row) -> TableRow:
    """Return a line of a table of contents nearly as it is shown."""
    between = " .... " if row.has_leaders else " | "
    label = " ".join(cell.text for cell in row.cells[:-1])
    text = f"{label}{between}{row.cells[-1].text}" if label else row.text
    return TableRow(text, row.box)


def _separate_labels(
    head: Sequence[Row], body: Sequence[Row], columns: Sequence[tuple[float, float]]
) -> tuple[Sequence[Row], Sequence[Row]]:
    """Several rows with a label of their own are no head, but rows of words."""
    own = [
        place
        for place, row in enumerate(head)
        if len(row.cells) > 1
        and row.cells[0].box.right <= columns[1][0] + MAX_EDGE_GAP
        and not is_period_row(row)
        and not UNIT.fullmatch(row.cells[0].text)
    ]
    # One label over the labels is the name of the first column.
    if len(own) < 2:
        return head, body
    cut = own[0] or 1
    return head[:cut], [*head[cut:], *body]


def _is_aligned(rows: Sequence[Row], columns: Sequence[tuple[float, float]], headed: bool) -> bool:
    """Tell whether most figures end, begin or are centered where another of their column does, as
    those of a table do; addresses and drawings have figures side by side by chance."""
    cells: list[list[Cell]] = [[] for _ in columns]
    for row in rows:
        for cell in row.cells[1:] if len(row.cells) > 1 else row.cells:
            if cell.is_value:
                cells[find_column(cell, columns)].append(cell)
    count = sum(map(len, cells))
    # With one figure in each column nothing can be aligned; then only a head shows a table.
    if count == sum(map(bool, cells)):
        return headed and count > 1
    return 2 * sum(_count_aligned(column) for column in cells) >= count


def _count_aligned(cells: Sequence[Cell]) -> int:
    """Tell how many cells share an edge or the middle with another one."""
    found = 0
    for cell in cells:
        found += any(
            other is not cell
            and min(
                abs(cell.digits_end - other.digits_end),
                abs(cell.box.right - other.box.right),
                abs(cell.box.left - other.box.left),
                abs(cell.center - other.center),
            )
            < _ALIGNED
            for other in cells
        )
    return found


def _has_stub(rows: Sequence[Row], columns: Sequence[tuple[float, float]]) -> bool:
    """Whether the first column labels the rows: by words, by years, or by ranges such as ages."""
    first = [row.cells[0] for row in rows if find_column(row.cells[0], columns) == 0]
    words = sum(
        not cell.is_value or is_period(cell.text) or RANGE.fullmatch(cell.text) is not None
        for cell in first
    )
    return words * 2 >= len(first)


def _records(
    rows: Sequence[Row], columns: Sequence[tuple[float, float]], stub: bool
) -> list[_Record]:
    """Return the rows of a body; what is wrapped over several lines is one."""
    records: list[_Record] = []
    steps = sorted(below.baseline - row.baseline for row, below in pairwise(rows))
    # Rows closer than most are lines of one cell; of a few rows nobody can tell what is usual.
    tight = 0.8 * steps[len(steps) // 2] if len(steps) > 3 else 0.0
    for row in rows:
        record = _record(row, columns, stub)
        before = records[-1] if records else None
        if before is not None and _continues(before, record, tight):
            _append(before, record)
        else:
            records.append(record)
    return records


def _record(row: Row, columns: Sequence[tuple[float, float]], stub: bool) -> _Record:
    label, indent, figures = "", row.box.left, False
    values: dict[int, str] = {}
    for place, cell in enumerate(row.cells):
        column = find_column(cell, columns)
        lone = len(row.cells) == 1 and not cell.is_value and cell.box.left < columns[1][0]
        if stub and place == 0 and (column == 0 or lone):
            label, indent = cell.text, cell.box.left
        else:
            text = values.get(column, "")
            values[column] = f"{text} {cell.text}" if text else cell.text
            figures = figures or cell.is_value
    return _Record(label, indent, values, [row.box], row.baseline, row.size, figures)


def _continues(before: _Record, record: _Record, tight: float) -> bool:
    """Tell whether a row is the rest of the one before it; closer than `tight`, only such are."""
    # Wrapped lines follow within two type sizes. Scanned or damaged fonts say sizes near 0.
    if record.baseline - before.baseline > 1.9 * max(record.size, before.size, 6.0):
        return False
    if not record.label:
        # Figures beside the second line of a label, or more text in the same columns.
        wrapped = before.values and not record.figures and set(record.values) <= set(before.values)
        return bool(wrapped) or (before.is_group and not before.label.endswith(":"))
    # "Assets:" heads a group, whose first row is not its second line.
    if before.label.endswith(":") or not before.label:
        return False
    # Both have figures of their own, so they are two rows, however close.
    if before.figures and record.figures:
        return False
    begun = record.label[:1].islower() or bool(_DANGLING.search(before.label))
    begun = begun or record.baseline - before.baseline < tight
    if before.figures and not record.values:
        return begun and record.indent >= before.indent - MAX_EDGE_GAP
    return begun


def _append(before: _Record, record: _Record) -> None:
    if record.label:
        # "non-" and "current" are one word again.
        gap = "" if before.label.endswith("-") and record.label[:1].islower() else " "
        before.label = f"{before.label}{gap}{record.label}"
    for column, text in record.values.items():
        known = before.values.get(column, "")
        before.values[column] = f"{known} {text}" if known else text
    before.figures = before.figures or record.figures
    before.boxes += record.boxes
    before.baseline = record.baseline


class _Groups:
    """The labels without figures that stand above a row.

    A group ends with a row that is less indented, or as much as its label where its own rows are
    indented more; in a flat table, with its total. `base` is where labels begin; a group far right
    of that stands in the middle, over all rows up to the next one.
    """

    def __init__(self, base: float) -> None:
        self._base = base
        self._open: list[tuple[float, str]] = []
        self._indents = False
        self._fresh = False

    def enter(self, record: _Record) -> None:
        indent = record.indent if record.indent < self._base + _MIDDLE else self._base
        keep = indent - MAX_EDGE_GAP
        self._open = [item for item in self._open if item[0] < keep]
        self._open.append((indent, record.label.rstrip(": ")))
        self._fresh = True

    def above(self, record: _Record) -> list[str]:
        if not record.label:
            return [text for _, text in self._open]
        if self._fresh and self._open:
            self._indents = record.indent > self._open[-1][0] + MAX_EDGE_GAP
            self._fresh = False
        keep = record.indent + (-MAX_EDGE_GAP if self._indents else MAX_EDGE_GAP)
        self._open = [item for item in self._open if item[0] < keep]
        found = [text for _, text in self._open]
        # In a flat table nothing but its total shows where a group ends.
        if not self._indents and _TOTAL.match(record.label):
            self._open.clear()
        return found


def _lines(records: Sequence[_Record], names: Sequence[str], stub: bool) -> Iterator[TableRow]:
    """Yield each row as a record that repeats the names of its columns. A label that says too
    little alone has the name of its group before it."""
    counts = Counter(record.label for record in records if record.values)
    groups = _Groups(min((item.indent for item in records if item.values), default=0.0))
    named = any(names[1:] if stub else names)
    for record in records:
        box = join_boxes(record.boxes)
        if record.is_group:
            groups.enter(record)
            yield TableRow(record.label, box)
            continue
        label = record.label
        above = groups.above(record)
        if not label:
            # A sum without a label is that of the group.
            label = above[-1] if above else ""
        # "Other" or "Basic" means nothing in a chunk that does not hold the heading above.
        elif counts[label] > 1 or _GENERIC.fullmatch(label):
            label = " > ".join([*above[-1:], label])
        parts = [label] if label else []
        for column in sorted(record.values):
            name = names[column]
            parts.append(f"{name}: {record.values[column]}" if name else record.values[column])
        yield TableRow(("; " if named else " | ").join(parts), box)

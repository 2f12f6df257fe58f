"""Tables of a PDF page, from how its cells are aligned: filings rule hardly any of theirs."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from ragstone.core.document import Box
from ragstone.ingest.formats.pdf_heads import column_names
from ragstone.ingest.formats.pdf_lines import PageLine, around
from ragstone.ingest.formats.pdf_rows import Cell, Row, build_rows

_MAX_BETWEEN = 6
"""So many rows without figures may follow each other within a table."""

_MAX_HEADER_ROWS = 8
MAX_RUNS = 4_000
"""What has more on a page is a drawing or an attack."""

_MAX_COLUMNS = 60
_MAX_BRIDGES = 40
"""So many cells may lie over the gap between two columns."""

_MAX_GAP = 4.0
"""A gap of more usual steps from row to row than this ends a table."""

_HEADER_GAP = 2.6
_SHORT_WORDS = 7
_NEAR = 3.0
_SLIVER = 7.0
_NEXT = 60.0
"""Tables are next to each other if at most so many points are between them."""

_ALIGNED = 4.0
_OVERHANG = 40.0
"""A name may begin so many points before the figures below it."""

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
_RANGE = re.compile(
    r"(?P<start>\d{1,4}(?:\.\d{1,2})?)\s?(?:[-–−]\s?(?P<end>\d{1,4}(?:\.\d{1,2})?)|\+)"
)
_LEAST_RANGES, _SHORT_LABEL = 3, 3
_MIDDLE = 72.0
"""A label so many points right of the others is in the middle of its table."""

_STUB_PERIOD = re.compile(
    rf"(?:as\s+of\s+|at\s+)?(?:{_DATE}),?|(?:fiscal\s+)?years?\s+ended\s+{_MONTH}.*"
    rf"|(?:\w+\s+){{0,3}}ended(?:\s+{_MONTH}.*)?,?",
    re.IGNORECASE,
)
_UNIT = re.compile(
    r"\(?[^()]{0,40}\b(?:in|dollars?|amounts?|millions?|thousands?|billions?|unaudited|percent"
    r"|per\s+share|€|\$)\b[^()]{0,80}\)?[;,:]?(?:\s*\(unaudited\))?|\(?[$€£]\s?\w*\)?",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"[%$]?\s*(?:change|increase|decrease|growth|variance)s?.*|(?:vs\.?|versus)\s.*", re.I
)
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
class TableRow:
    """One row of a table as text, and where it stands."""

    text: str
    box: Box


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
    """The tables among the lines of a page or of one of its columns, from the top down.

    One without names whose columns stand below those of the one right before it has its names;
    `before` is the one with which the page before ended.
    """
    if sum(len(line.runs) for _, line in lines) > MAX_RUNS:
        return []
    upright = [item for item in lines if item[1].box.bottom - item[1].box.top < 4 * item[1].size]
    rows = build_rows(upright)
    pitch = _pitch(rows)
    edges = around([row.box for row in rows]) if rows else Box(0, 0, 0, 0)
    middle = (edges.left + edges.right) / 2
    found: list[Table] = []
    free = 0
    for start, end in _cores(rows, pitch):
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
    """The usual step from one row to the next, in points."""
    steps = sorted(below.baseline - row.baseline for row, below in pairwise(rows))
    return steps[len(steps) // 2] if steps else 12.0


def _cores(rows: Sequence[Row], pitch: float) -> Iterator[tuple[int, int]]:
    """The first and the last row with figures of what may be one table."""
    place = 0
    while place < len(rows):
        if not _is_body(rows[place]):
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
            if _is_body(row) or _is_lone_value(row, left):
                end, left = place, min(left, _values_left(row))
                figures += len(row.values)
            elif not _fits(row, left):
                break
            place += 1
        if end > start or figures > 1 or rows[start].has_leaders:
            yield start, end
        place = end + 1


def _is_body(row: Row) -> bool:
    """Whether a row has figures beside its label, or several."""
    return any(cell.is_value for cell in row.cells[1:])


def _is_lone_value(row: Row, left: float) -> bool:
    return len(row.cells) == 1 and row.cells[0].is_value and row.cells[0].box.left >= left


def _values_left(row: Row) -> float:
    cells = row.cells[1:] if len(row.cells) > 1 else row.cells
    return min(cell.box.left for cell in cells if cell.is_value)


def _fits(row: Row, left: float) -> bool:
    """Whether a row without figures can stand between rows of a table whose figures start here:
    a label, or a short head over some columns, but no line of prose."""
    if row.box.right <= left + _NEAR:
        return True
    if len(row.cells) > 1:
        return all(len(cell.text) <= 60 for cell in row.cells[1:])
    return len(row.text.split()) <= _SHORT_WORDS and len(row.text) <= 60


def _is_period(text: str) -> bool:
    return bool(_PERIOD.fullmatch(text) or _SPAN.fullmatch(text) or _CHANGE.fullmatch(text))


def _is_period_row(row: Row) -> bool:
    """Whether a row names columns by years, dates or periods, or by ranges such as ages."""
    if _is_range_row(row):
        return True
    cells = list(row.cells)
    if not _is_period(cells[0].text) or len(cells) == 1:
        cells = cells[1:] if len(cells) > 1 else cells
    named = [cell for cell in cells if _is_period(cell.text)]
    if len(cells) < len(row.cells) and _PERIOD.fullmatch(row.cells[0].text) is None:
        # A label stands first: a row of contracts by the year in which they end has one too.
        stub = row.cells[0].text
        if not (_STUB_PERIOD.fullmatch(stub) or _UNIT.fullmatch(stub)) and len(named) < 2:
            return False
    return (
        bool(named)
        and all(not cell.is_value or _is_period(cell.text) for cell in cells)
        and any(re.search(r"\d{4}|ended", cell.text, re.I) for cell in named)
    )


def _is_range_row(row: Row) -> bool:
    """Whether cells are ranges that follow each other ("50–59", "60–69", "70+"), beside a label
    of a few words at most."""
    found = [_RANGE.fullmatch(cell.text) for cell in row.cells]
    ranges = found if found[0] else found[1:]
    starts = [float(span["start"]) for span in ranges if span]
    return (
        len(starts) == len(ranges) >= _LEAST_RANGES
        and sum(bool(span and span["end"]) for span in ranges) >= _LEAST_RANGES - 1
        and all(before < after for before, after in pairwise(starts))
        and (ranges is found or len(row.cells[0].text.split()) <= _SHORT_LABEL)
    )


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
    heads = [i for i in range(start, end + 1) if _is_period_row(rows[i])]
    firsts: list[int] = []
    for i in range(start, end + 1):
        if (
            i not in heads
            and _is_body(rows[i])
            and (not firsts or any(firsts[-1] < head < i for head in heads))
        ):
            firsts.append(i)
    if not firsts:
        return
    for place, first in enumerate(firsts):
        last = end
        if place + 1 < len(firsts):
            last = max(
                i for i in range(first, firsts[place + 1]) if i not in heads and _is_body(rows[i])
            )
        top = _head_top(rows, first, _body_left(rows[first : last + 1]), above)
        yield top, first, last
        above = above._replace(free=last + 1)


def _body_left(rows: Sequence[Row]) -> float:
    """Where the columns after the first begin."""
    return min((_values_left(row) for row in rows if _is_body(row)), default=0.0)


def _head_top(rows: Sequence[Row], first: int, left: float, above: _Above) -> int:
    """How far up the head of a body reaches that begins at `first`."""
    right = max(row.box.right for row in rows[first : first + 5])
    top = first
    for place in range(first - 1, max(above.free, first - _MAX_HEADER_ROWS) - 1, -1):
        row, below = rows[place], rows[place + 1]
        if below.baseline - row.baseline > max(_HEADER_GAP * above.pitch, 2.2 * row.size):
            break
        if _names_columns(row, left, right, above.middle):
            top = place
        # Labels of groups may stand between the head and the first row, and the name of the labels
        # halfway between two rows of the head.
        elif not (_is_label(row, left) and (top == first or _is_beside(rows[place - 1], row))):
            break
    return top


def _is_beside(above: Row, row: Row) -> bool:
    """Whether a row stands too close to the one above it to be the next line of it."""
    return row.baseline - above.baseline < 0.8 * row.size


def _is_label(row: Row, left: float) -> bool:
    return len(row.cells) == 1 and row.box.right <= left + _NEAR


def _names_columns(row: Row, left: float, right: float, middle: float) -> bool:
    """Whether a row stands over the columns, alone or beside a name for the labels."""
    if _is_period_row(row):
        return True
    if _is_body(row) or row.has_leaders:
        return False
    # Figures that end where their name does may all be narrower than that.
    over = [cell for cell in row.cells if left + _NEAR < cell.box.right and cell.box.left <= right]
    if not over or any(len(cell.text) > 60 for cell in row.cells):
        return False
    if len(row.cells) == 1:
        cell = row.cells[0]
        off = abs(cell.center - (left + right) / 2)
        if abs(cell.center - middle) < _NEAR and off > 2 * _NEAR:
            # A title stands over the middle of the page, not of the columns.
            return False
        above = cell.center >= left - _NEAR and cell.box.left >= left - _OVERHANG
        return (above or off < 12) and len(cell.text.split()) <= 9
    return len(over) >= len(row.cells) - 1


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
    columns = _columns(body)
    if not 2 <= len(columns) <= _MAX_COLUMNS:
        return None
    lines = frozenset(place for row in (*head, *body) for place in row.lines)
    box = around([row.box for row in (*head, *body)])
    if _is_contents(head, body, columns):
        rows = tuple(_contents_row(row) for row in (*head, *body))
        return Table(rows, (), (), lines, box)
    if not _is_aligned(body, columns, bool(head)):
        return None
    stub = _has_stub(body, columns)
    head, body = _separate_labels(head, body, columns)
    is_name = [not _is_label(row, columns[1][0]) or _is_period_row(row) for row in head]
    end = len(head) - is_name[::-1].index(True) if True in is_name else 0
    top, labels = head[:end], head[end:]
    names, notes = _names(top, columns, stub)
    if not any(names) and above is not None and _stand_below(columns, above.columns):
        names = list(above.names)
    records = _records([*labels, *body], columns, stub)
    rows = tuple(_lines(records, names, stub))
    return Table(rows, tuple(notes), tuple(names), lines, box, tuple(columns)) if rows else None


def _stand_below(
    columns: Sequence[tuple[float, float]], above: Sequence[tuple[float, float]]
) -> bool:
    """Whether as many columns stand in the same places."""
    return len(columns) == len(above) and all(
        min(one[1], other[1]) - max(one[0], other[0])
        > 0.5 * min(one[1] - one[0], other[1] - other[0])
        for one, other in zip(columns, above, strict=True)
    )


def _is_contents(
    head: Sequence[Row], body: Sequence[Row], columns: Sequence[tuple[float, float]]
) -> bool:
    """Whether this is a table of contents: titles and pages, and dots between the two or a head
    that says so."""
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
    """A line of a table of contents nearly as it is shown."""
    between = " .... " if row.has_leaders else " | "
    label = " ".join(cell.text for cell in row.cells[:-1])
    text = f"{label}{between}{row.cells[-1].text}" if label else row.text
    return TableRow(text, row.box)


def _columns(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """The left and the right edge of each column: where cells of rows with several lie over each
    other."""
    spans = [
        (number, cell.box.left, cell.box.right)
        for number, row in enumerate(rows)
        if len(row.cells) > 1
        for cell in row.cells
    ]
    return _without_slivers(_split(spans, 0), spans)


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


def _split(spans: Sequence[tuple[int, float, float]], least: int) -> list[tuple[float, float]]:
    """Stretches that more than `least` cells cover. One in which a row has two cells is taken
    apart where fewest cells bridge the gap."""
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
        if crowded and crowded * 8 > len(rows) and least < min(len(rows) // 3, _MAX_BRIDGES):
            parts = _split(inside, least + 1)
            if len(parts) > 1:
                columns += parts
                continue
        columns.append((left, right))
    return columns


def _column(cell: Cell, columns: Sequence[tuple[float, float]]) -> int:
    """The column that a cell lies over most, else the nearest."""
    shared = [min(cell.box.right, right) - max(cell.box.left, left) for left, right in columns]
    return max(range(len(columns)), key=lambda i: shared[i])


def _separate_labels(
    head: Sequence[Row], body: Sequence[Row], columns: Sequence[tuple[float, float]]
) -> tuple[Sequence[Row], Sequence[Row]]:
    """Several rows with a label of their own are no head, but rows of words."""
    own = [
        place
        for place, row in enumerate(head)
        if len(row.cells) > 1
        and row.cells[0].box.right <= columns[1][0] + _NEAR
        and not _is_period_row(row)
        and not _UNIT.fullmatch(row.cells[0].text)
    ]
    if len(own) < 2:
        return head, body
    cut = own[0] or 1
    return head[:cut], [*head[cut:], *body]


def _is_aligned(rows: Sequence[Row], columns: Sequence[tuple[float, float]], headed: bool) -> bool:
    """Whether most figures end, begin or are centered where another of their column does, as
    those of a table do; addresses and drawings have figures side by side by chance."""
    cells: list[list[Cell]] = [[] for _ in columns]
    for row in rows:
        for cell in row.cells[1:] if len(row.cells) > 1 else row.cells:
            if cell.is_value:
                cells[_column(cell, columns)].append(cell)
    count = sum(map(len, cells))
    if count == sum(map(bool, cells)):
        return headed and count > 1
    return 2 * sum(_count_aligned(column) for column in cells) >= count


def _count_aligned(cells: Sequence[Cell]) -> int:
    """How many cells share an edge or the middle with another one."""
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
    first = [row.cells[0] for row in rows if _column(row.cells[0], columns) == 0]
    words = sum(
        not cell.is_value or _is_period(cell.text) or _RANGE.fullmatch(cell.text) is not None
        for cell in first
    )
    return words * 2 >= len(first)


def _names(
    head: Sequence[Row], columns: Sequence[tuple[float, float]], stub: bool
) -> tuple[list[str], list[TableRow]]:
    """The names of the columns, and what else stands in the head."""
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
        if len(cells) == 1 and _UNIT.fullmatch(cells[0].text) and not _is_period(cells[0].text):
            notes.append(TableRow(cells[0].text, cells[0].box))
        else:
            rows.append(cells)
    lead = " ".join(prefix)
    names = column_names(rows, columns, int(stub))
    if lead:
        names = [f"{lead} {name}" if re.match(_YEAR, name) else name for name in names]
    return names, notes


def _records(
    rows: Sequence[Row], columns: Sequence[tuple[float, float]], stub: bool
) -> list[_Record]:
    """The rows of a body; what is wrapped over several lines is one."""
    records: list[_Record] = []
    steps = sorted(below.baseline - row.baseline for row, below in pairwise(rows))
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
        column = _column(cell, columns)
        lone = len(row.cells) == 1 and not cell.is_value and cell.box.left < columns[1][0]
        if stub and place == 0 and (column == 0 or lone):
            label, indent = cell.text, cell.box.left
        else:
            text = values.get(column, "")
            values[column] = f"{text} {cell.text}" if text else cell.text
            figures = figures or cell.is_value
    return _Record(label, indent, values, [row.box], row.baseline, row.size, figures)


def _continues(before: _Record, record: _Record, tight: float) -> bool:
    """Whether a row is the rest of the one before it; closer than `tight`, only such are."""
    if record.baseline - before.baseline > 1.9 * max(record.size, before.size, 6.0):
        return False
    if not record.label:
        # Figures beside the second line of a label, or more text in the same columns.
        wrapped = before.values and not record.figures and set(record.values) <= set(before.values)
        return bool(wrapped) or (before.is_group and not before.label.endswith(":"))
    if before.label.endswith(":") or not before.label:
        return False
    if before.figures and record.figures:
        return False
    begun = record.label[:1].islower() or bool(_DANGLING.search(before.label))
    begun = begun or record.baseline - before.baseline < tight
    if before.figures and not record.values:
        return begun and record.indent >= before.indent - _NEAR
    return begun


def _append(before: _Record, record: _Record) -> None:
    if record.label:
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
        keep = indent - _NEAR
        self._open = [item for item in self._open if item[0] < keep]
        self._open.append((indent, record.label.rstrip(": ")))
        self._fresh = True

    def above(self, record: _Record) -> list[str]:
        if not record.label:
            return [text for _, text in self._open]
        if self._fresh and self._open:
            self._indents = record.indent > self._open[-1][0] + _NEAR
            self._fresh = False
        keep = record.indent + (-_NEAR if self._indents else _NEAR)
        self._open = [item for item in self._open if item[0] < keep]
        found = [text for _, text in self._open]
        if not self._indents and _TOTAL.match(record.label):
            self._open.clear()
        return found


def _lines(records: Sequence[_Record], names: Sequence[str], stub: bool) -> Iterator[TableRow]:
    """Each row as a record that repeats the names of its columns. A label that says too little
    alone has the name of its group before it."""
    counts = Counter(record.label for record in records if record.values)
    groups = _Groups(min((item.indent for item in records if item.values), default=0.0))
    named = any(names[1:] if stub else names)
    for record in records:
        box = around(record.boxes)
        if record.is_group:
            groups.enter(record)
            yield TableRow(record.label, box)
            continue
        label = record.label
        above = groups.above(record)
        if not label:
            # A sum without a label is that of the group.
            label = above[-1] if above else ""
        elif counts[label] > 1 or _GENERIC.fullmatch(label):
            label = " > ".join([*above[-1:], label])
        parts = [label] if label else []
        for column in sorted(record.values):
            name = names[column]
            parts.append(f"{name}: {record.values[column]}" if name else record.values[column])
        yield TableRow(("; " if named else " | ").join(parts), box)

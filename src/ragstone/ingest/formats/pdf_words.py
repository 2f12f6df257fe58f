"""Tables of a PDF page that hold words alone and are not ruled: columns that stay in place."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragstone.core.document import Box
from ragstone.ingest.formats.pdf_layout import MAX_EDGE_GAP, Cell, Row, TableRow, build_rows
from ragstone.ingest.formats.pdf_lines import PageLine, join_boxes
from ragstone.ingest.formats.pdf_rules import Rules
from ragstone.ingest.formats.pdf_tables import MAX_RUNS, Table
from ragstone.ingest.formats.tables import are_names, name_columns, row_line

_MIN_ROWS = 3
"""So many lines with cells in several columns make a table."""

_MAX_ROWS = 300
_MAX_COLUMNS = 12
_CLEAR = 1.0
"""So many type sizes are between a column and the next one."""

_MAX_GAP = 2.6
"""A gap of more type sizes between lines ends a table."""

_WRAPPED = 1.45
"""Lines of one cell follow each other within so many type sizes."""

_TIGHT = 1.3
"""A step of more type sizes parts two rows where others are closer."""

_LETTER = re.compile(r"\w")
_FULL = 0.85
_PROSE_WORDS = 5.0
_MAX_WORDS = 40


def find_word_tables(
    lines: Sequence[tuple[int, PageLine]], taken: frozenset[int], rules: Rules
) -> list[Table]:
    """Return the tables among lines (each with its place) that no other table has taken."""
    if sum(len(line.runs) for _, line in lines) > MAX_RUNS:
        return []
    # Without text that runs upwards; see `find_tables`.
    level = [item for item in lines if item[1].box.bottom - item[1].box.top < 4 * item[1].size]
    found = []
    for group in _groups(build_rows(level), taken):
        start = free = 0
        while start < len(group):
            end, edges = _stretch(group, start)
            above = group[start - 1] if start > free else None
            if edges and (table := _table(above, group[start:end], edges, rules)):
                found.append(table)
                start = free = end
            else:
                start += 1
    return found


def _groups(rows: Sequence[Row], taken: frozenset[int]) -> Iterator[list[Row]]:
    """Yield rows that are free and follow each other closely."""
    group: list[Row] = []
    for row in rows:
        gap = row.baseline - group[-1].baseline if group else 0.0
        if group and (row.lines & taken or gap > _MAX_GAP * max(row.size, group[-1].size)):
            yield group
            group = []
        if not row.lines & taken:
            group.append(row)
    if group:
        yield group


def _stretch(rows: Sequence[Row], start: int) -> tuple[int, list[float]]:
    """Return where the rows end whose cells begin at the places at which those of this one do, and
    the places; none where they are too few."""
    edges = [cell.box.left for cell in rows[start].cells]
    if not 2 <= len(edges) <= _MAX_COLUMNS:
        return start, []
    end = start
    counts = Counter[int]()
    for row in rows[start : start + _MAX_ROWS]:
        places = [_column(cell, edges) for cell in row.cells]
        if None in places or len(set(places)) < len(places):
            break
        if any(cell.box.right > after.box.left for cell, after in pairwise(row.cells)):
            break
        if any(_crosses(cell, edges, row.size) for cell in row.cells):
            break
        end += 1
        counts.update(place for place in places if place is not None and len(places) > 1)
    several = sum(len(row.cells) > 1 for row in rows[start:end])
    filled = all(2 * counts[place] >= several for place in range(len(edges)))
    return end, edges if several >= _MIN_ROWS and filled else []


def _column(cell: Cell, edges: Sequence[float]) -> int | None:
    place = min(range(len(edges)), key=lambda i: abs(edges[i] - cell.box.left))
    return place if abs(edges[place] - cell.box.left) <= MAX_EDGE_GAP else None


def _crosses(cell: Cell, edges: Sequence[float], size: float) -> bool:
    """Tell whether a cell reaches the next column or almost does."""
    after = [edge for edge in edges if edge > cell.box.left + MAX_EDGE_GAP]
    return bool(after) and cell.box.right > after[0] - _CLEAR * size


def _table(
    above: Row | None, rows: Sequence[Row], edges: Sequence[float], rules: Rules
) -> Table | None:
    # What follows in the first column alone is the text below the table.
    while len(rows[-1].cells) == 1 and rows[-1].cells[0].box.left < edges[1] - MAX_EDGE_GAP:
        rows = rows[:-1]
    columns: list[list[Cell]] = [[] for _ in edges]
    for row in rows:
        for cell in row.cells:
            columns[_column(cell, edges) or 0].append(cell)
    # Two columns of an article stay in place too, and so do the bullets of a list.
    if _is_prose(columns[0]) or all(map(_is_prose, columns)) or _are_marks(columns[0]):
        return None
    spans = [(min(c.box.left for c in col), max(c.box.right for c in col)) for col in columns]
    records = _records(rows, edges)
    head = _names(above, spans) if above is not None else []
    if head and above is not None and _is_head(above, rows[0], rules):
        rows = [above, *rows]
    elif are_names(records[0].texts) and _is_head(rows[0], rows[1], rules):
        head = records.pop(0).texts
    else:
        head = []
    if head:
        count, head = name_columns([head, *(record.texts for record in records)], 1)
        records = records[count - 1 :]
    if len(records) < 2 or any(len(record.texts[0].split()) > _MAX_WORDS for record in records):
        return None
    lines = tuple(TableRow(row_line(head, record.texts, ()), record.box) for record in records)
    places = frozenset(place for row in rows for place in row.lines)
    return Table(
        lines, (), tuple(head), places, join_boxes([row.box for row in rows]), tuple(spans)
    )


@dataclass(slots=True)
class _Record:
    """The texts of a row, one for each column, and where it stands."""

    texts: list[str]
    box: Box


def _records(rows: Sequence[Row], edges: Sequence[float]) -> list[_Record]:
    """Return the rows, those that only go on with cells above as a part of them. Where gaps part
    them, a label may stand beside any line of its row."""
    steps = [below.baseline - row.baseline for row, below in pairwise(rows)]
    begins = [row.cells[0].box.left < edges[1] - MAX_EDGE_GAP for row in rows]
    wide = [step > _TIGHT * row.size for step, row in zip(steps, rows[1:], strict=True)]
    starts = [0, *(place + 1 for place, apart in enumerate(wide) if apart)]
    labels = [sum(begins[item:end]) for item, end in pairwise([*starts, len(rows)])]
    spaced = len(starts) > 1 and max(labels) <= 2
    records: list[_Record] = []
    for place, row in enumerate(rows):
        near = place > 0 and steps[place - 1] <= _WRAPPED * row.size
        goes_on = place not in starts if spaced else near and not begins[place]
        if records and goes_on:
            last = records[-1]
            last.box = join_boxes([last.box, row.box])
        else:
            last = _Record([""] * len(edges), row.box)
            records.append(last)
        for cell in row.cells:
            column = _column(cell, edges) or 0
            last.texts[column] = f"{last.texts[column]} {cell.text}".strip()
    return records


def _is_prose(cells: Sequence[Cell]) -> bool:
    """Tell whether most lines of a column fill it with several words, as lines of text do."""
    width = max(cell.box.right for cell in cells) - min(cell.box.left for cell in cells)
    full = sum(cell.box.right - cell.box.left > _FULL * width for cell in cells)
    words = sum(len(cell.text.split()) for cell in cells) / len(cells)
    return words > _PROSE_WORDS and 2 * full > len(cells)


def _are_marks(cells: Sequence[Cell]) -> bool:
    """Tell whether these are the bullets or boxes of a list."""
    return not any(_LETTER.search(cell.text) for cell in cells)


def _names(row: Row, spans: Sequence[tuple[float, float]]) -> list[str]:
    """What a row says over each column, nothing if it does not stand over them one by one."""
    names = [""] * len(spans)
    for cell in row.cells:
        over = [i for i, (left, right) in enumerate(spans)
                if cell.box.left < right and left < cell.box.right]  # fmt: skip
        if len(over) != 1 or names[over[0]]:
            return []
        names[over[0]] = cell.text
    return names if are_names(names) else []


def _is_head(row: Row, below: Row, rules: Rules) -> bool:
    """Tell whether a row looks like none of those below: bold, or with a line under it."""
    between = row.box.bottom - 1, below.box.top + 1
    lined = any(
        between[0] - row.size / 2 <= rule.at <= between[1]
        and rule.start <= row.box.left + MAX_EDGE_GAP
        and rule.end >= row.cells[-1].box.left
        for rule in rules.across
    )
    bold = row.bold and not below.bold
    return lined or bold

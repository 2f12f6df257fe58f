"""The cells of a sheet as tables: empty rows and columns divide them, titles stand above them."""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

from ragstone.core.document import HIDDEN
from ragstone.ingest.document import Block
from ragstone.ingest.formats.tables import header_rows, table_blocks

_LOOK_AHEAD = 500
_MAX_HELD = 20_000
"""So many rows at most are held for tables that stand side by side."""


def mark_hidden(name: str) -> str:
    """Return the name of a sheet, row or column so that a reader knows that it is hidden."""
    return f"{name} {HIDDEN}"


def mark_cells(row: list[str], unmarked: set[int], *, is_row_hidden: bool) -> None:
    """Mark the first cell of a hidden row, and those of hidden columns, which then are no longer
    among the `unmarked` ones."""
    filled = [place for place, cell in enumerate(row) if cell]
    marks = {place for place in filled if place + 1 in unmarked}
    unmarked -= {place + 1 for place in marks}
    if is_row_hidden:
        marks.update(filled[:1])
    for place in marks:
        row[place] = mark_hidden(row[place])


def add_sheet_heading(
    name: str, blocks: Iterator[Block], page: int, *, is_hidden: bool
) -> Iterator[Block]:
    """Yield the name of a sheet and its blocks, nothing for an empty one. A hidden sheet's name
    says so, and stands at its tables too: a chunk may hold several sheets."""
    if (first := next(blocks, None)) is None:
        return
    heading = mark_hidden(name) if is_hidden else name
    yield Block(heading, "heading", 1, page)
    for block in chain([first], blocks):
        if is_hidden and block.kind == "table":
            block = replace(block, label=mark_hidden(block.label or name))
        yield block


def sheet_blocks(
    rows: Iterable[Sequence[str]], page: int | None = None, merged: Container[str] = ()
) -> Iterator[Block]:
    """The tables and notes of a sheet, lazily, as far as no tables stand side by side. `merged`
    holds what the merged cells of the rows say that were given.

    A line of its own above a table is a paragraph and the table's label. Rows after an empty one
    belong to the table above if they name no columns of their own.
    """
    source = iter(rows)
    title = ""
    before: list[Sequence[str]] = []
    edge = 0
    for first in source:
        if not any(first):
            continue
        band = chain([first], _until_empty(source))
        ahead = list(islice(band, _LOOK_AHEAD))
        note = _note(ahead, merged)
        if note:
            title = note
            yield Block(note, page=page)
            continue
        for table in _side_by_side(ahead, band):
            top = list(islice(table, 3))
            own = header_rows(top)
            left = min(map(_left_margin, top), default=0)
            goes_on = not own and before and left == edge
            count = len(before) if goes_on else None
            rest = chain(before if goes_on else (), top, table)
            yield from table_blocks(_trim_rows(rest), count, title, page, merged)
            if not goes_on:
                before, edge = top[:own], left
        title = ""


def _until_empty(rows: Iterator[Sequence[str]]) -> Iterator[Sequence[str]]:
    for row in rows:
        if not any(row):
            return
        yield row


def _note(rows: list[Sequence[str]], merged: Container[str]) -> str:
    """The text of lines with one filled cell each, where they are all there is."""
    lines: list[str] = []
    for row in rows:
        first, *more = [cell for cell in row if cell]
        if more and not (first in merged and all(cell == first for cell in more)):
            return ""
        lines.append(first)
    return "\n".join(lines) if len(rows) <= 3 else ""


def _left_margin(row: Sequence[str]) -> int:
    return next((column for column, cell in enumerate(row) if cell), 0)


def _trim_rows(rows: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    """Rows without the empty columns left of the first ones."""
    held = list(islice(iterator := iter(rows), _LOOK_AHEAD))
    left = min((_left_margin(row) for row in held if any(row)), default=0)
    for row in chain(held, iterator):
        cut = min(left, _left_margin(row))
        yield row[cut:]


def _side_by_side(
    ahead: list[Sequence[str]], rest: Iterator[Sequence[str]]
) -> Iterator[Iterator[Sequence[str]]]:
    """The tables that empty columns divide; each has names of columns in its first row."""
    width = max(len(row) for row in ahead)
    used = {column for row in ahead for column, cell in enumerate(row) if cell}
    starts = [column for column in sorted(used) if column - 1 not in used]
    bounds = starts[:1]
    for start, end in zip(starts[1:], [*starts[2:], width][: len(starts) - 1], strict=True):
        if _is_table(ahead, bounds[-1], start) and _is_table(ahead, start, end):
            bounds.append(start)
    if len(bounds) == 1:
        yield chain(ahead, rest)
        return
    rows = [*ahead, *islice(rest, _MAX_HELD)]
    for start, stop in zip(bounds, [*bounds[1:], None], strict=True):
        part = [row[start:stop] for row in rows]
        yield iter([row for row in part if any(row)])
    if over := next(rest, None):
        yield chain([over], rest)


def _is_table(rows: list[Sequence[str]], start: int, end: int) -> bool:
    part = [cells for row in rows[:4] if any(cells := row[start:end])]
    return len(part) > 1 and header_rows(part) > 0

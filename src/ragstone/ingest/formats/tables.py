"""Rows of cells as text: one row a line, so that a table can be cut between rows."""

import re
from collections.abc import Iterable, Iterator, Sequence

from ragstone.ingest.document import Block

_NUMBER = re.compile(r"[-+(]?[$€£¥]?\s*[\d.,\s]*\d[\d.,\s]*[)%€$]?")
_BLOCK_CHARS = 4000


def piped(rows: Iterable[Sequence[str]]) -> str:
    """A small table with its cells side by side: "Name | Days"; empty rows are left out."""
    lines = (" | ".join(_single_line(cell) for cell in row).strip(" |") for row in rows)
    return "\n".join(line for line in lines if line)


def record_blocks(rows: Iterable[Sequence[str]], page: int | None = None) -> Iterator[Block]:
    """Rows of data as table blocks of about 4,000 characters, lazily.

    When the first row is a header, every line carries it ("Region: North; Revenue: 1200"), so
    that a row can be understood, found and cited on its own.
    """
    lines: list[str] = []
    size = 0
    for line in _record_lines(iter(rows)):
        if lines and size + len(line) > _BLOCK_CHARS:
            yield Block("\n".join(lines), "table", page=page)
            lines, size = [], 0
        lines.append(line)
        size += len(line) + 1
    if lines:
        yield Block("\n".join(lines), "table", page=page)


def _record_lines(rows: Iterator[Sequence[str]]) -> Iterator[str]:
    first = next((row for row in rows if any(cell.strip() for cell in row)), None)
    if first is None:
        return
    header = [_single_line(cell) for cell in first] if _is_header(first) else []
    written = False
    for row in rows if header else _prepend(first, rows):
        line = _record(header, row) if header else piped([row])
        if line:
            written = True
            yield line
    if header and not written:
        yield piped([first])


def _prepend(first: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[Sequence[str]]:
    yield first
    yield from rows


def _record(header: Sequence[str], row: Sequence[str]) -> str:
    parts = []
    for column, raw in enumerate(row):
        cell = _single_line(raw)
        name = header[column] if column < len(header) else ""
        if cell:
            parts.append(f"{name}: {cell}" if name else cell)
    return "; ".join(parts)


def _is_header(row: Sequence[str]) -> bool:
    """A header names its columns: at least two different names, none of them a number."""
    cells = [cell.strip() for cell in row]
    named = [cell for cell in cells if cell]
    return (
        len(named) > 1
        and len(set(named)) == len(named)
        and not any(_NUMBER.fullmatch(cell) and not _is_year(cell) for cell in named)
        and not all(_NUMBER.fullmatch(cell) for cell in named)
        and all(len(cell) <= 100 for cell in named)
    )


def _is_year(cell: str) -> bool:
    return len(cell) == 4 and cell.isdigit() and "1900" <= cell <= "2100"


def _single_line(cell: str) -> str:
    return " ".join(cell.split())

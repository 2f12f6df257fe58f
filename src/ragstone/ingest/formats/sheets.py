"""What the sheets of all spreadsheets share: values as their number formats show them, but dates in
ISO form, and the tables and notes that stand on a sheet.
"""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache
from itertools import chain, islice
from typing import Any

from ragstone.core.document import HIDDEN
from ragstone.ingest.document import Block
from ragstone.ingest.formats.tables import header_rows, table_blocks

_ERRORS = {"#N/A", "#REF!", "#DIV/0!", "#VALUE!", "#NAME?", "#NULL!", "#NUM!"}
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|\[\$(?P<currency>[^\]-]*)[^\]]*\]|(?P<bracket>\[[^\]]*\])'
    r"|(?P<skipped>[_*].)|(?P<digits>[0#?](?:[0#?,.]*[0#?])?,*|\.[0#?]+)|(?P<exponent>[Ee][+-][0#]+)"
    r"|(?P<other>.)",
    re.DOTALL,
)
_SECTION = re.compile(r'((?:"[^"]*"|\\.|\[[^\]]*\]|[^;"\\\[])*)(?:;|$)')
Number = int | float | Decimal
_MAX_WHOLE = 1e15
_MAX_DECIMALS = 15


@dataclass(frozen=True, slots=True)
class _Pattern:
    """How a section of a format shows a number."""

    before: str
    after: str
    whole_digits: int = 0
    least: int = 0
    most: int = 0
    thousands: bool = False
    power: int = 0
    """The value is shown times ten to this power."""
    general: bool = False
    words: bool = False
    """The section is words alone, such as "-" for nothing."""


def format_cell(value: Any, number_format: str = "General") -> str:
    """Return the text of a cell. Empty cells and errors are "", durations hours and minutes."""
    if value is None:
        return ""
    if isinstance(value, str):
        return "" if value in _ERRORS else value
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float | Decimal):
        return _number(value, number_format)
    return _moment(value, number_format)


def _number(value: Number, number_format: str) -> str:
    sections = _sections(number_format or "General")
    negative = value < 0
    signed = negative
    if negative and len(sections) > 1:
        pattern, signed = sections[1], False
    elif value == 0 and len(sections) > 2:
        pattern = sections[2]
    else:
        pattern = sections[0]
    text = _digits(-value if negative else value, pattern)
    return " ".join(f"{'-' if signed else ''}{pattern.before}{text}{pattern.after}".split())


def _digits(value: Number, pattern: _Pattern) -> str:
    if pattern.words:
        return ""
    if pattern.general:
        return _general(value)
    try:
        # By its shortest form, as 0.285 is 0.284999... in binary and would round down.
        scaled = Decimal(repr(value) if isinstance(value, float) else value).scaleb(pattern.power)
        rounded = scaled.quantize(Decimal(1).scaleb(-pattern.most), ROUND_HALF_UP)
    except (InvalidOperation, ValueError):
        return _general(value)
    text = f"{rounded:,f}" if pattern.thousands else f"{rounded:f}"
    whole, _, decimals = text.partition(".")
    while len(decimals) > pattern.least and decimals.endswith("0"):
        decimals = decimals[:-1]
    whole = whole.rjust(pattern.whole_digits, "0")
    return f"{whole}.{decimals}" if decimals else whole


def _general(value: Number) -> str:
    if isinstance(value, int) or (-_MAX_WHOLE < value < _MAX_WHOLE and value == int(value)):
        return str(int(value))
    return f"{value:.12g}"


@lru_cache(maxsize=2000)
def _sections(number_format: str) -> tuple[_Pattern, ...]:
    texts = [match[1] for match in _SECTION.finditer(number_format)]
    return tuple(_pattern(text) for text in texts[:3] if text or len(texts) < 2) or (
        _Pattern("", "", general=True),
    )


def _pattern(section: str) -> _Pattern:
    """The pattern of one section; formats of several numbers (fractions) show it as it is."""
    literals, digits, exponent = ["", ""], [], False
    for match in _TOKEN.finditer(section):
        kind = match.lastgroup or ""
        if kind == "digits":
            digits.append(match[0])
        elif kind == "exponent":
            exponent = True
        elif kind in ("quoted", "escaped", "currency", "other"):
            literals[bool(digits)] += match[kind]
        elif kind == "skipped":
            literals[bool(digits)] += " " if match[0][0] == "_" else ""
    before, after = literals
    plain = "General" in section or "@" in section
    if before.strip() and not (plain or digits or exponent):
        return _Pattern(before, "", words=True)
    if "General" in section or exponent or len(digits) != 1 or "@" in section:
        plain = "General" in section
        rest = before.partition("General") if plain else ("", "", "")
        return _Pattern(rest[0], rest[2] + (after if plain else ""), general=True)
    whole, _, decimals = digits[0].partition(".")
    shift = len(digits[0]) - len(digits[0].rstrip(","))
    decimals = decimals.rstrip(",")[:_MAX_DECIMALS]
    return _Pattern(
        before,
        after,
        whole_digits=whole.count("0"),
        least=decimals.count("0"),
        most=len(decimals),
        thousands="," in whole.rstrip(","),
        power=2 * (before + after).count("%") - 3 * shift,
    )


def _moment(value: Any, number_format: str) -> str:
    parts = _moment_parts(number_format or "")
    if isinstance(value, datetime):
        if "d" not in parts and "y" in parts and not parts & {"h", "s"}:
            return value.strftime("%Y-%m" if "m" in parts else "%Y")
        if value.time() == time() or ("h" not in parts and parts & {"d", "y"}):
            return value.date().isoformat()
        return f"{value.date().isoformat()} {_clock(value.time())}"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, time):
        return _clock(value)
    if isinstance(value, timedelta):
        return _duration(value)
    return str(value)


@lru_cache(maxsize=2000)
def _moment_parts(number_format: str) -> frozenset[str]:
    plain = re.sub(r'"[^"]*"|\\.|\[\$[^\]]*\]', "", number_format.partition(";")[0]).lower()
    return frozenset(plain) & {"d", "m", "y", "h", "s"}


def _clock(value: time) -> str:
    return value.strftime("%H:%M:%S" if value.second else "%H:%M")


def _duration(value: timedelta) -> str:
    seconds = round(abs(value.total_seconds()))
    sign = "-" if value < timedelta() else ""
    hours, minutes, rest = seconds // 3600, seconds // 60 % 60, seconds % 60
    return f"{sign}{hours}:{minutes:02}" + (f":{rest:02}" if rest else "")


_LOOK_AHEAD = 500
_MAX_TOP = 6
"""Rows that show how many of them name the columns."""

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
    """Yield the tables and notes of a sheet, lazily, as far as no tables stand side by side.
    `merged` holds what the merged cells of the rows say that were given.

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
            top = list(islice(table, _MAX_TOP))
            own = header_rows(top)
            left = min(map(_first_filled, top), default=0)
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
    """Return the text of lines with one filled cell each, where they are all there is."""
    lines: list[str] = []
    for row in rows:
        first, *more = [cell for cell in row if cell]
        if more and not (first in merged and all(cell == first for cell in more)):
            return ""
        lines.append(first)
    return "\n".join(lines) if len(rows) <= 3 else ""


def _first_filled(row: Sequence[str]) -> int:
    return next((column for column, cell in enumerate(row) if cell), 0)


def _trim_rows(rows: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    """Yield rows without the empty columns left of the first ones."""
    held = list(islice(iterator := iter(rows), _LOOK_AHEAD))
    left = min((_first_filled(row) for row in held if any(row)), default=0)
    for row in chain(held, iterator):
        cut = min(left, _first_filled(row))
        yield row[cut:]


def _side_by_side(
    ahead: list[Sequence[str]], rest: Iterator[Sequence[str]]
) -> Iterator[Iterator[Sequence[str]]]:
    """Yield the tables that empty columns divide; each has names of columns in its first row."""
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
    # Side by side their rows cannot be streamed: the second one begins in the first row again.
    rows = [*ahead, *islice(rest, _MAX_HELD)]
    for start, stop in zip(bounds, [*bounds[1:], None], strict=True):
        part = [row[start:stop] for row in rows]
        yield iter([row for row in part if any(row)])
    if over := next(rest, None):
        yield chain([over], rest)


def _is_table(rows: list[Sequence[str]], start: int, end: int) -> bool:
    part = [cells for row in rows[:4] if any(cells := row[start:end])]
    return len(part) > 1 and header_rows(part) > 0

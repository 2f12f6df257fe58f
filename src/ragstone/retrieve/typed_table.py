"""Tables of a document, read back from its chunks: rows as records, columns with types.

The chunks of a table hold a row a line, "Device: Ventilator; Price EUR: 31400". A table is read
only as far as that can be told for sure: what has no names of columns, or a column that is neither
numbers nor dates, is never computed with.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Literal

from ragstone.core.chunk import Chunk, join_chunks
from ragstone.core.document import BlockSpan
from ragstone.language.quantities import COMMA_DECIMAL

ColumnType = Literal["number", "date", "text"]

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar", "february feb februar", "march mar märz", "april apr",
            "may mai", "june jun juni", "july jul juli", "august aug",
            "september sep sept", "october oct oktober okt", "november nov",
            "december dec dezember dez",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
"""The months by their names, in lower case."""

MIN_ROWS = 2
MAX_COLUMNS = 200
LONGEST_NAME = 120
"""Characters of a column's name, as the parsers have it."""

MAX_DIGITS = 30
MAX_DECIMALS = 8

EARLIEST = 1000
"""The earliest year of a column that says to be of years."""

LABEL = "label"
"""The name of a first column that has none."""

_NOTHING = frozenset(
    ("-", "–", "—", "n/a", "na", "n.a.", "none", "null", "nil", "k.a.", "k. a.", "...", "?", "无")
)
"""What stands in a cell for which there is nothing."""

_TOTAL = re.compile(
    r"(?:grand |sub)?total\b|sub-total\b|overall\b|sum\b|summe\b|gesamt|insgesamt\b|zwischensumme\b"
    r"|average\b|mean\b|durchschnitt\b|mittelwert\b|合计|总计|小计|总额|平均",
    re.IGNORECASE,
)
"""How a row begins that sums up others."""

_NUMBER = re.compile(
    r"(?P<open>\()?(?P<sign>[-+−])?\s?(?P<before>[$€£¥])?\s?(?P<second>[-−])?"
    r"(?P<digits>\d[\d.,'’\u00a0\u202f ]*)(?P<power>[eE][-+]\d{1,2})?\s?"
    r"(?P<unit>%|[$€£¥]|[^\W\d_]{1,8}\.?)?(?P<close>\))?"
)
_YEAR_NAME = re.compile(r"(?:^|[\W_])(?:years?|jahre?)(?:[\W_]|$)|年")
_ISO = re.compile(r"(\d{4})([-/])(\d{2})\2(\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2})?)?")
_WORDED = re.compile(
    r"(?:(?P<before>\d{1,2})\.? )?(?P<month>[^\W\d_]{3,9})\.? "
    r"(?:(?P<behind>\d{1,2}),? )?(?P<year>\d{4})"
)
_SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
_GROUPS = {",": re.compile(r"\d{1,3}(?:,\d{3})+"), ".": re.compile(r"\d{1,3}(?:\.\d{3})+")}


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, what its cells are, the decimals of numbers (-1 where they are no exact
    decimals), and whether each row has another value."""

    name: str
    type: ColumnType
    scale: int = 0
    unique: bool = False
    years: bool = False
    mixed: bool = False


@dataclass(frozen=True, slots=True)
class TypedRow:
    """A row: its cells as they stand there, and as values, and the line of its document's text that
    it is, which begins at `start`."""

    cells: tuple[str | None, ...]
    values: tuple[Decimal | date | str | None, ...]
    text: str
    start: int

    @property
    def end(self) -> int:
        """Behind the line's last character."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class TypedTable:
    """A table of a document. `name` is what queries call it, `title` what readers do, `names` are
    those of its file and of the headings above it, `titles` the document's title and its caption.
    `totals` are the rows that sum up others, which are not among the `rows`."""

    name: str
    title: str
    document_id: str
    names: tuple[str, ...]
    titles: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[TypedRow, ...]
    totals: tuple[TypedRow, ...] = ()

    def is_like(self, other: "TypedTable") -> bool:
        """Tell whether the two have mostly the same columns, and nothing but their place tells them
        apart: they may be parts of one table."""
        mine, theirs = ({column.name for column in table.columns} for table in (self, other))
        named = (self.document_id, self.names, self.titles)
        same = named == (other.document_id, other.names, other.titles)
        return same and 2 * len(mine & theirs) > min(len(mine), len(theirs))

    def place(self, name: str) -> int:
        """Return the place of a column."""
        return next(i for i, column in enumerate(self.columns) if column.name == name)


@dataclass(slots=True)
class _Draft:
    """The lines of one table, while blocks are read."""

    label: str
    section: tuple[str, ...]
    lines: list[tuple[str, int]] = field(default_factory=list)
    keys: tuple[str, ...] = ()


def read_tables(chunks: Sequence[Chunk], language: str = "") -> list[TypedTable]:
    """Return the tables of one document, given all of its chunks in order."""
    if not chunks:
        return []
    text, blocks = join_chunks(chunks)
    first = chunks[0]
    found, names = [], Counter[str]()
    for draft in _drafts(text, blocks):
        table = _type_table(draft, first, language or first.language)
        if table is not None:
            names[table.name] += 1
            count = names[table.name]
            if count > 1:
                table = _rename(table, f"{table.name}_{count}")
            found.append(table)
    return found


@dataclass(frozen=True, slots=True)
class RecordPart:
    """A cell under its column's name, empty where it has none; `column` is the column's number,
    `value` the number that it is, `start` its place in the document's text."""

    name: str
    text: str
    value: Decimal | None
    column: int
    start: int


@dataclass(frozen=True, slots=True)
class Record:
    """A row as it stands in the document's text, where it begins at `start`."""

    parts: tuple[RecordPart, ...]
    text: str
    start: int

    @property
    def end(self) -> int:
        """Behind the line's last character."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class RecordTable:
    """A table as it stands there, whatever its columns hold. `titles` are its caption and the
    headings above it."""

    titles: tuple[str, ...]
    records: tuple[Record, ...]


def read_records(
    chunks: Sequence[Chunk], near: Sequence[tuple[int, int]] | None = None
) -> list[RecordTable]:
    """Return the tables of one document, given all of its chunks in order: all, or those of which a
    part is `near`, in one of these stretches of its text."""
    if not chunks:
        return []
    text, blocks = join_chunks(chunks)
    before, language = chunks[0].start, chunks[0].language
    found = []
    for draft in _drafts(text, blocks):
        if not draft.lines:
            continue
        start, end = (before + draft.lines[place][1] for place in (0, -1))
        if near is None or any(start < there and here <= end for here, there in near):
            titles = tuple(filter(None, (draft.label, *draft.section)))
            found.append(RecordTable(titles, _records(draft, before, language)))
    return found


def _records(draft: _Draft, before: int, language: str) -> tuple[Record, ...]:
    rows = [(_parts(line), line, before + start) for line, start in draft.lines]
    point = _point([cell for parts, _, _ in rows for _, cell in parts[1:]], language)
    names = list(dict.fromkeys(name for parts, _, _ in rows for name, _ in parts))
    found = []
    for parts, line, start in rows:
        place, read = 0, []
        for name, cell in parts:
            place = line.find(cell, place + (len(name) + 2 if name else 0))
            value = _number(cell.replace("$", ""), point) if point else None
            read.append(RecordPart(name, cell, value, names.index(name), start + place))
            place += len(cell)
        found.append(Record(tuple(read), line, start))
    return tuple(found)


def is_total_name(name: str) -> bool:
    """Tell whether a row of this name sums up others."""
    return _TOTAL.match(name) is not None


def _rename(table: TypedTable, name: str) -> TypedTable:
    return replace(table, name=name)


def _drafts(text: str, blocks: Sequence[BlockSpan]) -> Iterator[_Draft]:
    """Yield the tables by their blocks: neighbours of the same columns are one."""
    held: _Draft | None = None
    headings: list[str] = []
    for block in blocks:
        if block.kind == "heading":
            depth = max(1, block.level)
            headings = [*headings[: depth - 1], text[block.start : block.end].strip()]
        if block.kind != "table":
            if held:
                yield held
            held = None
            continue
        lines = list(_lines(text, block))
        keys = _keys(lines)
        section = tuple(headings)
        if (
            held
            and keys
            and set(keys) & set(held.keys)
            and _is_continuation(held, keys, block.label)
        ):
            held.lines += lines
            held.keys = tuple(dict.fromkeys((*held.keys, *keys)))
            continue
        if held:
            yield held
        held = _Draft(block.label, section, lines, keys)
    if held:
        yield held


def _is_continuation(held: _Draft, keys: tuple[str, ...], label: str) -> bool:
    """Tell whether a block is of the table before it: mostly the same names."""
    shared = sum(key in held.keys for key in keys)
    return 2 * shared > min(len(keys), len(held.keys)) and label == held.label


def _lines(text: str, block: BlockSpan) -> Iterator[tuple[str, int]]:
    place = block.start
    for line in text[block.start : block.end].split("\n"):
        if line.strip():
            yield line, place
        place += len(line) + 1


def _parts(line: str) -> list[tuple[str, str]]:
    """Return a record's cells with their names; a part without one has an empty name."""
    found = []
    for part in line.split("; "):
        name, colon, cell = part.partition(": ")
        named = bool(colon) and 0 < len(name) <= LONGEST_NAME
        found.append((name.strip(), cell.strip()) if named else ("", part.strip()))
    return found


def _keys(lines: Sequence[tuple[str, int]]) -> tuple[str, ...]:
    """Return the names that stand in at least half of the records, in their order."""
    counts = Counter[str]()
    records = 0
    for line, _ in lines:
        parts = _parts(line)
        if len(parts) > 1 and (names := {name for name, _ in parts if name}):
            records += 1
            counts.update(names)
    return tuple(name for name, count in counts.items() if 2 * count >= records)


def _type_table(draft: _Draft, first: Chunk, language: str) -> TypedTable | None:
    records = [(_parts(line), line, first.start + start) for line, start in draft.lines]
    names, labelled = _columns([parts for parts, _, _ in records])
    if len(names) < 2 or len(names) > MAX_COLUMNS:
        return None
    rows = []
    for parts, line, start in records:
        cells = _cells(parts, names, labelled)
        if cells is not None:
            rows.append((cells, line, start))
    totals: list[tuple[list[str | None], str, int]] = []
    plain: list[tuple[list[str | None], str, int]] = []
    for row in rows:
        above = plain[-1][0] if plain else ()
        (totals if _is_total(row[0], above) else plain).append(row)
    if len(plain) < MIN_ROWS:
        return None
    columns, values = _read_columns(names, [cells for cells, _, _ in plain], language)
    if _ends_with_sums(columns, values):
        totals.append(plain.pop())
        columns, values = _read_columns(names, [cells for cells, _, _ in plain], language)
    own = tuple(
        TypedRow(tuple(cells), tuple(read[i] for read in values), line, start)
        for i, (cells, line, start) in enumerate(plain)
    )
    summed = tuple(
        TypedRow(
            tuple(cells),
            tuple(_value(cell, columns[i], language) for i, cell in enumerate(cells)),
            line,
            start,
        )
        for cells, line, start in totals
    )
    stem = PurePosixPath(first.path).stem
    called = tuple(dict.fromkeys(item for item in (stem, *draft.section) if item))
    titles = tuple(item for item in (first.title, draft.label) if item)
    below = draft.section[-1] if draft.section else ""
    title = ", ".join(dict.fromkeys(item for item in (first.title or stem, below) if item))
    named = _slug(below or stem or first.title)
    return TypedTable(named, title, first.document_id, called, titles, tuple(columns), own, summed)


Values = list[Decimal | date | str | None]


def _read_columns(
    names: Sequence[str], rows: Sequence[Sequence[str | None]], language: str
) -> tuple[list[Column], list[Values]]:
    read = [
        _column(name, [cells[place] for cells in rows], language)
        for place, name in enumerate(names)
    ]
    return [column for column, _ in read], [values for _, values in read]


def _ends_with_sums(columns: Sequence[Column], values: Sequence[Values]) -> bool:
    """Tell whether the last row holds the sums of those above it, without saying so."""
    summed = []
    for column, cells in zip(columns, values, strict=True):
        above = [cell for cell in cells[:-1] if isinstance(cell, Decimal)]
        if column.type == "number" and isinstance(last := cells[-1], Decimal):
            if len(above) < MIN_ROWS:
                return False
            summed.append(bool(last) and sum(above) == last)
    return bool(summed) and all(summed)


def _slug(title: str) -> str:
    return re.sub(r"\W+", "_", title.casefold()).strip("_")[:60] or "table"


def _columns(records: Sequence[Sequence[tuple[str, str]]]) -> tuple[list[str], bool]:
    """Return the names of the columns in order, and whether the first one has no name of its own.

    Empty cells are not in a record, so that the order is that in which names follow each other. A
    name that stands twice in most records names nothing."""
    counts, twice = Counter[str](), Counter[str]()
    after: dict[str, set[str]] = {}
    keyed = unnamed = 0
    for parts in records:
        names = [name for name, _ in parts if name]
        if len(parts) < 2 or not names:
            continue
        keyed += 1
        unnamed += not parts[0][0]
        once = list(dict.fromkeys(names))
        counts.update(once)
        twice.update(name for name, count in Counter(names).items() if count > 1)
        for before, behind in pairwise(once):
            after.setdefault(before, set()).add(behind)
    if not keyed or 2 * max(twice.values(), default=0) >= keyed:
        return [], False
    # A name in one record of many is more likely a cell's text that looks like a name.
    least = 1 if keyed < 8 else 2
    known = [name for name, count in counts.items() if count >= least]
    ordered = _order_names(known, after)
    if ordered is None or 2 * max(counts.values()) < keyed:
        return [], False
    labelled = 2 * unnamed > keyed
    return ([LABEL, *ordered], True) if labelled else (ordered, False)


def _order_names(names: Sequence[str], after: dict[str, set[str]]) -> list[str] | None:
    """Return the names in an order in which each stands before those that follow it; None if there
    is none, so that these are no columns."""
    wanted = {name: {item for item in after.get(name, ()) if item in names} for name in names}
    left, found = list(names), []
    while left:
        free = [n for n in left if not any(n in wanted[other] for other in left if other != n)]
        if not free:
            return None
        found.append(free[0])
        left.remove(free[0])
    return found


def _cells(
    parts: Sequence[tuple[str, str]], names: Sequence[str], labelled: bool
) -> list[str | None] | None:
    """Return a record as cells under the names; None for a line that is not a record. What has no
    name, or one that is not a column's, goes on with the cell before it."""
    cells: list[str | None] = [None] * len(names)
    place = -1
    for number, (name, cell) in enumerate(parts):
        known = names.index(name) if name in names else -1
        if known > place:
            place = known
            cells[place] = cell
            continue
        said = f"{name}: {cell}" if name else cell
        if labelled and number == 0:
            place, cells[0] = 0, said
        elif place >= 0:
            cells[place] = f"{cells[place]}; {said}"
        else:
            return None
    filled = sum(cell is not None for cell in cells)
    return cells if filled > 1 or (filled == 1 and not labelled) else None


def _is_total(cells: Sequence[str | None], above: Sequence[str | None]) -> bool:
    """Tell whether a row sums up others: it says so, and if it says more than that ("Total Corn
    Flakes" is a cereal), none of its figures is nearer to nothing than that of the row above."""
    first = next((cell for cell in cells if cell), "")
    said = _TOTAL.match(first)
    if said is None or said.end() == len(first):
        return said is not None
    pairs = [
        (_number(cell, "."), _number(other, "."))
        for cell, other in zip(cells, above, strict=False)
        if cell and other
    ]
    return all(abs(mine) >= abs(other) for mine, other in pairs if mine and other)


def without_humps(name: str) -> str:
    """Return the words of a name like "EngineSize" apart."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)


def _column(
    name: str, cells: Sequence[str | None], language: str
) -> tuple[Column, list[Decimal | date | str | None]]:
    """Return the column with its type, and its values."""
    filled = [cell for cell in cells if cell and cell.casefold() not in _NOTHING]
    distinct = len(set(filled))
    unique = distinct == len(filled) == len(cells)
    day_first = _day_first(filled)
    if filled and all(_date(cell, day_first) for cell in filled):
        return Column(name, "date", unique=unique), [
            _date(cell, day_first) if cell else None for cell in cells
        ]
    numeric = [cell for cell in filled if _NUMBER.fullmatch(cell)]
    point = _point(numeric, language)
    read = [_number(cell, point) if cell else None for cell in cells] if point else []
    numbers = [item for item in read if item is not None]
    if numbers and len(numbers) == len(filled) and len(_units(filled)) <= 1:
        scale = max(max(0, -int(item.as_tuple().exponent)) for item in numbers)
        digits = max(len(item.as_tuple().digits) for item in numbers)
        exact = scale <= MAX_DECIMALS and digits <= MAX_DIGITS
        first_year = EARLIEST if _YEAR_NAME.search(without_humps(name).casefold()) else 1900
        years = all(item == int(item) and first_year <= item <= 2100 for item in numbers)
        column = Column(name, "number", scale if exact else -1, unique, years)
        return column, [*read]
    mixed = bool(numeric) and len(numeric) * 2 >= len(filled)
    return Column(name, "text", unique=unique, mixed=mixed), list(cells)


def _value(cell: str | None, column: Column, language: str) -> Decimal | date | str | None:
    if cell is None or column.type == "text":
        return cell
    if column.type == "date":
        return _date(cell)
    point = _point([cell], language) if _NUMBER.fullmatch(cell) else ""
    return _number(cell, point) if point else None


def _units(cells: Sequence[str]) -> set[str]:
    """Return the units of the cells, one of them empty where some have none."""
    found = set()
    for cell in cells:
        match = _NUMBER.fullmatch(cell)
        if match:
            found.add((match["before"] or match["unit"] or "").casefold().rstrip("."))
    return found


def _point(cells: Sequence[str], language: str) -> str:
    """Return the sign before decimals in these numbers; empty where that cannot be told."""
    commas = dots = False
    unclear: set[str] = set()
    for cell in cells:
        match = _NUMBER.fullmatch(cell)
        digits = match["digits"].strip() if match else ""
        last = max(digits.rfind(","), digits.rfind("."))
        if last < 0:
            continue
        sign, other = digits[last], "," if digits[last] == "." else "."
        grouped = _GROUPS[sign].fullmatch(digits)
        if other in digits or not grouped:
            several = digits.count(sign) > 1
            commas |= (sign == ",") != several
            dots |= (sign == ".") != several
        elif digits.count(sign) > 1:
            commas |= sign == "."
            dots |= sign == ","
        else:
            unclear.add(sign)
    if commas and dots:
        return ""
    if commas or dots:
        return "," if commas else "."
    comma_language = language in COMMA_DECIMAL
    if unclear and comma_language:
        return ""
    return "" if len(unclear) > 1 else "."


def _number(cell: str, point: str) -> Decimal | None:
    match = _NUMBER.fullmatch(cell)
    if match is None or bool(match["open"]) != bool(match["close"]):
        return None
    digits = re.sub(r"['’\u00a0\u202f ]", "", match["digits"])
    if digits.startswith("0") and digits[1:2].isdigit():
        return None
    other = "," if point == "." else "."
    whole, _, rest = digits.partition(point)
    if other in rest or point in rest:
        return None
    if other in whole and not _GROUPS[other].fullmatch(whole):
        return None
    try:
        value = Decimal(f"{whole.replace(other, '')}.{rest}" if rest else whole.replace(other, ""))
        value = value.scaleb(int(match["power"][1:])) if match["power"] else value
    except InvalidOperation:
        return None
    negative = match["open"] or match["sign"] in ("-", "−") or match["second"]
    return -value if negative else value


def _day_first(cells: Sequence[str]) -> bool | None:
    """Whether the day stands before the month in dates with slashes; None where no cell tells."""
    parts = [match.groups() for cell in cells if (match := _SLASHED.fullmatch(cell))]
    first, second = (any(int(part[place]) > 12 for part in parts) for place in (0, 1))
    return None if first == second else first


def _date(cell: str, day_first: bool | None = None) -> date | None:
    try:
        if match := _ISO.fullmatch(cell):
            return date(int(match[1]), int(match[3]), int(match[4]))
        if match := _DOTTED.fullmatch(cell):
            return date(int(match[3]), int(match[2]), int(match[1]))
        if day_first is not None and (match := _SLASHED.fullmatch(cell)):
            day, month = (1, 2) if day_first else (2, 1)
            return date(int(match[3]), int(match[month]), int(match[day]))
        if match := _WORDED.fullmatch(cell):
            day_said, month_said = match["before"] or match["behind"], match["month"].casefold()
            if month_said in MONTHS and day_said and not (match["before"] and match["behind"]):
                return date(int(match["year"]), MONTHS[month_said], int(day_said))
    except ValueError:
        return None
    return None

"""Rows of cells as text: one row a line, so that a table can be cut between rows."""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise

from ragstone.core.code_spans import without_spans
from ragstone.ingest.document import Block
from ragstone.ingest.formats.struck import without_struck
from ragstone.language.sentences import ends_sentence

_NUMBER = re.compile(r"[-+(]?[$€£¥]?\s*[\d.,\s]*\d[\d.,\s]*[)%€$]?")
_BLOCK_CHARS = 4000
_LOOK_AHEAD = 9
_MAX_HEADS = 4
_MAX_SIDEWAYS_ROWS, _MAX_SIDEWAYS_WIDTH = 16, 24
"""A record of more fields than rows here could not be read."""

_UNIT = re.compile(r"(?!n/?a$)(?=.*[^\W\d_]|.*[%°€$£¥‰])\S(?:.{0,18}\S)?", re.IGNORECASE)
_IN_BRACKETS = re.compile(r"\(.+\)|\[.+\]")
_UNITS_LABEL = re.compile(
    r"|[-–—]|[(\[].*[)\]]|(?:units?|einheit|unité|unidad|unità|unidade|eenheid|enhet|jednostk|единиц)\w*"
    r"|单位|單位|単位|단위",
    re.IGNORECASE,
)
_MIN_BELOW = 2
"""Rows below names that stand below notes."""
_MAX_NAME = 120
_MAX_NOTES = 6
"""Rows at the end of a table that may be notes."""


INDENT = "\u00a0"
"""Stands before the first cell of a row as often as it is indented below a row above."""

_MIN_BLANK = 1 / 3
"""The share of rows whose first cell is empty in a table that says its groups only once."""

_MIN_OUTLINE = 4
_MIN_LABELS = 2
"""Rows that show how a form is written."""


def _record(header: Sequence[str], row: Sequence[str]) -> str:
    parts = []
    for column, raw in enumerate(row):
        cell = _single_line(raw)
        name = header[column] if column < len(header) else ""
        if cell:
            parts.append(f"{name}: {cell}" if name else cell)
    return "; ".join(parts)


def _is_year(cell: str) -> bool:
    return len(cell) == 4 and cell.isdigit() and "1900" <= cell <= "2100"


def _single_line(cell: str) -> str:
    return " ".join(cell.split())


def table_blocks(
    rows: Iterable[Sequence[str]],
    header: int | None = None,
    label: str = "",
    page: int | None = None,
    merged: Container[str] | None = None,
) -> Iterator[Block]:
    """A table whose merged cells repeat their value, as blocks of about 4,000 characters, lazily.

    `header` is how many rows name the columns, None to find out. Names of several rows are joined
    ("2018 Q1"), with a row of units below them ("Mass (kg)"), and not said again where the header
    is repeated; those of empty columns are a last line. Rows above the header with one value only
    are the table's title, which comes before `label`. `merged` holds what cells say that reach over
    columns: other equal cells of a row are data. None is for a format that does not tell. A short
    table whose columns are the records, as its values show, is turned.
    """
    source = (
        [_indent(cell) * (not at) + _single_line(cell) for at, cell in enumerate(row)]
        for row in rows
    )
    filled: Iterator[list[str]] = (row for row in source if any(row))
    whole = list(islice(filled, _MAX_SIDEWAYS_ROWS + 1))
    # A row of which all is struck out names no columns of what is below.
    del whole[: next((at for at, row in enumerate(whole) if any(map(without_struck, row))), 0)]
    if header in (None, 1) and (first := find_sideways(whole, merged)) is not None:
        whole[first:] = [list(row) for row in zip(*whole[first:], strict=True)]
    filled = chain(whole, filled)
    ahead = list(islice(filled, _LOOK_AHEAD))
    titles = []
    while (
        len(ahead) > 1
        and ahead[0][0]
        and is_banner(ahead[0], merged)
        and not is_banner(ahead[1], merged)
    ):
        titles.append(next(cell for cell in ahead.pop(0) if cell))
        header = header - 1 if header else header
    notes = ahead[: _names_below_notes(ahead)] if header is None else []
    ahead = ahead[len(notes) :]
    count = min(_count_name_rows(ahead) if header is None else header, len(ahead))
    # A table of names alone has no records; then the names are its rows.
    count = 0 if count == len(ahead) else count
    count, names = name_columns(ahead, count)
    names = [_plain_name(name) for name in names]
    # Days of a month above equal figures are a record of these.
    repeated = [
        row
        for row in ahead[:count]
        if len(set(row) - {""}) > 1 and not all(map(_is_number, filter(None, row)))
    ]
    below = (row for row in chain(ahead[count:], filled) if row not in repeated)
    caption = ". ".join(dict.fromkeys(item for item in (*titles, label) if item))
    lines = _table_lines(names, _nest_rows(names, below, merged), merged)
    above = (*(titles if not label else ()), *(row_line((), row, merged) for row in notes))
    for text in _group_lines(chain(above, lines)):
        yield Block(text, "table", page=page, label=caption)


def name_columns(rows: Sequence[Sequence[str]], count: int) -> tuple[int, list[str]]:
    """Tell how many rows name the columns where the first `count` ones do, as one of units may
    follow; and the names."""
    count += bool(count) and _is_units_row(rows, count)
    heads = list(rows[:count])
    if count > 1 and _is_units_row(rows, count - 1):
        heads[-1] = [_write_unit(*pair) for pair in zip(heads[-1], heads[-2], strict=False)]
    return count, join_names(heads)


def _is_units_row(rows: Sequence[Sequence[str]], place: int) -> bool:
    """Tell whether the row below the names says in which units the columns are: words over columns
    of figures, and nothing else. A single one must be in brackets, as it may be a value."""
    names = list(filter(None, join_names(rows[:place])))
    # What tells columns apart is a name ("Units", "Value" below "Export").
    if place + _MIN_BELOW >= len(rows) or len(set(names)) < len(names):
        return False
    below = rows[place + 1 :]
    found = []
    for column, (cell, name) in enumerate(zip(rows[place], rows[place - 1], strict=False)):
        if cell == name or (
            _UNITS_LABEL.fullmatch(cell) and not (column and _IN_BRACKETS.fullmatch(cell))
        ):
            continue
        values = [row[column] for row in below if column < len(row) and row[column]]
        is_measured = bool(values) and all(map(is_figure, values))
        if not (column and is_measured and _UNIT.fullmatch(cell)) or _is_number(cell):
            return False
        found.append(cell)
    return len(found) > 1 or any(map(_IN_BRACKETS.fullmatch, found))


def _write_unit(cell: str, name: str) -> str:
    if cell == name or _IN_BRACKETS.fullmatch(cell):
        return cell
    return "" if _UNITS_LABEL.fullmatch(cell) else f"({cell})"


def find_sideways(
    rows: Sequence[Sequence[str]], merged: Container[str] | None = None
) -> int | None:
    """The row from which on a table is sideways, with a record in each column; None for others.

    In such a table rows of figures stand beside rows of words, so that no column has either alone.
    Years as names are no records: a table of years is read by its rows."""
    first = next((at for at, row in enumerate(rows) if not is_banner(row, merged)), len(rows))
    table = rows[first:]
    width = len(table[0]) if table else 0
    if not (
        len(rows) <= _MAX_SIDEWAYS_ROWS
        and 2 < width <= _MAX_SIDEWAYS_WIDTH
        and len(table) > 2
        and all(len(row) == width and all(row) for row in table)
    ):
        return None
    names, labels = table[0], [row[0] for row in table]
    kinds = [{is_figure(cell) for cell in row[1:]} for row in table[1:]]
    is_one = (
        all(len(kind) == 1 for kind in kinds)
        and {True} in kinds
        and any(
            len(set(row[1:])) > 1
            for row, kind in zip(table[1:], kinds, strict=True)
            if kind == {False}
        )
        and not any(map(is_figure, (*names, *labels)))
        and not _is_units_row(table, 1)
        and len(set(names)) == width
        and len(set(labels)) == len(labels)
    )
    return first if is_one else None


def _names_below_notes(rows: Sequence[Sequence[str]]) -> int:
    """Return the place of the row that names the columns where notes of a few cells stand above it,
    right on the table; 0 where there is none.

    The names fill more cells than any note, each another one, and full rows with figures follow."""
    known = _count_name_rows(rows)
    if known == 1:
        return 0
    for place in range(max(known, 1), len(rows) - _MIN_BELOW):
        names, *below = rows[place : place + _MIN_BELOW + 2]
        width = len([cell for cell in names if cell])
        full = all(len([cell for cell in row if cell]) >= width - 1 for row in below)
        if (
            width > 2
            and full
            and _count_name_rows(rows[place:]) == 1
            and len(set(names) - {""}) == width > max(len(set(row) - {""}) for row in rows[:place])
            and any(all(is_figure(cell) for cell in column) for column in zip(*below, strict=False))
        ):
            return place
    return 0


def is_figure(cell: str) -> bool:
    return cell[:1].isdigit() or _is_number(cell)


def _plain_name(name: str) -> str:
    """The name of a column without the signs that stand between names and cells in a record."""
    plain = without_spans(name).strip().replace(": ", ":").replace("; ", ", ")
    return plain.rstrip(":") or plain


def _indent(cell: str) -> str:
    return cell[: len(cell) - len(cell.lstrip(INDENT))]


def _nest_rows(
    names: Sequence[str], rows: Iterable[Sequence[str]], merged: Container[str] | None
) -> Iterator[Sequence[str]]:
    """The rows, those below another one with its label before their own ("Age > Mean"): indented
    ones, and all below a cell that reaches over the table, where the first column has no name."""
    above: list[tuple[int, str]] = []
    for row in rows:
        depth, label = len(_indent(row[0])), _single_line(row[0])
        if (
            merged is not None
            and is_banner(row, merged)
            and len([item for item in row if item]) > 1
        ):
            # Where the first column has a name, the label would be taken for one of its values.
            above = [(-1, label)] if names and not names[0] and len(label) <= _MAX_NAME else []
            yield row
            continue
        while above and above[-1][0] >= depth:
            above.pop()
        known = above[-1][1] if above and label else ""
        if label:
            above.append((depth, label))
        yield [f"{known} > {label}" if known else label, *row[1:]]


def fill_down(rows: Sequence[Sequence[str]], header: int) -> list[list[str]]:
    """The rows of a table for readers, its groups written in each row of theirs, where it says them
    in the first row only. That it does so must show: of the rows below the `header` at least a
    third begin with an empty cell, and what is in the other first cells is another group each."""
    found = [list(row) for row in rows]
    width = max(map(len, rows), default=0)
    for column in range(min(_MAX_GROUPS, width - 2)):
        own = [row for row in found[header:] if len(row) == width]
        if len(own) < _MIN_OUTLINE or not _is_outline(own, column):
            break
        held: list[str] = []
        for row in own:
            if row[column]:
                held = row[: column + 1]
            elif held:
                row[column] = held[column]
    return found


_MAX_GROUPS = 3


def _is_outline(rows: Sequence[Sequence[str]], column: int) -> bool:
    """Tell whether a column says a group once, above the rows of it."""
    filled = [row for row in rows if row[column]]
    blank = len(rows) - len(filled)
    return (
        bool(rows[0][column])
        and blank >= _MIN_BLANK * len(rows)
        and all(all(row[column + 1 :]) for row in filled)
        and all(row[-1] for row in rows)
        and all(row[: column + 1] != after[: column + 1] for row, after in pairwise(filled))
        and not any(map(is_figure, (row[column] for row in filled)))
    )


def _table_lines(
    names: Sequence[str], rows: Iterable[Sequence[str]], merged: Container[str] | None
) -> Iterator[str]:
    """Yield the rows, notes below them as they are, and last the names of columns in which no row
    has anything."""
    unused = {column for column, name in enumerate(names) if name}
    held: list[Sequence[str]] = []
    figures: set[int] | None = None
    for seen, row in enumerate(rows):
        # Whether these rows are notes is known at the end of the table only.
        if seen >= _MIN_BELOW and _may_be_note(row, len(names)) and len(held) < _MAX_NOTES:
            held.append(row)
            continue
        for item in (*held, row):
            unused -= {column for column, cell in enumerate(item) if cell}
            figures = _still_figures(figures, item)
            yield row_line(names, item, merged)
        held = []
    # A word in a column of figures shows that these are no records.
    noted = any(row[column] for row in held for column in figures or () if column < len(row))
    for row in held:
        unused -= {column for column, cell in enumerate(row) if cell}
        yield row_line(() if noted else names, row, merged)
    if unused:
        yield " | ".join(names[column] for column in sorted(unused))


def _may_be_note(row: Sequence[str], width: int) -> bool:
    """Tell whether a row is one of a few words, as notes below a table are."""
    filled = [cell for cell in row if cell]
    return 2 * len(filled) <= width and not any(map(is_figure, filled))


def _still_figures(columns: set[int] | None, row: Sequence[str]) -> set[int]:
    """Return the columns in which each row so far has figures."""
    own = {column for column, cell in enumerate(row) if cell and is_figure(cell)}
    return own if columns is None else columns & own


def _group_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines joined to texts of about 4,000 characters."""
    held: list[str] = []
    size = 0
    for line in lines:
        if held and size + len(line) > _BLOCK_CHARS:
            yield "\n".join(held)
            held, size = [], 0
        held.append(line)
        size += len(line) + 1
    if held:
        yield "\n".join(held)


def row_line(names: Sequence[str], row: Sequence[str], merged: Container[str] | None = None) -> str:
    """Return a row as a record under the names; one that is a single merged cell is that alone."""
    if is_banner(row, merged) and len([cell for cell in row if cell]) > 1:
        return row[0]
    if names:
        return _record(names, row)
    if len(row) > 1 and row[0].endswith(":"):
        return f"{row[0]} {' | '.join(cell for cell in row[1:] if cell)}".rstrip()
    return " | ".join(cell for cell in row if cell)


def is_banner(row: Sequence[str], merged: Container[str] | None = None) -> bool:
    """Tell whether the row says one thing only, in its first cell or in one merged from there on.

    Short or equal numbers in all cells are data, and so is what is not among the `merged`.
    """
    filled = [cell for cell in row if cell]
    if len(row) < 2 or not row[0] or len(set(filled)) != 1:
        return False
    if len(filled) == 1:
        return True
    return row[0] in merged if merged is not None else len(row[0]) > 3 and not _is_number(row[0])


def header_rows(rows: Sequence[Sequence[str]]) -> int:
    """Tell how many of the first rows name the columns, with that of their units."""
    count = _count_name_rows(rows)
    return count + (bool(count) and _is_units_row(rows, count))


def _count_name_rows(rows: Sequence[Sequence[str]]) -> int:
    if len(rows) < 2:
        return 0
    if _is_group(rows[0]) and len(rows) > 2 and are_names(rows[1]):
        return 2
    if not are_names(rows[0]) or is_first_data(rows):
        return 0
    named = [cell for cell in rows[0] if cell]
    spans = len(set(named)) < len(named) or "" in rows[0][1:]
    if not spans:
        return 1
    known = len(set(named))
    for count in range(2, min(len(rows), _MAX_HEADS + 1)):
        if not are_names(rows[count - 1]) or is_banner(rows[count - 1]):
            break
        both = join_names(rows[:count])
        under = sum(bool(cell) for cell in both)
        if len(set(both)) >= under and under > known:
            return count
    return 1 if len(set(named)) > 1 and len(set(named)) == len(named) else 0


def is_first_data(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether the first row is data, as those below it are: each is a label with a colon and
    its value, or ends a sentence in the same column."""
    looked = rows[:_MIN_LABELS]
    if all(row[0].endswith((":", "：")) for row in looked):
        return True
    return len(looked) == _MIN_LABELS and any(
        all(map(ends_sentence, cells)) for cells in zip(*looked, strict=False)
    )


def _is_group(row: Sequence[str]) -> bool:
    """Tell whether the row names a group of columns right of the first one, and nothing else."""
    cells = {cell for cell in row if cell}
    return not row[0] and len(cells) == 1 and (_is_year(one := cells.pop()) or not _is_number(one))


def _is_number(cell: str) -> bool:
    return bool(_NUMBER.fullmatch(_plain(cell)))


def _plain(cell: str) -> str:
    """Return the cell without the marks of code and of what is struck out."""
    return without_struck(without_spans(cell))


def are_names(row: Sequence[str]) -> bool:
    """Tell whether the cells can be names of columns: no numbers, but years, or numbers that count
    on (the days of a month)."""
    cells = [plain for cell in row if (plain := _plain(cell))]
    if not cells or len(set(cells)) < 2 or any(len(cell) > _MAX_NAME for cell in cells):
        return False
    numbers = [cell for cell in dict.fromkeys(cells) if _NUMBER.fullmatch(cell)]
    if not numbers or all(_is_year(cell) for cell in numbers):
        return bool(len(numbers) < len(cells) or not row[0])
    counted = [int(cell) for cell in numbers if cell.isdecimal() and len(cell) < 5]
    return len(counted) == len(numbers) > 2 and all(
        after - before == 1 for before, after in pairwise(counted)
    )


def join_names(rows: Sequence[Sequence[str]]) -> list[str]:
    width = max((len(row) for row in rows), default=0)
    columns = (
        dict.fromkeys(row[column] for row in rows if column < len(row) and row[column])
        for column in range(width)
    )
    return [" ".join(parts) for parts in columns]

"""What a question about a table comes to: as SQL, and a second time without it.

Both are made from the same `TableQuestion`. DuckDB computes the one and Python with exact decimals
the other; an answer is given where they agree.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from ragstone.plugins.tables.queries import Cell, QueriedTable
from ragstone.plugins.tables.reading_question import Condition, TableQuestion, select_rows
from ragstone.retrieve.typed_table import TypedRow, TypedTable

ROW = "row"
"""The column that numbers the rows of a table, from 1."""

DECIMALS = 4
"""Decimals of an average."""


@dataclass(frozen=True, slots=True)
class ComputedRows:
    """What a question comes to: the `figure` of all rows, or one for each `groups` value, and the
    rows it was computed from, or that are the answer. `different` are how many values a counted
    column has, None where that is not asked; `empty` how many of the rows have no figure."""

    rows: tuple[TypedRow, ...]
    figure: Decimal | date | None = None
    groups: tuple[tuple[str, Decimal], ...] = ()
    different: int | None = None
    empty: int = 0


def number_rows(table: TypedTable) -> QueriedTable:
    """The table as queries see it, its rows numbered."""
    row = next(
        name for name in (ROW, *(f"{ROW}_{n}" for n in range(1, 1000)))
        if name not in {column.name.casefold() for column in table.columns}
    )  # fmt: skip
    return QueriedTable(
        table.name,
        (row, *(column.name for column in table.columns)),
        ("number", *(column.type for column in table.columns)),
        (0, *(column.scale for column in table.columns)),
        [(number, *map(_cell, item.values)) for number, item in enumerate(table.rows, 1)],
    )


def _cell(value: Decimal | date | str | None) -> Cell:
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


def build_sql(asked: TableQuestion) -> str:
    """The query that computes it. Names and values of the document are quoted."""
    table, where = quote_name(asked.table.name), _where(asked.conditions)
    measure, group = quote_name(asked.measure), quote_name(asked.group)
    of_group = _and(where, f"{group} IS NOT NULL")
    if asked.operation == "list":
        order = f"ORDER BY {measure}{' DESC' if asked.descending else ''}" if measure else ""
        return _select("*", table, where, order)
    if asked.operation in ("most", "least") and not measure:
        order = "DESC" if asked.operation == "most" else "ASC"
        order = f"GROUP BY {group} ORDER BY n {order}, {group}"
        return _select(f"{group}, COUNT(*) AS n", table, of_group, order)
    figure = {
        "count": f"COUNT(DISTINCT {quote_name(asked.entity)})" if asked.different else "COUNT(*)",
        "sum": f"SUM({measure})",
        "average": f"AVG({measure})",
        "most": f"MAX({measure})",
        "least": f"MIN({measure})",
    }[asked.operation]
    if group:
        order = f"GROUP BY {group} ORDER BY {group}"
        return _select(f"{group}, {figure} AS n", table, of_group, order)
    return _select(figure, table, where)


def _select(what: str, table: str, where: str, order: str = "") -> str:
    return " ".join(("SELECT", what, "FROM", f"{table}{where}", order)).rstrip()


def _and(where: str, more: str) -> str:
    return f"{where} AND {more}" if where else f" WHERE {more}"


def _where(conditions: Sequence[Condition]) -> str:
    said = [_condition(condition) for condition in conditions]
    return f" WHERE {' AND '.join(said)}" if said else ""


def _condition(condition: Condition) -> str:
    column = (
        f"YEAR({quote_name(condition.column)})" if condition.year else quote_name(condition.column)
    )
    values = [str(v) if isinstance(v, Decimal) else _literal(v) for v in condition.values]
    if condition.comparison != "in":
        return f"{column} {condition.comparison} {values[0]}"
    return f"{column} = {values[0]}" if len(values) == 1 else f"{column} IN ({', '.join(values)})"


def quote_name(name: str) -> str:
    """A name as SQL writes it; nothing for none."""
    return '"' + name.replace('"', '""') + '"' if name else ""


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def outcome(asked: TableQuestion) -> ComputedRows | None:
    """What it comes to without SQL; None where there is nothing to say."""
    rows = select_rows(asked.table, asked.conditions)
    if not rows:
        return None
    if asked.operation == "list":
        return _list_rows(asked, rows)
    if asked.operation in ("most", "least"):
        return _extreme(asked, rows)
    if asked.group:
        return _group_rows(asked, rows)
    if asked.operation == "count":
        if not asked.entity:
            return ComputedRows(tuple(rows), Decimal(len(rows)))
        place = asked.table.place(asked.entity)
        different = {row.values[place] for row in rows} - {None}
        count = len(different) if asked.different else len(rows)
        return ComputedRows(tuple(rows), Decimal(count), different=len(different))
    values = _figures(asked, rows)
    if not values:
        return None
    total = sum(values, Decimal())
    figure = total if asked.operation == "sum" else total / len(values)
    return ComputedRows(tuple(rows), figure, empty=len(rows) - len(values))


def _figures(asked: TableQuestion, rows: Sequence[TypedRow]) -> list[Decimal]:
    place = asked.table.place(asked.measure)
    return [one for row in rows if isinstance(one := row.values[place], Decimal)]


def _list_rows(asked: TableQuestion, rows: list[TypedRow]) -> ComputedRows:
    if asked.measure:
        place = asked.table.place(asked.measure)
        filled = [row for row in rows if row.values[place] is not None]
        rows = sorted(filled, key=lambda row: _key(row, place), reverse=asked.descending)
    return ComputedRows(tuple(rows), Decimal(len(rows)))


def _key(row: TypedRow, place: int) -> tuple[Decimal, str]:
    value = row.values[place]
    if isinstance(value, date):
        return Decimal(value.toordinal()), ""
    return (value, "") if isinstance(value, Decimal) else (Decimal(), str(value))


def _extreme(asked: TableQuestion, rows: Sequence[TypedRow]) -> ComputedRows | None:
    best = max if asked.operation == "most" else min
    if not asked.measure:
        place = asked.table.place(asked.group)
        counts = Counter(row.cells[place] for row in rows if row.values[place] is not None)
        if not counts:
            return None
        most = best(counts.values())
        groups = sorted((str(name), Decimal(n)) for name, n in counts.items() if n == most)
        named = {name for name, _ in groups}
        return ComputedRows(
            tuple(row for row in rows if row.cells[place] in named), groups=tuple(groups)
        )
    place = asked.table.place(asked.measure)
    filled = [row for row in rows if row.values[place] is not None]
    if not filled:
        return None
    end = best(_key(row, place) for row in filled)
    chosen = tuple(row for row in filled if _key(row, place) == end)
    figure = chosen[0].values[place]
    if isinstance(figure, str):
        return None
    return ComputedRows(chosen, figure, empty=len(rows) - len(filled))


def _group_rows(asked: TableQuestion, rows: Sequence[TypedRow]) -> ComputedRows | None:
    place = asked.table.place(asked.group)
    apart: dict[str, list[TypedRow]] = defaultdict(list)
    for row in rows:
        if row.values[place] is not None:
            apart[str(row.cells[place])].append(row)
    figures: Mapping[str, Decimal | None] = {
        name: _compute_figure(asked, own) for name, own in apart.items()
    }
    groups = tuple((name, item) for name, item in sorted(figures.items()) if item is not None)
    return ComputedRows(tuple(rows), groups=groups) if len(groups) > 1 else None


def _compute_figure(asked: TableQuestion, rows: Sequence[TypedRow]) -> Decimal | None:
    if asked.operation == "count":
        if not asked.different:
            return Decimal(len(rows))
        place = asked.table.place(asked.entity)
        return Decimal(len({row.values[place] for row in rows} - {None}))
    values = _figures(asked, rows)
    if not values:
        return None
    total = sum(values, Decimal())
    return total if asked.operation == "sum" else total / len(values)


def agrees(asked: TableQuestion, found: ComputedRows, rows: Sequence[Sequence[str | None]]) -> bool:
    """Whether a query returned the same."""
    if asked.operation == "list":
        return len(rows) == len(found.rows)
    if found.groups:
        there = [(row[0], row[1]) for row in rows if row[0] is not None and row[1] is not None]
        if asked.operation in ("most", "least") and not asked.measure:
            there = [item for item in there if item[1] == there[0][1]]
        return len(there) == len(found.groups) and all(
            _plain(mine[0]) == _plain(theirs[0]) and is_equal(mine[1], theirs[1])
            for mine, theirs in zip(found.groups, sorted(there), strict=True)
        )
    said = rows[0][0] if len(rows) == 1 and rows[0] else None
    if said is None or found.figure is None:
        return False
    if isinstance(found.figure, date):
        return said == found.figure.isoformat()
    return is_equal(found.figure, said)


def _plain(value: str) -> str:
    return value.removesuffix(".0")


def is_equal(mine: Decimal, theirs: str) -> bool:
    """Whether the two numbers are the same but for what is lost in rounding."""
    try:
        other = Decimal(theirs)
    except ArithmeticError:
        return False
    return abs(mine - other) <= Decimal("1e-9") * max(Decimal(1), abs(mine))

"""What a question about a table comes to: as SQL, and a second time without it.

Both are made from the same `TableQuestion`. DuckDB computes the one and Python with exact decimals
the other; an answer is given where they agree.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from ragstone.plugins.tables.queries import Cell, QueriedTable
from ragstone.plugins.tables.table_question import Condition, TableQuestion, select_rows
from ragstone.retrieve.typed_table import TypedRow, TypedTable

ROW = "row"
"""The column that numbers the rows of a table, from 1."""

DECIMALS = 4
"""Decimals of an average."""


@dataclass(frozen=True, slots=True)
class ComputedRows:
    """What a question comes to: the `figure` of all rows, or one for each of the `groups`, and the
    rows it was computed from, or that are the answer. `among` are how many rows a share is of,
    `empty` how many of the rows have no figure."""

    rows: tuple[TypedRow, ...]
    figure: Decimal | date | None = None
    groups: tuple[tuple[str, Decimal], ...] = ()
    among: int = 0
    empty: int = 0


def number_rows(table: TypedTable) -> QueriedTable:
    """Return the table as queries see it, its rows numbered."""
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
    """Return the query that computes it. Names and values of the document are quoted."""
    table, where = quote_name(asked.table.name), _where(asked.conditions)
    measure = quote_name(asked.measure)
    match asked.operation:
        case "list" | "cell":
            return _select("*", table, where)
        case "values":
            return _select(f"DISTINCT {measure}", table, _and(where, f"{measure} IS NOT NULL"))
        case "share" if asked.of_share:
            part = f"SUM(CASE WHEN {_condition(asked.of_share)} THEN 1 ELSE 0 END)"
            return _select(f"100.0 * {part} / COUNT(*)", table, where)
        case "difference":
            figure = f"AVG({measure})" if measure else "COUNT(*)"
            first, last = (_select(figure, table, _where([c])) for c in asked.conditions)
            return f"SELECT ABS(({first}) - ({last}))"
        case "commonest" | "rarest":
            group = quote_name(asked.group)
            key = f"YEAR({group})" if asked.by_year else group
            figure = f"SUM({measure})" if measure else "COUNT(*)"
            order = "DESC" if asked.operation == "commonest" else "ASC"
            grouped = f"GROUP BY {key} HAVING {figure} IS NOT NULL ORDER BY n {order}, {key}"
            filled = _and(where, f"{group} IS NOT NULL")
            return _select(f"{key}, {figure} AS n", table, filled, grouped)
        case "most" | "least" if asked.limit > 1:
            order = f"{measure} {'DESC' if asked.operation == 'most' else 'ASC'}"
            filled = _and(where, f"{measure} IS NOT NULL")
            return _select(measure, table, filled, f"ORDER BY {order} LIMIT {asked.limit}")
        case operation:
            figure = {
                "count": "COUNT(*)",
                "sum": f"SUM({measure})",
                "average": f"AVG({measure})",
                "most": f"MAX({measure})",
                "least": f"MIN({measure})",
            }[operation]
            return _select(figure, table, where)


def _select(what: str, table: str, where: str, order: str = "") -> str:
    return " ".join(("SELECT", what, "FROM", f"{table}{where}", order)).rstrip()


def _and(where: str, more: str) -> str:
    return f"{where} AND {more}" if where else f" WHERE {more}"


def _where(conditions: Sequence[Condition]) -> str:
    said = [_condition(condition) for condition in conditions]
    return f" WHERE {' AND '.join(said)}" if said else ""


def _condition(condition: Condition) -> str:
    column = quote_name(condition.column)
    if condition.part:
        column = f"{condition.part.upper()}({column})"
    values = [str(v) if isinstance(v, Decimal) else _literal(str(v)) for v in condition.values]
    match condition.comparison:
        case "empty":
            return f"{column} IS NULL"
        case "between":
            return f"{column} BETWEEN {values[0]} AND {values[1]}"
        case "in":
            return (
                f"{column} = {values[0]}"
                if len(values) == 1
                else f"{column} IN ({', '.join(values)})"
            )
        case "not in":
            return f"{column} NOT IN ({', '.join(values)})"
        case comparison:
            return f"{column} {comparison} {values[0]}"


def quote_name(name: str) -> str:
    """Return a name as SQL writes it; nothing for none."""
    return '"' + name.replace('"', '""') + '"' if name else ""


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def compute(asked: TableQuestion) -> ComputedRows | None:
    """Return what it comes to without SQL; None where there is nothing to say."""
    if asked.operation == "difference":
        return _compute_difference(asked)
    rows = select_rows(asked.table, asked.conditions)
    if not rows:
        return None
    match asked.operation:
        case "count" | "list" | "cell":
            return ComputedRows(tuple(rows), Decimal(len(rows)))
        case "values":
            place = asked.table.place(asked.measure)
            seen = dict.fromkeys(row.cells[place] or "" for row in rows if row.values[place])
            return ComputedRows(tuple(rows), groups=tuple((name, Decimal()) for name in seen))
        case "share" if asked.of_share:
            part = select_rows(asked.table, (*asked.conditions, asked.of_share))
            figure = Decimal(100) * len(part) / len(rows)
            return ComputedRows(tuple(part), figure, among=len(rows))
        case "commonest" | "rarest":
            return _compute_groups(asked, rows)
        case "most" | "least":
            return _find_extremes(asked, rows)
    values = _figures(asked, rows)
    if not values:
        return None
    total = sum(values, Decimal())
    figure = total if asked.operation == "sum" else total / len(values)
    return ComputedRows(tuple(rows), figure, empty=len(rows) - len(values))


def _figures(asked: TableQuestion, rows: Sequence[TypedRow]) -> list[Decimal]:
    place = asked.table.place(asked.measure)
    return [value for row in rows if isinstance(value := row.values[place], Decimal)]


def _find_extremes(asked: TableQuestion, rows: Sequence[TypedRow]) -> ComputedRows | None:
    """Return the rows with the highest or lowest figures: those with the last of them too."""
    place = asked.table.place(asked.measure)
    filled = [row for row in rows if isinstance(row.values[place], (Decimal, date))]
    if len(filled) < asked.limit:
        return None
    ordered = sorted(
        filled, key=lambda row: _order(row.values[place]), reverse=asked.operation == "most"
    )
    last = ordered[asked.limit - 1].values[place]
    kept = [row for n, row in enumerate(ordered) if n < asked.limit or row.values[place] == last]
    figure = kept[0].values[place]
    return ComputedRows(
        tuple(kept), None if isinstance(figure, str) else figure, empty=len(rows) - len(filled)
    )


def _order(value: object) -> Decimal:
    return Decimal(value.toordinal()) if isinstance(value, date) else Decimal(str(value))


def _compute_groups(asked: TableQuestion, rows: Sequence[TypedRow]) -> ComputedRows | None:
    """Return the group with the most rows, or the largest sum; or the fewest, the smallest."""
    place = asked.table.place(asked.group)
    apart: dict[str, list[TypedRow]] = defaultdict(list)
    for row in rows:
        value = row.values[place]
        if value is not None:
            key = value.year if isinstance(value, date) else row.cells[place]
            apart[str(key)].append(row)
    figures = {name: Decimal(len(own)) for name, own in apart.items()}
    if asked.measure:
        values = {name: _figures(asked, own) for name, own in apart.items()}
        figures = {name: sum(own, Decimal()) for name, own in values.items() if own}
    if not figures:
        return None
    end = (max if asked.operation == "commonest" else min)(figures.values())
    groups = tuple(sorted((name, figure) for name, figure in figures.items() if figure == end))
    chosen = [row for name, _ in groups for row in apart[name]]
    return ComputedRows(tuple(chosen), groups=groups)


def _compute_difference(asked: TableQuestion) -> ComputedRows | None:
    """Return the difference of two averages, or of how many rows there are; both are the groups."""
    parts = [select_rows(asked.table, [condition]) for condition in asked.conditions]
    figures = [Decimal(len(rows)) for rows in parts]
    if asked.measure:
        values = [_figures(asked, rows) for rows in parts]
        if not all(values):
            return None
        figures = [sum(own, Decimal()) / len(own) for own in values]
    names = [", ".join(map(str, condition.values)) for condition in asked.conditions]
    return ComputedRows(
        tuple(row for rows in parts for row in rows), abs(figures[0] - figures[1]),
        tuple(zip(names, figures, strict=True)),
    )  # fmt: skip


def agrees(asked: TableQuestion, found: ComputedRows, rows: Sequence[Sequence[str | None]]) -> bool:
    """Tell whether a query returned the same."""
    match asked.operation:
        case "list" | "cell":
            return len(rows) == len(found.rows)
        case "values":
            return len(rows) == len(found.groups)
        case "commonest" | "rarest":
            there = [(row[0], row[1]) for row in rows if row[0] is not None and row[1] is not None]
            best = sorted(item for item in there if is_equal(Decimal(item[1]), there[0][1]))
            return len(best) == len(found.groups) and all(
                _plain(mine[0]) == _plain(theirs[0]) and is_equal(mine[1], theirs[1])
                for mine, theirs in zip(found.groups, best, strict=True)
            )
    said = rows[0][0] if rows and rows[0] else None
    if said is None or found.figure is None or len(rows) != asked.limit:
        return False
    if isinstance(found.figure, date):
        return said == found.figure.isoformat()
    return is_equal(found.figure, said)


def _plain(value: str) -> str:
    return value.removesuffix(".0")


def is_equal(mine: Decimal, theirs: str) -> bool:
    """Tell whether the two numbers are the same but for what is lost in rounding."""
    try:
        other = Decimal(theirs)
    except ArithmeticError:
        return False
    return abs(mine - other) <= Decimal("1e-9") * max(Decimal(1), abs(mine))

"""What is asked of a table: which operation, over which column, of which rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal, get_args

from ragstone.retrieve.typed_table import TypedRow, TypedTable

Operation = Literal[
    "count", "sum", "average", "most", "least", "commonest", "rarest", "list", "cell", "values",
    "share", "difference",
]  # fmt: skip
OPERATIONS: tuple[Operation, ...] = get_args(Operation)
Comparison = Literal["in", "not in", ">", ">=", "<", "<=", "between", "empty"]
DatePart = Literal["", "year", "month"]
Value = str | Decimal | date


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the cells of a column: they are, or are not, among the `values`, compare with
    the only one, lie between the two, or are empty. `part` is what of a date is compared."""

    column: str
    comparison: Comparison
    values: tuple[Value, ...] = ()
    part: DatePart = ""

    def holds(self, value: Value | None) -> bool:
        """Whether it holds for a cell; of the others only `empty` does for a cell without value."""
        if value is None or self.comparison == "empty":
            return value is None and self.comparison == "empty"
        if self.part:
            if not isinstance(value, date):
                return False
            value = Decimal(getattr(value, self.part))
        if self.comparison in ("in", "not in"):
            return (value in self.values) == (self.comparison == "in")
        if any(type(value) is not type(other) for other in self.values):
            return False
        first, last = self.values[0], self.values[-1]
        match self.comparison:
            case ">":
                return value > first  # type: ignore[operator]
            case ">=":
                return value >= first  # type: ignore[operator]
            case "<":
                return value < first  # type: ignore[operator]
            case "<=":
                return value <= first  # type: ignore[operator]
            case _:
                return first <= value <= last  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """What is asked of a table.

    `measure` is the column that is summed, compared, or whose cells or values are asked. `group` is
    the one whose commonest or rarest value is asked, of dates the year; with a measure too, the
    value with the largest or smallest sum of that. `limit` are the first so many of the highest or
    lowest. A share is that of the rows under `of_share` too among those under the `conditions`. A
    difference is that between the rows under the first condition and under the second: of the
    averages of the measure, or without one of how many they are.
    """

    table: TypedTable
    operation: Operation
    measure: str = ""
    group: str = ""
    conditions: tuple[Condition, ...] = ()
    of_share: Condition | None = None
    limit: int = 1

    @property
    def by_year(self) -> bool:
        """Whether the groups are the years of dates."""
        return any(c.name == self.group and c.type == "date" for c in self.table.columns)


def select_rows(table: TypedTable, conditions: Sequence[Condition]) -> list[TypedRow]:
    """Return the rows under all conditions."""
    places = [(table.place(condition.column), condition) for condition in conditions]
    return [row for row in table.rows if all(item.holds(row.values[at]) for at, item in places)]

"""What runs queries over tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ragstone.retrieve.typed_table import ColumnType

Cell = str | float | int | None
"""A date is a text of ISO 8601, a number with decimals may be a text of its digits."""


@dataclass(frozen=True, slots=True)
class QueriedTable:
    """A table as queries see it. `scales` are the decimals of each column of numbers, -1 for those
    that are no exact decimals; of the others 0."""

    name: str
    columns: tuple[str, ...]
    types: tuple[ColumnType, ...]
    scales: tuple[int, ...]
    rows: Sequence[Sequence[Cell]]


MAX_ROWS = 2_000
"""Rows of a result that come back."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """What a query returned: the names of its columns, and its first rows as texts, None for
    nothing; `more` says that there were further ones."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    more: bool = False


class TableQueries(Protocol):
    """Runs SQL that only reads, over tables that are given with it and nothing else."""

    async def run(
        self, tables: Sequence[QueriedTable], queries: Sequence[str]
    ) -> list[QueryResult]:
        """Return the result of each query, in order. Raises QueryRefused for one that is not a
        single SELECT, that fails, or that takes more time or memory than it may."""
        ...

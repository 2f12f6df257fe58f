"""The queries of the rules where DuckDB is not installed: in SQLite, which Python brings."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing

from ragstone.core.errors import QueryRefused
from ragstone.plugins.tables.computation import quote_name
from ragstone.plugins.tables.queries import MAX_ROWS, Cell, QueriedTable, QueryResult

_KINDS = {"number": "REAL", "date": "TEXT", "text": "TEXT"}


class PlainQueries:
    """`queries.TableQueries` in this process and in memory: never for what a chat model wrote."""

    async def run(
        self, tables: Sequence[QueriedTable], queries: Sequence[str]
    ) -> list[QueryResult]:
        return await asyncio.to_thread(_run, tables, queries)


def _run(tables: Sequence[QueriedTable], queries: Sequence[str]) -> list[QueryResult]:
    try:
        with closing(sqlite3.connect(":memory:")) as database:
            database.create_function("YEAR", 1, _year, deterministic=True)
            database.create_function("MONTH", 1, _month, deterministic=True)
            for table in tables:
                _load(database, table)
            return [_result(database, query) for query in queries]
    except (sqlite3.Error, OverflowError) as error:
        raise QueryRefused(str(error)) from error


def _year(day: str | None) -> int | None:
    return int(day[:4]) if day else None


def _month(day: str | None) -> int | None:
    return int(day[5:7]) if day else None


def _load(database: sqlite3.Connection, table: QueriedTable) -> None:
    columns = ", ".join(
        f"{quote_name(name)} {_KINDS[kind]}"
        for name, kind in zip(table.columns, table.types, strict=True)
    )
    database.execute(f"CREATE TABLE {quote_name(table.name)} ({columns})")
    places = ", ".join("?" * len(table.columns))
    insert = f"INSERT INTO {quote_name(table.name)} VALUES ({places})"  # noqa: S608 (it is quoted)
    database.executemany(insert, table.rows)


def _result(database: sqlite3.Connection, query: str) -> QueryResult:
    found = database.execute(query)
    rows = found.fetchmany(MAX_ROWS + 1)
    columns = tuple(item[0] for item in found.description)
    shown = tuple(tuple(map(_text, row)) for row in rows[:MAX_ROWS])
    return QueryResult(columns, shown, len(rows) > MAX_ROWS)


def _text(cell: Cell | float) -> str | None:
    return None if cell is None else str(cell)

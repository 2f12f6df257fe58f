"""Rows to objects and back, and the statements that SQL leaves to each dialect."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Select, Table, func, literal, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.records import Collection, Document
from ragstone.store.sql.tables import counters
from ragstone.store.sql.tables.base import Text

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

IN_ONE_STATEMENT = 500
"""Values in one IN list; old SQLite builds allow 999."""


def insert(
    connection: AsyncConnection | Connection, table: Table
) -> "sqlite.Insert | postgresql.Insert":
    """An INSERT that knows `on_conflict_do_update`, which both dialects write the same way."""
    return _insert(connection.dialect.name, table)


def _insert(dialect: str, table: Table) -> "sqlite.Insert | postgresql.Insert":
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql  # 20 ms that SQLite need not pay

        return postgresql.insert(table)
    return sqlite.insert(table)


async def add(connection: AsyncConnection, table: Table, row: Mapping[str, Any]) -> bool:
    """Insert `row` unless there is one with its key; whether it is new."""
    statement = insert(connection, table).values(row).on_conflict_do_nothing()
    # Otherwise the number of rows of an INSERT is known on SQLite alone.
    options = {"preserve_rowcount": True}
    return (await connection.execute(statement, execution_options=options)).rowcount > 0


async def put(connection: AsyncConnection, table: Table, row: Mapping[str, Any]) -> None:
    """Insert `row`, or replace the one with its primary key."""
    await connection.execute(put_statement(connection.dialect.name, table, tuple(row)), row)


def put_now(connection: Connection, table: Table, row: Mapping[str, Any]) -> None:
    """`put`, in a transaction that runs whole in a thread."""
    connection.execute(put_statement(connection.dialect.name, table, tuple(row)), row)


@cache
def put_statement(
    dialect: str, table: Table, names: tuple[str, ...]
) -> "sqlite.Insert | postgresql.Insert":
    """What `put` executes with a row of these `names`. To make it takes longer than to run it."""
    keys = table.primary_key.columns
    return add_statement(dialect, table, (), tuple(name for name in names if name not in keys))


@cache
def add_statement(
    dialect: str, table: Table, sums: tuple[str, ...], newest: tuple[str, ...] = ()
) -> "sqlite.Insert | postgresql.Insert":
    """Inserts a row, or adds its `sums` to the one with its primary key and replaces `newest`."""
    statement = _insert(dialect, table)
    keys = [column.name for column in table.primary_key]
    changed: dict[str, Any] = {name: table.c[name] + statement.excluded[name] for name in sums}
    changed |= {name: statement.excluded[name] for name in newest}
    return statement.on_conflict_do_update(index_elements=keys, set_=changed)


def select_texts(connection: AsyncConnection, texts: Sequence[str]) -> Select[tuple[Any]]:
    """`texts` as rows, for an IN: a thousand bound values take longer than looking them up."""
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql

        array = literal(list(texts), postgresql.ARRAY(Text))
        return select(func.unnest(array).column_valued("value"))
    listed = func.json_each(json.dumps(list(texts))).table_valued("value")
    return select(listed.c.value)


async def increment(connection: AsyncConnection, name: str) -> None:
    """Tell every server that its copy in memory under this name is out of date."""
    row = insert(connection, counters).values(name=name, value=1)
    more = {"value": counters.c.value + 1}
    await connection.execute(row.on_conflict_do_update(index_elements=["name"], set_=more))


def read_count(connection: Connection, name: str) -> int:
    """Tell how often `increment` was called."""
    value = select(counters.c.value).where(counters.c.name == name)
    return connection.execute(value).scalar() or 0


def batches(values: Sequence[str]) -> Iterator[Sequence[str]]:
    """`values` in pieces that fit one statement."""
    for start in range(0, len(values), IN_ONE_STATEMENT):
        yield values[start : start + IN_ONE_STATEMENT]


def document_row(document: Document) -> dict[str, Any]:
    """Return a document as a row of its table."""
    row = {field.name: getattr(document, field.name) for field in fields(document)}
    row["allowed"] = list(document.allowed)
    row["own_readers"] = list(document.own_readers or ())
    row["left_out"] = list(document.left_out)
    row["metadata"] = None if document.metadata is None else dict(document.metadata)
    return row


def to_document(row: Mapping[str, Any]) -> Document:
    """Return the inverse of `document_row`."""
    lists = {name: tuple(row[name]) for name in ("allowed", "own_readers", "left_out")}
    return Document(**{**row, **lists})


def to_collection(row: Mapping[str, Any]) -> Collection:
    """Return the columns of `collections` as an object, also from a row that has others."""
    return Collection(**{field.name: row[field.name] for field in fields(Collection)})

"""Moves the whole state from one database to another: all of it, or nothing."""

from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from sqlalchemy import ColumnElement, Integer, Table, func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.errors import Conflict
from ragstone.store.sql.database import Database, SharedBackend
from ragstone.store.sql.tables import metadata

BATCH = 500
"""Rows in memory at once."""

Some = tuple[Table, list[dict[str, object]]]
"""Some rows of a table."""


async def move(source: Database, target: Database) -> Mapping[str, int]:
    """Copy every table in one transaction; the rows of each.

    Raises Conflict, with nothing changed, if the target holds something or a server uses one of
    both.
    """
    for database in (source, target):
        await _refuse_if_used(database)

    async def work(connection: AsyncConnection) -> Mapping[str, int]:
        await _refuse_if_full(connection, target)
        counts = Counter({table.name: 0 for table in metadata.sorted_tables})
        async with source.read_view() as reading, aclosing(every_row(reading)) as batches:
            async for table, rows in batches:
                await connection.execute(table.insert(), rows)
                counts[table.name] += len(rows)
        await continue_numbering(connection)
        return counts

    return await target.write(work)


async def every_row(
    connection: AsyncConnection, only: Mapping[Table, ColumnElement[bool]] = {}
) -> AsyncGenerator[Some, None]:
    """Yield all rows of all tables, those that others refer to first; of those in `only` some."""
    for table in metadata.sorted_tables:
        wanted = select(table).where(*([only[table]] if table in only else []))
        result = await connection.stream(wanted.execution_options(yield_per=BATCH))
        async for rows in result.mappings().partitions():
            yield table, [dict(row) for row in rows]


async def continue_numbering(connection: AsyncConnection) -> None:
    """Let PostgreSQL's own numbers begin behind the ones that were copied."""
    for table in metadata.sorted_tables if connection.dialect.name == "postgresql" else ():
        column = table.autoincrement_column
        if column is None or not isinstance(column.type, Integer):
            continue
        if column.autoincrement is True:
            newest = select(func.max(column)).scalar_subquery()
            sequence = func.pg_get_serial_sequence(f'"{table.name}"', column.name)
            await connection.execute(select(func.setval(sequence, newest)))


async def _refuse_if_full(connection: AsyncConnection, target: Database) -> None:
    for table in metadata.sorted_tables:
        if (await connection.execute(select(text("1")).select_from(table).limit(1))).first():
            raise Conflict(
                f"The database {target.backend.name} already holds a state (there are "
                f"{table.name}). Give one that is empty."
            )


async def _refuse_if_used(database: Database) -> None:
    backend = database.backend
    if isinstance(backend, SharedBackend) and not await backend.is_alone(database):
        raise Conflict(
            f"A server uses the database {database.backend.name}. Stop every server, then move."
        )

"""Moves the whole state from one database to another: all of it, or nothing."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from sqlalchemy import Integer, Table, func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.errors import Conflict
from ragstone.state.database import Database
from ragstone.state.tables import metadata

BATCH = 500
"""Rows in memory at once."""


async def move(source: Database, target: Database) -> Mapping[str, int]:
    """Copy every table in one transaction; the rows of each.

    Raises Conflict, with nothing changed, if the target holds something or a server uses one of
    both.
    """
    for database in (source, target):
        await _refuse_if_used(database)

    async def work(connection: AsyncConnection) -> Mapping[str, int]:
        await _refuse_if_full(connection, target)
        counts = {}
        # Rows that others refer to come first.
        for table in metadata.sorted_tables:
            counts[table.name] = await _copy(source, connection, table)
        return counts

    return await target.write(work)


async def _copy(source: Database, target: AsyncConnection, table: Table) -> int:
    copied = 0
    async with aclosing(_rows(source, table)) as batches:
        async for batch in batches:
            await target.execute(table.insert(), batch)
            copied += len(batch)
    if copied:
        await number_on(target, table)
    return copied


async def _rows(source: Database, table: Table) -> AsyncGenerator[list[dict[str, object]], None]:
    async with source.reading() as connection:
        result = await connection.stream(select(table).execution_options(yield_per=BATCH))
        async for rows in result.mappings().partitions():
            yield [dict(row) for row in rows]


async def number_on(connection: AsyncConnection, table: Table) -> None:
    """PostgreSQL's own numbers begin behind the ones that were copied."""
    column = table.autoincrement_column
    if connection.dialect.name != "postgresql" or column is None:
        return
    if not isinstance(column.type, Integer) or column.autoincrement is not True:
        return
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
    if not database.shared:
        return
    from ragstone.state.shared_view import leases_of

    if not await leases_of(database).lonely():
        raise Conflict(
            f"A server uses the database {database.backend.name}. Stop every server, then move."
        )

"""Random numbers in the store that say whether something changed since it was read."""

import secrets
from collections.abc import Mapping

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.store.sql.database import Database
from ragstone.store.sql.rows import put
from ragstone.store.sql.tables import marks as table

SETTINGS, PROMPTS = "settings", "prompts"


async def marks(database: Database) -> Mapping[str, int]:
    """The mark of each thing that ever changed."""
    wanted = select(table.c.name, table.c.mark)
    rows = await database.read(lambda connection: connection.execute(wanted).all())
    return {str(name): int(mark) for name, mark in rows}


async def mark(connection: AsyncConnection, name: str) -> None:
    """Say, first of all in the transaction that changes it, that something changes: writers of
    other processes wait there until it has ended.

    A random number and not the next one: after a restore of an older state, the next change must
    not look like one that a process or a cache has seen already.
    """
    await put(connection, table, {"name": name, "mark": secrets.randbits(62)})

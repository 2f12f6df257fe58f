"""Keys of work that must not be repeated."""

from sqlalchemy import Connection, delete

from ragstone.store.sql.rows import insert
from ragstone.store.sql.tables import done_once

REMEMBERED = 30 * 86_400.0
"""Seconds after which finished work is not retried."""


def first_time(connection: Connection, key: str, now: float) -> bool:
    """Note in the transaction that does it that something is done; False if it was before."""
    connection.execute(delete(done_once).where(done_once.c.at < now - REMEMBERED))
    row = insert(connection, done_once).values(key=key, at=now).on_conflict_do_nothing()
    # PostgreSQL's driver counts no rows of an INSERT.
    return connection.execute(row.returning(done_once.c.key)).first() is not None

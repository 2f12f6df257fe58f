"""Files of databases without what was deleted from them."""

import asyncio
import sqlite3
from typing import Any

UNSEEN_SECONDS, LOOK_SECONDS = 60.0, 0.1

_SEEING = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
    "AND backend_xmin IS NOT NULL AND xact_start < %s AND pid <> pg_backend_pid()"
)


def rewrite(connection: sqlite3.Connection) -> None:
    """Write the file of a connection anew, and empty its log: nothing of deleted rows is left.

    SQLite's own `secure_delete` is not enough: what was moved from one page to another stays in the
    first one. Needs free disk of twice the file's size. Raises sqlite3.Error, also where somebody
    reads for so long that the log cannot be emptied.
    """
    connection.execute("VACUUM")
    busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise sqlite3.OperationalError("database is locked")


async def until_unseen(connection: Any) -> bool:
    """Wait until no transaction of a PostgreSQL database began before now, on a connection of
    psycopg that has none of its own; whether it came to that. What an older one may still look at
    is kept, also by VACUUM FULL."""
    [now] = await (await connection.execute("SELECT clock_timestamp()")).fetchone()
    for _ in range(int(UNSEEN_SECONDS / LOOK_SECONDS)):
        [seeing] = await (await connection.execute(_SEEING, [now])).fetchone()
        if not seeing:
            return True
        await asyncio.sleep(LOOK_SECONDS)
    return False

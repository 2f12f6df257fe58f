"""The file that the cache of this process is kept in, so that a restart does not empty it.

Losing it costs nothing but time: writes are not waited for by the disk, and a file that is damaged
or of another version is thrown away.
"""

import logging
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragstone.cache.codec import FORMAT
from ragstone.core.disk import disk_error

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Stored:
    """An entry without its content."""

    id: str
    scope: str
    question: bytes
    vector: bytes
    expires: float


class CacheFile:
    """Synchronous, for one thread. Methods raise sqlite3.Error."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._database: sqlite3.Connection | None = None
        self._begun = False

    def open(self, now: float) -> list[Stored]:
        """Open or make the file; its entries that have not ended, by when they end."""
        self._begun = True
        try:
            return self._open_database(now)
        except sqlite3.Error as error:
            if self._path is None or disk_error(error, self._path):
                raise
            log.warning("The cache %s cannot be used and is thrown away (%s).", self._path, error)
            self.close()
            self._remove()
            return self._open_database(now)

    def put(self, entry: Stored, content: bytes) -> None:
        row = (entry.id, entry.scope, entry.question, entry.vector, content, entry.expires)
        self._run("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?)", row)

    def content(self, id: str) -> bytes | None:
        rows = self._run("SELECT content FROM entries WHERE id = ?", (id,))
        return bytes(rows[0][0]) if rows else None

    def renew(self, id: str, expires: float) -> None:
        self._run("UPDATE entries SET expires = ? WHERE id = ?", (expires, id))

    def remove(self, ids: list[str]) -> None:
        database = self._connection()
        with database:
            database.executemany("DELETE FROM entries WHERE id = ?", [(id,) for id in ids])

    def clear(self) -> None:
        self._run("DELETE FROM entries", ())
        self._run("VACUUM", ())

    def close(self) -> None:
        if self._database is not None:
            with suppress(sqlite3.Error):
                self._database.close()
        self._database = None

    def _open_database(self, now: float) -> list[Stored]:
        if self._version() not in (0, FORMAT):
            log.warning("The cache %s is of another version and begins anew.", self._path)
            self._remove()
        database = sqlite3.connect(
            self._path or ":memory:", isolation_level=None, check_same_thread=False
        )
        self._database = database
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = OFF")
        database.execute(
            "CREATE TABLE IF NOT EXISTS entries (id TEXT PRIMARY KEY, scope TEXT NOT NULL, "
            "question BLOB NOT NULL, vector BLOB NOT NULL, content BLOB NOT NULL, "
            "expires REAL NOT NULL) WITHOUT ROWID"
        )
        database.execute(f"PRAGMA user_version = {FORMAT}")
        database.execute("DELETE FROM entries WHERE expires <= ?", (now,))
        return list(self._entries())

    def _entries(self) -> Iterator[Stored]:
        rows = self._run(
            "SELECT id, scope, question, vector, expires FROM entries ORDER BY expires", ()
        )
        for id, scope, question, vector, expires in rows:
            yield Stored(id, scope, bytes(question), bytes(vector), expires)

    def _version(self) -> int:
        if self._path is None or not self._path.exists():
            return 0
        with closing(sqlite3.connect(self._path)) as database:
            return int(database.execute("PRAGMA user_version").fetchone()[0])

    def _run(self, statement: str, values: tuple[object, ...]) -> list[Any]:
        return self._connection().execute(statement, values).fetchall()

    def _connection(self) -> sqlite3.Connection:
        if not self._begun:
            self.open(time.time())  # The cache was off when the server started.
        if self._database is None:
            raise sqlite3.ProgrammingError("the cache is closed")
        return self._database

    def _remove(self) -> None:
        if self._path is not None:
            for ending in ("", "-wal", "-shm"):
                self._path.with_name(self._path.name + ending).unlink(missing_ok=True)

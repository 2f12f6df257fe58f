"""Packed token vectors beside an Edge shard, in a SQLite file.

Edge holds multi-vectors too, but hands them out number by number; late interaction reads fifty
chunks at a question and wants them as bytes.
"""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ragstone.core.disk import disk_error, rewrite
from ragstone.core.errors import StorageFull

MAX_VARIABLES = 500
"""Ids in one statement; SQLite takes 999 at least."""

PAGE_BYTES = 32_768
"""A row is about 2.5 KB, of which a page of SQLite's usual 4 KB would hold one."""

LOG_PAGES = 32
"""Pages in SQLite's log of writes before they are brought into the file."""


class TokenStore:
    """Bytes by chunk id in the file `path`, made with the first write. Safe to call from threads.

    What was written survives the process; the last writes may be lost with the power, and then
    the tokens are computed when they are needed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def put(self, ids: Sequence[str], rows: Sequence[bytes]) -> None:
        """Write or replace."""
        with self._lock, self._open_connection() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO tokens VALUES (?, ?)", zip(ids, rows, strict=True)
            )

    def get(self, ids: Sequence[str]) -> dict[str, bytes]:
        """The rows of `ids` that exist; on a full disk none, as a log would need room."""
        if self._connection is None and not self._path.exists():
            return {}
        found: dict[str, bytes] = {}
        with self._lock, self._unless_full(), self._open_connection() as connection:
            for start in range(0, len(ids), MAX_VARIABLES):
                part = ids[start : start + MAX_VARIABLES]
                marks = ",".join("?" * len(part))
                query = f"SELECT id, data FROM tokens WHERE id IN ({marks})"  # noqa: S608
                found.update(connection.execute(query, part))
        return found

    def delete(self, ids: Sequence[str]) -> None:
        """Forget the rows of `ids`."""
        if self._connection is None and not self._path.exists():
            return
        with self._lock, self._open_connection() as connection:
            connection.executemany("DELETE FROM tokens WHERE id = ?", [(text,) for text in ids])

    def rewrite(self) -> None:
        """Leave nothing of deleted rows in the file and its log."""
        if self._path.exists():
            with self._lock:
                rewrite(self._open_connection())

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @contextmanager
    def _unless_full(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if not isinstance(disk_error(error, self._path), StorageFull):
                raise
            self._connection = None

    def _open_connection(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = sqlite3.connect(self._path, check_same_thread=False)
            self._connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")  # of a new file
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
            # Lost tokens are computed again, so no write has to wait for the disk.
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS tokens (id TEXT PRIMARY KEY, data BLOB NOT NULL)"
            )
        return self._connection

"""The cache of this process: its questions in memory, their entries in a file."""

import asyncio
import heapq
import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ragstone.cache.codec import FORMAT, entry_id, pack, unpack
from ragstone.cache.vector_matrix import VectorMatrix
from ragstone.core.disk import disk_error
from ragstone.ports import CacheFigures, Kept, Near, Vectors


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry without its content."""

    id: str
    scope: str
    question: bytes
    vector: bytes
    expires: float


class CacheFile:
    """The file of the entries, so that a restart does not empty the cache.

    Synchronous, for one thread. Methods raise sqlite3.Error.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._database: sqlite3.Connection | None = None
        self._begun = False

    def open(self, now: float) -> list[StoredEntry]:
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

    def put(self, entry: StoredEntry, content: bytes) -> None:
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

    def _open_database(self, now: float) -> list[StoredEntry]:
        if self._version() not in (0, FORMAT):
            log.warning("The cache %s is of another version and begins anew.", self._path)
            self._remove()
        database = sqlite3.connect(
            self._path or ":memory:", isolation_level=None, check_same_thread=False
        )
        self._database = database
        database.execute("PRAGMA journal_mode = WAL")
        # Losing the file costs nothing but time: no write waits for the disk, and a file that is
        # damaged or of another version is thrown away.
        database.execute("PRAGMA synchronous = OFF")
        database.execute(
            "CREATE TABLE IF NOT EXISTS entries (id TEXT PRIMARY KEY, scope TEXT NOT NULL, "
            "question BLOB NOT NULL, vector BLOB NOT NULL, content BLOB NOT NULL, "
            "expires REAL NOT NULL) WITHOUT ROWID"
        )
        database.execute(f"PRAGMA user_version = {FORMAT}")
        database.execute("DELETE FROM entries WHERE expires <= ?", (now,))
        return list(self._entries())

    def _entries(self) -> Iterator[StoredEntry]:
        rows = self._run(
            "SELECT id, scope, question, vector, expires FROM entries ORDER BY expires", ()
        )
        for id, scope, question, vector, expires in rows:
            yield StoredEntry(id, scope, bytes(question), bytes(vector), expires)

    def _version(self) -> int:
        if self._path is None or not self._path.exists():
            return 0
        with closing(sqlite3.connect(self._path)) as database:
            return int(database.execute("PRAGMA user_version").fetchone()[0])

    def _run(self, statement: str, values: tuple[object, ...]) -> list[Any]:
        return self._connection().execute(statement, values).fetchall()

    def _connection(self) -> sqlite3.Connection:
        # The cache may have been off when the server started.
        if not self._begun:
            self.open(time.time())
        if self._database is None:
            raise sqlite3.ProgrammingError("the cache is closed")
        return self._database

    def _remove(self) -> None:
        if self._path is not None:
            for ending in ("", "-wal", "-shm"):
                self._path.with_name(self._path.name + ending).unlink(missing_ok=True)


log = logging.getLogger(__name__)

T = TypeVar("T")

MIN_THREADED = 20_000
"""Entries of a scope from which they are compared in a thread: that takes over two milliseconds."""

MAX_STALE_ENDS = 1000
"""Former ends of used entries that may wait in the queue beside as many as there are entries."""


class LocalCache:
    """`ports.Cache` in this process. At most `max_entries` are kept. Without a `path` nothing
    survives the process."""

    def __init__(
        self, path: Path | None, max_entries: int, clock: Callable[[], float] = time.time
    ) -> None:
        self._file = CacheFile(path)
        self._where = str(path) if path else "memory"
        self._max = max_entries
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="cache")
        self._shelves: dict[str, VectorMatrix] = {}
        self._ends: dict[str, tuple[float, str]] = {}
        # When each would have ended, the earliest first; of a used one also its former ends.
        self._queue: list[tuple[float, str]] = []
        self._counts = CacheFigures()
        self._failing = False

    async def open(self) -> None:
        """Read what an earlier process kept."""
        await self.rebuild()

    async def near(self, scope: str, vector: Vectors, least: float, limit: int) -> list[Near]:
        self._sweep()
        shelf = self._shelves.get(scope)
        if shelf is None or shelf.dimensions != len(vector):
            return []
        if len(shelf) < MIN_THREADED:
            return shelf.near(vector, least, limit)
        return await asyncio.to_thread(shelf.near, vector, least, limit)

    async def exact(self, scope: str, question: str) -> Near | None:
        self._sweep()
        id = entry_id(scope, question)
        return Near(id, question, 1.0) if id in self._ends else None

    async def take(self, scope: str, entry: Near) -> Kept | None:
        if entry.id not in self._ends:
            return None
        content = await self._run(lambda: self._file.content(entry.id), None)
        kept = unpack(content) if content else None
        if kept is None or entry.id not in self._ends:
            self._forget([entry.id])
            return None
        if kept.renews:
            expires = self._clock() + kept.ttl
            self._end(entry.id, expires, self._ends[entry.id][1])
            self._submit(lambda: self._file.renew(entry.id, expires))
        counts = self._counts
        self._counts = replace(
            counts, hits=counts.hits + 1, saved_seconds=counts.saved_seconds + kept.seconds
        )
        return kept

    async def count_miss(self) -> None:
        self._counts = replace(self._counts, misses=self._counts.misses + 1)

    async def keep(self, scope: str, vector: Vectors, kept: Kept) -> None:
        self._sweep()
        id = entry_id(scope, kept.question)
        if id not in self._ends and len(self._ends) >= self._max:
            self._forget_first(max(1, self._max // 10))
        expires = self._clock() + kept.ttl
        shelf = self._shelves.get(scope)
        if shelf is None or shelf.dimensions != len(vector):
            shelf = self._shelves[scope] = VectorMatrix(len(vector))
        shelf.add(id, kept.question, vector)
        self._end(id, expires, scope)
        question = kept.question.encode("utf-8", "surrogatepass")
        stored = StoredEntry(id, scope, question, np.asarray(vector, "<f4").tobytes(), expires)
        await self._run(lambda: self._file.put(stored, pack(kept)), None)

    async def figures(self) -> CacheFigures:
        self._sweep()
        return replace(
            self._counts, where=self._where, available=not self._failing, entries=len(self._ends)
        )

    async def clear(self) -> int:
        count = len(self._ends)
        self._drop_all()
        self._counts = CacheFigures()
        await self._run(self._file.clear, None)
        return count

    async def rebuild(self) -> int:
        now = self._clock()

        def reopen() -> list[StoredEntry]:
            self._file.close()
            return self._file.open(now)

        nothing: list[StoredEntry] = []
        stored = await self._run(reopen, nothing)
        self._drop_all()
        for entry in stored:
            vector = np.frombuffer(entry.vector, "<f4")
            shelf = self._shelves.setdefault(entry.scope, VectorMatrix(len(vector)))
            if shelf.dimensions == len(vector):
                question = entry.question.decode("utf-8", "surrogatepass")
                shelf.add(entry.id, question, vector)
                self._end(entry.id, entry.expires, entry.scope)
        return len(self._ends)

    def resize(self, max_entries: int) -> None:
        self._max = max_entries
        self._forget_first(len(self._ends) - max_entries)

    async def aclose(self) -> None:
        await self._run(self._file.close, None)
        self._thread.shutdown()

    def _sweep(self) -> None:
        """Remove expired entries."""
        now = self._clock()
        ended = []
        while self._queue and self._queue[0][0] <= now:
            expires, id = heapq.heappop(self._queue)
            if self._ends.get(id, (0.0, ""))[0] == expires:
                ended.append(id)
        if ended:
            self._forget(ended)

    def _end(self, id: str, expires: float, scope: str) -> None:
        """Let an entry end then."""
        self._ends[id] = (expires, scope)
        heapq.heappush(self._queue, (expires, id))
        if len(self._queue) > 2 * len(self._ends) + MAX_STALE_ENDS:
            self._queue = [(expires, id) for id, (expires, _) in self._ends.items()]
            heapq.heapify(self._queue)

    def _forget_first(self, many: int) -> None:
        """Remove so many of those that would end first."""
        if many > 0:
            self._forget(heapq.nsmallest(many, self._ends, key=lambda id: self._ends[id][0]))

    def _drop_all(self) -> None:
        self._shelves.clear()
        self._ends.clear()
        self._queue.clear()

    def _forget(self, ids: list[str]) -> None:
        for id in ids:
            _, scope = self._ends.pop(id, (0.0, ""))
            shelf = self._shelves.get(scope)
            if shelf is not None:
                shelf.remove(id)
                if not len(shelf):
                    del self._shelves[scope]
        self._submit(lambda: self._file.remove(ids))

    def _submit(self, work: Callable[[], None]) -> None:
        """Queue work for the file behind the work already queued, and return at once."""
        self._thread.submit(self._attempt, work, None)

    async def _run(self, work: Callable[[], T], otherwise: T) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._attempt, work, otherwise)

    def _attempt(self, work: Callable[[], T], otherwise: T) -> T:
        try:
            done = work()
        except (sqlite3.Error, OSError) as error:
            if not self._failing:
                log.warning("The cache %s does not work: %s.", self._where, error)
            self._failing = True
            return otherwise
        self._failing = False
        return done

"""The open Edge shards of this process, opened on demand and closed when too many are idle."""

import shutil
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import qdrant_edge as edge

from ragstone.core.disk import disk_error, has_space, need_floor, rewrite
from ragstone.core.errors import IndexUnavailable, RagstoneError, StorageFull
from ragstone.core.records import Collection
from ragstone.index.bm25 import Bm25Encoder
from ragstone.index.edge.shard import (
    UNDELETED,
    copy_elsewhere,
    count_optimized_points,
    newest_generation,
    open_shard,
    remove_generations,
    shard_path,
)

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
        """Return the rows of `ids` that exist; on a full disk none, as a log would need room."""
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


@dataclass
class OpenShard:
    """An open shard. `lock` orders writes; `users` keeps it open while it is being used.

    `unoptimized` chunks have been written since search structures were built, of `optimized` ones.
    `borrowed` is a copy on another disk, which is what is open while the shard's own one is full.
    `journal` holds what is written while a copy is being optimized, and `successor` is that copy
    once it has taken over: a caller that still holds this one reads here and writes there.
    """

    path: Path
    shard: edge.EdgeShard
    bm25: Bm25Encoder
    tokens: TokenStore
    users: int = 0
    unoptimized: int = 0
    optimized: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    journal: list[edge.UpdateOperation] | None = None
    successor: "OpenShard | None" = None
    borrowed: Path | None = None

    @property
    def live(self) -> "OpenShard":
        """The one to write to; ask while holding `lock`."""
        return self.successor.live if self.successor else self

    def write(self, operation: edge.UpdateOperation, points: int = 0) -> int:
        """Apply a change of so many points; the caller holds `lock` and asked for `live`.

        Returns how many have been written since the search structures were built. Raises
        StorageFull for a copy, which is opened anew as soon as nobody uses it.
        """
        if self.borrowed:
            raise StorageFull("The disk of the index was full. Try again in a moment.")
        self.shard.update(operation)
        self.unoptimized += points
        if self.journal is not None:
            self.journal.append(operation)
        return self.unoptimized

    def delete(self, operation: edge.UpdateOperation) -> None:
        """Apply a deletion, after which the files hold what was deleted until they are written
        anew; otherwise as `write`."""
        (self.path / UNDELETED).unlink(missing_ok=True)
        self.write(operation)

    def release(self) -> None:
        """One user less, also of the successor; the last one removes the replaced files."""
        self.users -= 1
        if self.successor:
            self.successor.release()
            if not self.users:
                self.shard.close()
                shutil.rmtree(self.path, ignore_errors=True)

    def close(self) -> None:
        self.tokens.close()
        self.shard.close()
        if self.borrowed:
            shutil.rmtree(self.borrowed, ignore_errors=True)


class ShardPool:
    """At most `max_open` shards under `root` are open, and those that are in use."""

    def __init__(self, root: Path, max_open: int) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self._root = root
        self._max_open = max_open
        self._open: OrderedDict[Path, OpenShard] = OrderedDict()
        self._guard = threading.Condition()
        self._removing: set[Path] = set()

    @contextmanager
    def use(self, collection: Collection) -> Iterator[OpenShard]:
        """The collection's shard, opened or made if need be, and kept open meanwhile."""
        held = self._acquire(collection)
        try:
            yield held
        finally:
            with self._guard:
                held.release()

    def replace(self, collection: Collection, old: OpenShard, new: OpenShard) -> None:
        """Let `new` take over from `old`, unless the collection was removed meanwhile."""
        base = shard_path(self._root, collection)
        with self._guard:
            if self._open.get(base) is old:
                new.users = old.users
                self._open[base] = old.successor = new
                return
        new.shard.close()
        shutil.rmtree(new.path, ignore_errors=True)

    def remove(self, collection: Collection) -> None:
        """Close the collection's shard and delete its files. Who wants it meanwhile waits, and
        gets a new one, as half of the files would be taken for a damaged index."""
        path = shard_path(self._root, collection)
        with self._guard:
            self._guard.wait_for(lambda: path not in self._removing)
            self._removing.add(path)
            held = self._open.pop(path, None)
        try:
            if held:
                held.close()
            remove_generations(path)
            for file in path.parent.glob(f"{_tokens(path).name}*"):
                file.unlink(missing_ok=True)
        finally:
            with self._guard:
                self._removing.discard(path)
                self._guard.notify_all()

    def close(self) -> None:
        """Flush and close every shard."""
        with self._guard:
            while self._open:
                _, held = self._open.popitem()
                held.close()

    def need_space(self) -> None:
        """Raise StorageFull when the disk has no room for another write."""
        need_floor(self._root)

    def _acquire(self, collection: Collection) -> OpenShard:
        path = shard_path(self._root, collection)
        with self._guard, translate_errors(self._root):
            self._guard.wait_for(lambda: path not in self._removing)
            held = self._open.get(path)
            # The disk has room again: back to the shard itself, which can be written.
            if held and held.borrowed and not held.users and has_space(self._root):
                self._open.pop(path).close()
                held = None
            if held is None:
                newest, borrowed = newest_generation(path), None
                if not has_space(self._root):
                    if not newest.exists():
                        self.need_space()
                    # It is only read; but Edge, which also reads through memory maps, fills holes
                    # in its files, and on a full disk that ends the process.
                    borrowed = copy_elsewhere(newest)
                with _readable(newest):
                    place = borrowed or newest
                    shard = open_shard(place, collection.dimensions, collection.late)
                bm25, tokens = Bm25Encoder(collection.language), TokenStore(_tokens(path))
                optimized = count_optimized_points(newest)
                # About: deletions and writes since then may cancel each other out.
                unoptimized = abs(shard.info().points_count - optimized)
                held = self._open[path] = OpenShard(
                    newest,
                    shard,
                    bm25,
                    tokens,
                    unoptimized=unoptimized,
                    optimized=optimized,
                    borrowed=borrowed,
                )
                self._close_idle()
            self._open.move_to_end(path)
            held.users += 1
            return held

    def _close_idle(self) -> None:
        # In the order of use, so the first ones were not used for longest.
        idle = [path for path, held in self._open.items() if held.users == 0]
        for path in idle[: max(0, len(self._open) - self._max_open)]:
            self._open.pop(path).close()


def _tokens(path: Path) -> Path:
    return path.with_name(f"{path.name}-tokens.sqlite")


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Say which shard is damaged, and what to do."""
    try:
        yield
    except BaseException as error:  # Edge's panics are no Exceptions.
        if meant := disk_error(error, path.parents[2]):
            raise meant from error
        if isinstance(error, Exception) or _is_panic(error):
            raise IndexUnavailable(
                f"The index at {path} is damaged. 'ragstone doctor' says what can be done."
            ) from error
        raise


def _is_panic(error: BaseException) -> bool:
    return type(error).__name__ == "PanicException"


@contextmanager
def translate_errors(root: Path) -> Iterator[None]:
    """Translate Edge's bare exceptions into errors with a meaning."""
    try:
        yield
    except RagstoneError:
        raise
    except BaseException as error:  # Edge's panics are no Exceptions.
        if not isinstance(error, Exception) and not _is_panic(error):
            raise
        if meant := disk_error(error, root):
            raise meant from error
        raise IndexUnavailable(
            f"The index does not answer: {error}. If it stays so, run 'ragstone doctor'."
        ) from error

"""The state store in a SQLite file."""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from ragstone.core.disk import disk_error, need_floor, rewrite
from ragstone.core.errors import RagstoneError, StateUnavailable, StorageFull

T = TypeVar("T")

BUSY_SECONDS = 10.0
"""How long to wait for another process that is writing."""

_CONNECTIONS = 4
_WRITING = {"writing": True}
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
_ITS_OWN = ("IntegrityError", "ProgrammingError", "DataError", "NotSupportedError")


class Sqlite:
    """`database.Backend` on the file at `path`."""

    shared = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)
        self._threads = ThreadPoolExecutor(_CONNECTIONS, thread_name_prefix="state")

    @cached_property
    def _where(self) -> Mapping[str, Any]:
        """How the file is opened. A log needs a file of its own beside it, which finds no room on a
        full disk: then it is kept in memory, which shuts other programs out."""
        try:
            with closing(sqlite3.connect(self.path)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                # The first pragma opens no log; reading does, and fails here on a full disk.
                connection.execute("PRAGMA schema_version")
        except sqlite3.Error as error:
            if isinstance(disk_error(error, self.path), StorageFull) and self.path.exists():
                query = {"vfs": "unix-excl", "uri": "true"}
                return {"database": f"file:{quote(str(self.path))}", "query": query}
        return {"database": str(self.path)}

    def engine(self) -> AsyncEngine:
        made = create_async_engine(
            URL.create("sqlite+aiosqlite", **self._where),
            connect_args={"timeout": BUSY_SECONDS, "isolation_level": None},
            pool_size=_CONNECTIONS,
            max_overflow=0,
            pool_use_lifo=True,
        )
        _configure(made.sync_engine)
        return made

    def migration_engine(self) -> Engine:
        return self._thread_engine().execution_options(**_WRITING)

    def _thread_engine(self) -> Engine:
        """Return an engine for threads."""
        made = create_engine(
            URL.create("sqlite", **self._where),
            connect_args={"timeout": BUSY_SECONDS, "isolation_level": None},
            pool_size=_CONNECTIONS,
            pool_use_lifo=True,
        )
        _configure(made)
        return made

    @cached_property
    def _reader(self) -> Engine:
        return self._thread_engine()

    @cached_property
    def _writer(self) -> Engine:
        return self._reader.execution_options(**_WRITING)

    async def begin_reading(self, connection: AsyncConnection) -> None:
        """Every transaction of SQLite reads one state of the data."""

    async def take_time(self, connection: AsyncConnection) -> None:
        """Do nothing: reading is not limited."""

    async def need_room(self) -> None:
        await asyncio.to_thread(need_floor, self.path.parent)

    async def begin_writing(self, connection: AsyncConnection) -> None:
        # Tasks of this process take turns, so SQLite's lock is only ever held by another.
        await connection.execution_options(**_WRITING)
        await connection.begin()

    async def transact(
        self, engine: AsyncEngine, work: Callable[[Connection], T], writing: bool
    ) -> T:
        """Return all in one trip to a thread: a statement of aiosqlite is four, each of which waits
        for the processor, and an answer keeps a dozen statements."""
        direct = self._writer if writing else self._reader

        def ran() -> T:
            with direct.connect() as connection:
                result = work(connection)
                if writing:
                    connection.commit()
                return result

        return await asyncio.get_running_loop().run_in_executor(self._threads, ran)

    async def aclose(self) -> None:
        await asyncio.to_thread(self._threads.shutdown)
        if "_reader" in vars(self):
            self._reader.dispose()

    def keep(self, connection: Connection, schema: str) -> str:
        """Copy the file beside it. Raises StateUnavailable if that cannot be."""
        kept = self.path.with_name(f"{self.path.stem}-{schema}{self.path.suffix}")
        draft = kept.with_name(f".{kept.name}.{os.getpid()}")
        try:
            draft.unlink(missing_ok=True)
            with (
                closing(sqlite3.connect(self.path)) as source,
                closing(sqlite3.connect(draft)) as target,
            ):
                source.backup(target)
            with draft.open("rb") as written:
                os.fsync(written.fileno())
            # A copy that was cut off must not look like one.
            draft.replace(kept)
        except (OSError, sqlite3.Error) as error:
            draft.unlink(missing_ok=True)
            raise StateUnavailable(
                f"{self.path} must be migrated, and the backup that is made of it before, {kept}, "
                f"cannot be written ({error}). Nothing has changed; make room for it and start "
                "again."
            ) from error
        return str(kept)

    async def rewrite(self) -> None:
        await asyncio.to_thread(rewrite_file, self.path)
        for copy in self.path.parent.glob(f"{self.path.stem}-*{self.path.suffix}"):
            copy.unlink(missing_ok=True)

    async def check(self, connection: AsyncConnection) -> None:
        if not await asyncio.to_thread(self.path.exists):
            raise StateUnavailable(
                f"The database {self.path.name} is gone. Restore it and restart."
            )
        await connection.execute(text("SELECT version_num FROM alembic_version"))

    def translate(self, error: DBAPIError) -> RagstoneError | None:
        # Its name alone: where it lies is nothing for a client.
        path, name = self.path.name, str(getattr(error.orig, "sqlite_errorname", ""))
        if name.startswith(_DAMAGED):
            return StateUnavailable(
                f"The database {path} is damaged. 'ragstone doctor' says what can be done."
            )
        if type(error).__name__ in _ITS_OWN:
            return None
        if meant := disk_error(error.orig, self.path):
            return meant
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return StateUnavailable(f"The database {path} is locked by another process. Try again.")
        if name.startswith("SQLITE_CANTOPEN"):
            return StateUnavailable(f"The database {path} cannot be opened. Check its folder.")
        return StateUnavailable(
            f"The database {path} does not answer ({error.orig}). If it stays so, run "
            "'ragstone doctor'."
        )


def rewrite_file(file: Path) -> None:
    """Leave nothing of deleted rows in a SQLite file; raises StateUnavailable."""
    try:
        with closing(sqlite3.connect(file, BUSY_SECONDS, isolation_level=None)) as connection:
            rewrite(connection)
    except sqlite3.Error as error:
        raise disk_error(error, file) or StateUnavailable(
            f"What was deleted is not out of {file.name} yet ({error}). Try again."
        ) from error


def _configure(engine: Engine) -> None:
    """Make SQLite durable and its transactions explicit, on every connection of `engine`."""

    @event.listens_for(engine, "connect")
    def configure_connection(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode = WAL")
        # FULL, not NORMAL: after a power cut NORMAL may lose the transaction that retired a
        # revision whose chunks the index has already deleted, and the document would answer
        # with nothing. It costs one fsync per transaction, two per document.
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A transaction that reads first and then writes fails at once when another process
        # wrote in between, whatever the timeout; IMMEDIATE waits at the start instead.
        writing = connection.get_execution_options().get("writing")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

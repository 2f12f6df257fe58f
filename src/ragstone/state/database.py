"""The state store's database: opening it, its transactions, and the errors it raises."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DatabaseError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from ragstone.errors import RagstoneError, StateUnavailable, StorageFull
from ragstone.state.migrations import behind, upgrade

T = TypeVar("T")

BUSY_SECONDS = 10.0
"""How long to wait for another process that is writing."""

_CONNECTIONS = 4
_WRITING = {"writing": True}
_FULL = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


class Database:
    """Transactions on the state store; `open_database` makes one.

    Every method raises StorageFull when the disk is full, and StateUnavailable when the database
    is locked, damaged, missing or closed.
    """

    def __init__(self, path: Path, engine: AsyncEngine) -> None:
        self.path = path
        self.engine = engine
        self._turn = asyncio.Lock()
        self._writes: set[asyncio.Task[Any]] = set()
        self._closed = False

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """One consistent view of the data."""
        self._check_open()
        with translated(self.path):
            async with self.engine.connect() as connection:
                yield connection

    async def write(
        self,
        work: Callable[[AsyncConnection], Awaitable[T]],
        committed: Callable[[T], None] | None = None,
    ) -> T:
        """Run `work` in one transaction, then `committed` before anyone else can write.

        A caller that is cancelled stops waiting, but the transaction and `committed` still run
        to their end: what is in memory cannot fall behind what is on the disk.
        """
        self._check_open()
        task = asyncio.create_task(self._write(work, committed))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)
        return await asyncio.shield(task)

    async def _write(
        self,
        work: Callable[[AsyncConnection], Awaitable[T]],
        committed: Callable[[T], None] | None,
    ) -> T:
        # Tasks of this process take turns here, so SQLite's lock is only ever held by another.
        async with self._turn:
            with translated(self.path):
                async with self.engine.connect() as connection:
                    await connection.execution_options(**_WRITING)
                    async with connection.begin():
                        result = await work(connection)
            if committed is not None:
                committed(result)
            return result

    async def ready(self) -> None:
        """Raise StateUnavailable unless the database answers."""
        if not await asyncio.to_thread(self.path.exists):
            raise StateUnavailable(f"The database {self.path} is gone. Restore it and restart.")
        async with self.reading() as connection:
            await connection.execute(text("SELECT version_num FROM alembic_version"))

    async def aclose(self) -> None:
        """Finish what is being written, then close every connection."""
        self._closed = True
        if self._writes:
            await asyncio.wait(self._writes)
        await self.engine.dispose()

    def _check_open(self) -> None:
        if self._closed:
            raise StateUnavailable(f"The database {self.path} has been closed.")


@asynccontextmanager
async def open_database(path: Path) -> AsyncIterator[Database]:
    """Open the SQLite file at `path`, made and migrated as needed, and close it at the end.

    Raises ConfigError if a newer Ragstone wrote it, StateUnavailable if it cannot be opened, and
    StorageFull if there is no room for it.
    """
    engine = create_async_engine(
        URL.create("sqlite+aiosqlite", database=str(path)),
        connect_args={"timeout": BUSY_SECONDS, "isolation_level": None},
        pool_size=_CONNECTIONS,
        max_overflow=0,
        pool_use_lifo=True,
    )
    _configure(engine.sync_engine)
    database = Database(path, engine)
    try:
        async with database.reading() as connection:
            outdated = await connection.run_sync(behind)
        if outdated:
            await asyncio.to_thread(_upgrade, path)
        yield database
    finally:
        await database.aclose()


def _upgrade(path: Path) -> None:
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": BUSY_SECONDS, "isolation_level": None},
        execution_options=_WRITING,
    )
    _configure(engine)
    try:
        with translated(path):
            upgrade(engine)
    finally:
        engine.dispose()


def _configure(engine: Engine) -> None:
    """Make SQLite durable and its transactions explicit, on every connection of `engine`."""

    @event.listens_for(engine, "connect")
    def connected(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode = WAL")
        # FULL, not NORMAL: after a power cut NORMAL may lose the transaction that retired a
        # revision whose chunks the index has already deleted, and the document would answer
        # with nothing. It costs one fsync per transaction, two per document.
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        # A transaction that reads first and then writes fails at once when another process
        # wrote in between, whatever the timeout; IMMEDIATE waits at the start instead.
        writing = connection.get_execution_options().get("writing")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise the database's errors as Ragstone's; mistakes in a statement pass as they are."""
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        raise _translate(error, path) from error
    except DatabaseError as error:
        if not _name(error).startswith(_DAMAGED):
            raise
        raise _translate(error, path) from error
    except PoolTimeout as error:
        raise StateUnavailable(f"The database {path} is overloaded. Try again.") from error


def _translate(error: DatabaseError | InterfaceError, path: Path) -> RagstoneError:
    name = _name(error)
    if name.startswith(_FULL):
        return StorageFull(f"The disk that holds {path} is full. Free some space and try again.")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StateUnavailable(f"The database {path} is locked by another process. Try again.")
    if name.startswith(_DAMAGED):
        return StateUnavailable(f"The database {path} is damaged. Restore it from a backup.")
    if name.startswith("SQLITE_CANTOPEN"):
        return StateUnavailable(f"The database {path} cannot be opened. Check its folder.")
    return StateUnavailable(f"The database {path} does not answer ({error.orig}).")


def _name(error: DatabaseError | InterfaceError) -> str:
    return str(getattr(error.orig, "sqlite_errorname", ""))

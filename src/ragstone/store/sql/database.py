"""The state store's database: opening it, its transactions, and the errors it raises."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, runtime_checkable

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.pool import QueuePool

from ragstone.core.errors import RagstoneError, StateUnavailable
from ragstone.ports import PoolUse
from ragstone.store.sql.migrations import is_outdated, upgrade
from ragstone.store.sql.sqlite import Sqlite

if TYPE_CHECKING:
    from ragstone.store.sql.view import View

T = TypeVar("T")

Work = Callable[[Connection], T]

MAX_TOGETHER = 64
"""Changes in one transaction, so that the first of them does not wait long for the last."""


Transaction = Callable[[Work[list[Any]], Callable[[list[Any]], None]], Awaitable[list[Any]]]
"""Runs work in a transaction, and what is to be done with its results once that is committed."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    work: Work[Any]
    committed: Callable[[Any], None] | None
    done: "asyncio.Future[Any]"


class GroupCommit:
    """Runs work by `transaction`, in the order in which it came, each of it once or not at all.

    The disk is waited for once per transaction, however many changes are in it. Work that fails
    harms no other: then nothing of the transaction is kept, and each is tried in one of its own.
    """

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._waiting: deque[_Waiting] = deque()
        self._writer: asyncio.Task[None] | None = None

    async def run(self, work: Work[T], committed: Callable[[T], None] | None = None) -> T:
        """Return what `work` returns, once that is committed and `commit_results` has it. A caller
        that is cancelled stops waiting, but the work is still done."""
        waiting = _Waiting(work, committed, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
        return cast(T, await waiting.done)

    async def aclose(self) -> None:
        """Wait until all that came is written."""
        if self._writer is not None and not self._writer.done():
            await asyncio.wait([self._writer])

    async def _write(self) -> None:
        while self._waiting:
            many = min(MAX_TOGETHER, len(self._waiting))
            await self._commit([self._waiting.popleft() for _ in range(many)])

    async def _commit(self, some: Sequence[_Waiting]) -> None:
        def commit_results(results: list[Any]) -> None:
            for waiting, result in zip(some, results, strict=True):
                if waiting.committed is not None:
                    # Inside the turn: the next transaction must see memory and disk agree.
                    waiting.committed(result)

        try:
            results = await self._transaction(
                lambda c: [waiting.work(c) for waiting in some], commit_results
            )
        except Exception as error:
            # A database that is away fails each of them; trying them singly would only take longer.
            if len(some) == 1 or isinstance(error, StateUnavailable):
                _set_results(some, [error] * len(some))
                return
            for waiting in some:
                await self._commit([waiting])
        else:
            _set_results(some, results)


def _set_results(some: Sequence[_Waiting], results: Sequence[Any]) -> None:
    for waiting, result in zip(some, results, strict=True):
        # Its caller was cancelled and waits no more.
        if waiting.done.done():
            continue
        if isinstance(result, Exception):
            waiting.done.set_exception(result)
        else:
            waiting.done.set_result(result)


class Backend(Protocol):
    """What SQLite and PostgreSQL do each in their own way."""

    @property
    def name(self) -> str:
        """How messages call the database; without a password."""
        ...

    @property
    def shared(self) -> bool:
        """Whether other processes may have it open too."""
        ...

    def engine(self) -> AsyncEngine: ...

    def migration_engine(self) -> Engine:
        """Return an engine for migrations, whose statements may take long."""
        ...

    async def begin_reading(self, connection: AsyncConnection) -> None:
        """What follows on `connection` sees one state of the data."""
        ...

    async def take_time(self, connection: AsyncConnection) -> None:
        """What is read on `connection` in its transaction may take long, and rest in between."""
        ...

    async def need_room(self) -> None:
        """Raise StorageFull when the database's disk has no room for much."""
        ...

    async def begin_writing(self, connection: AsyncConnection) -> None:
        """Begin a transaction once no other process is writing."""
        ...

    async def transact(
        self, engine: AsyncEngine, work: Callable[[Connection], T], writing: bool
    ) -> T:
        """Run `work` in one transaction of `engine`'s database, which is kept if it writes."""
        ...

    async def aclose(self) -> None:
        """Close the connections that the backend opened."""
        ...

    def keep(self, connection: Connection, schema: str) -> str:
        """Keep what there is, which has this schema, before it is migrated in the transaction of
        `connection`; what it is kept in. Raises StateUnavailable if it cannot be kept."""
        ...

    async def rewrite(self) -> None:
        """Leave nothing of deleted rows, and no former schema's copy, in the database's files."""
        ...

    async def check(self, connection: AsyncConnection) -> None:
        """Raise StateUnavailable unless the database is there."""
        ...

    def translate(self, error: DBAPIError) -> RagstoneError | None:
        """Return the operator's message for an error; None for a mistake in a statement."""
        ...


@runtime_checkable
class SharedBackend(Backend, Protocol):
    """What several servers share besides."""

    async def open_view(self, database: "Database") -> "View":
        """Join the servers of this database, until it is closed; the first one repairs the state
        after a crash."""
        ...

    async def is_alone(self, database: "Database") -> bool:
        """Join them and say whether there is none."""
        ...


class Database:
    """Transactions on the state store; `open_database` makes one.

    Every method raises StorageFull when the disk is full, and StateUnavailable when the database
    is locked, damaged, missing, overloaded or closed.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.engine = backend.engine()
        self._turn = asyncio.Lock()
        self._writes: set[asyncio.Task[Any]] = set()
        self._together = GroupCommit(self._write_in_turn)
        self._closed = False
        self.closing: list[Callable[[], Awaitable[None]]] = []
        """Callbacks that run before the last connection is closed."""

    def pool_use(self) -> PoolUse:
        """Tell how many of the connections are in use."""
        pool = cast(QueuePool, self.engine.pool)
        return PoolUse("state", pool.checkedout(), pool.size())

    @property
    def shared(self) -> bool:
        """Whether other processes may change the data: then memory is not a copy of it."""
        return self.backend.shared

    @asynccontextmanager
    async def read_view(self) -> AsyncIterator[AsyncConnection]:
        """Open one consistent view of the data."""
        self._check_open()
        with translate_errors(self.backend):
            async with self.engine.connect() as connection:
                await self.backend.begin_reading(connection)
                yield connection

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Return what `work` reads in one consistent view. For what is read often: on SQLite all of
        it is one trip to a thread, where `reading` takes several for every statement."""
        self._check_open()
        with translate_errors(self.backend):
            return await self.backend.transact(self.engine, work, writing=False)

    async def keep(
        self, work: Callable[[Connection], T], committed: Callable[[T], None] | None = None
    ) -> T:
        """Run `work` in a transaction that it shares with whatever else is to be kept just then,
        then `committed` before another transaction of this process.

        For what is written often. It is committed when this returns, or nothing of it is kept. It
        may be run a second time, if another one's work failed. As with `write`, a caller that is
        cancelled only stops waiting.
        """
        self._check_open()
        return await self._together.run(work, committed)

    async def write(
        self,
        work: Callable[[AsyncConnection], Awaitable[T]],
        committed: Callable[[T], None] | None = None,
    ) -> T:
        """Run `work` in one transaction, then `committed` before another of this process.

        No two transactions that write go on at once, in all processes.
        A caller that is cancelled stops waiting, but the transaction and `committed` still run
        to their end: what is in memory cannot fall behind what is on the disk.
        """
        self._check_open()
        task = asyncio.create_task(self._write(work, committed))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)
        # A caller that leaves must not stop a transaction half-way: memory follows its commit.
        return await asyncio.shield(task)

    async def _write(
        self, work: Callable[[AsyncConnection], Awaitable[T]], committed: Callable[[T], None] | None
    ) -> T:
        async with self._turn:
            with translate_errors(self.backend):
                async with self.engine.connect() as connection:
                    await self.backend.begin_writing(connection)
                    result = await work(connection)
                    await connection.commit()
            if committed is not None:
                committed(result)
            return result

    async def _write_in_turn(
        self, work: Callable[[Connection], T], committed: Callable[[T], None]
    ) -> T:
        async with self._turn:
            with translate_errors(self.backend):
                result = await self.backend.transact(self.engine, work, writing=True)
            committed(result)
            return result

    async def rewrite(self) -> None:
        """Leave nothing of deleted rows in the database's files; who writes waits meanwhile."""
        self._check_open()
        async with self._turn:
            with translate_errors(self.backend):
                await self.backend.rewrite()

    async def ready(self) -> None:
        """Raise StateUnavailable unless the database answers."""
        async with self.read_view() as connection:
            await self.backend.check(connection)

    async def aclose(self) -> None:
        """Finish the running write, then close every connection."""
        self._closed = True
        if self._writes:
            await asyncio.wait(self._writes)
        await self._together.aclose()
        # These release locks, for which a connection is still needed.
        for close in self.closing:
            await close()
        await self.engine.dispose()
        await self.backend.aclose()

    def _check_open(self) -> None:
        if self._closed:
            raise StateUnavailable(f"The database {self.backend.name} has been closed.")


def open_database(path: Path) -> AbstractAsyncContextManager[Database]:
    """Open the SQLite file at `path`; see `open_backend`."""
    return open_backend(Sqlite(path))


@asynccontextmanager
async def open_backend(backend: Backend) -> AsyncIterator[Database]:
    """Open a database, made and migrated as needed, and close it at the end.

    What has an older schema is kept beside it first. Raises ConfigError if a newer Ragstone wrote
    it or its address is wrong, StateUnavailable if it cannot be opened or kept, and StorageFull if
    there is no room for it.
    """
    database = Database(backend)
    try:
        async with database.read_view() as connection:
            outdated = await connection.run_sync(is_outdated)
        if outdated:
            await asyncio.to_thread(_upgrade, backend)
        yield database
    finally:
        await database.aclose()


def _upgrade(backend: Backend) -> None:
    engine = backend.migration_engine()
    try:
        with translate_errors(backend):
            upgrade(engine, keep=backend.keep)
    finally:
        engine.dispose()


@contextmanager
def translate_errors(backend: Backend) -> Iterator[None]:
    """Raise the database's errors as Ragstone's; mistakes in a statement pass as they are."""
    try:
        yield
    except DBAPIError as error:
        meant = backend.translate(error)
        if meant is None:
            raise
        raise meant from error
    except PoolTimeout as error:
        raise StateUnavailable(f"The database {backend.name} is overloaded. Try again.") from error

"""Connections to a PostgreSQL database: the one place for time-outs, retries and errors."""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

import psycopg
from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import DiskFull, UndefinedTable
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from ragstone.core.errors import ConfigError, IndexUnavailable, StorageFull
from ragstone.ports import PoolUse

T = TypeVar("T")
Connection = AsyncConnection[Any]

SESSION = (
    "SET hnsw.iterative_scan = strict_order; SET hnsw.max_scan_tuples = 100000; SET jit = off; "
    "SET plan_cache_mode = force_custom_plan"
)
"""A filter never leaves a search without results: the scan goes on until there are enough.
Compiling a statement would take longer than most of them. A plan for any values would not know
which filters leave few chunks."""

EF_SEARCH = 200
"""Candidates of a search by meaning where the options say none."""

FOR_OTHERS = 2
"""Connections that the searches of one collection leave to the others."""

EXTENDING = 1_918_989_432
"""The advisory lock under which one process makes the extension while others wait."""

HAS_PGVECTOR = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector')"


class PostgresConnections:
    """The database at `url`; `timeout` is seconds for one statement, and for a connection.

    `most` connections are open at once, and `ef_search` candidates are looked at for the nearest
    vectors (1 to 1,000). `password` goes before one in the address. Raises ConfigError for an
    address that is none.
    """

    def __init__(
        self,
        url: str,
        timeout: float,
        password: str = "",
        most: int = 8,
        ef_search: int = EF_SEARCH,
    ) -> None:
        self._timeout = timeout
        self._most_for_one = max(1, most - FOR_OTHERS)
        self._places: dict[str, asyncio.Semaphore] = {}
        self._session = f"{SESSION}; SET hnsw.ef_search = {ef_search}"
        self._address = _address(url, password)
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            self._address,
            kwargs={
                "options": f"-c statement_timeout={math.ceil(1000 * timeout)}",
                "connect_timeout": math.ceil(timeout),
            },
            min_size=0,
            max_size=most,
            open=False,
            timeout=timeout,
            # Longer, and callers would wait in vain for an attempt that pauses for minutes.
            reconnect_timeout=timeout,
            configure=self._configure,
            check=AsyncConnectionPool.check_connection,
        )
        self._opening = asyncio.Lock()

    async def run(self, work: Callable[[Connection], Awaitable[T]], table: str = "") -> T:
        """Do `work` in one transaction; says what PostgreSQL's errors mean. What is done on one
        `table` leaves connections to the others, however long it takes.

        Raises UndefinedTable, StorageFull, IndexUnavailable, ConfigError.
        """
        with self._translate_errors():
            async with self._opening:
                await self._pool.open()
            async with self._place(table), self._pool.connection() as connection:
                return await work(connection)

    @asynccontextmanager
    async def _place(self, table: str) -> AsyncIterator[None]:
        if not table:
            yield
            return
        places = self._places.setdefault(table, asyncio.Semaphore(self._most_for_one))
        try:
            async with asyncio.timeout(self._timeout):
                await places.acquire()
        except TimeoutError as error:
            raise PoolTimeout("the searches before it hang") from error
        try:
            yield
        finally:
            places.release()

    async def run_alone(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Do `work` on a connection of its own without a transaction, for as long as it takes; only
        what it waits for others is limited by the time-out. Raises what `run` does."""
        with self._translate_errors():
            connection = await AsyncConnection.connect(
                self._address, autocommit=True, connect_timeout=math.ceil(self._timeout)
            )
            async with connection:
                await self._configure(connection)
                await connection.execute(f"SET lock_timeout = {math.ceil(1000 * self._timeout)}")
                return await work(connection)

    def pool_use(self) -> PoolUse:
        """Tell how many connections are in use, and how much waits for one."""
        known = self._pool.get_stats()
        used = known["pool_size"] - known["pool_available"]
        return PoolUse("index", used, self._pool.max_size, known["requests_waiting"])

    async def aclose(self) -> None:
        """Close every connection."""
        await self._pool.close()

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Says what PostgreSQL's errors mean."""
        try:
            yield
        except UndefinedTable:
            raise
        except DiskFull as error:
            raise StorageFull(
                "The disk of PostgreSQL is full. Free some space, then retry."
            ) from error
        except (PoolTimeout, PoolClosed, psycopg.OperationalError, OSError) as error:
            raise IndexUnavailable(
                f"PostgreSQL does not answer within {self._timeout:g} s or broke off "
                f"({type(error).__name__}). Check INDEX__URL and that the server runs."
            ) from error
        except psycopg.Error as error:
            raise IndexUnavailable(
                f"PostgreSQL refused ({type(error).__name__}): {error}."
            ) from error

    async def _configure(self, connection: Connection) -> None:
        try:
            found = await (await connection.execute(HAS_PGVECTOR)).fetchone()
            if not found or not found[0]:
                async with connection.transaction():
                    # IF NOT EXISTS fails where two connections do it at once.
                    await connection.execute(f"SELECT pg_advisory_xact_lock({EXTENDING})")
                    await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            await register_vector_async(connection)
            await connection.execute(self._session)
            await connection.commit()
        except psycopg.ProgrammingError as error:
            raise ConfigError(
                "PostgreSQL has no pgvector 0.8 or later: install it, then CREATE EXTENSION vector."
            ) from error


def _address(url: str, password: str) -> str:
    try:
        given = conninfo_to_dict(url)
    except psycopg.ProgrammingError:  # Which would show the address, with what is secret in it.
        raise ConfigError(
            "INDEX__URL is not an address of a PostgreSQL database: write it like "
            "postgresql://user@host:5432/name."
        ) from None
    if password:
        given["password"] = password
    return make_conninfo(**{name: str(value) for name, value in given.items()})

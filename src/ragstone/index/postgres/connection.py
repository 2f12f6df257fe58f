"""Connections to a PostgreSQL database: the one place for time-outs, retries and errors."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import psycopg
from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection
from psycopg.errors import DiskFull, UndefinedTable
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from ragstone.core.errors import ConfigError, IndexUnavailable, StorageFull

T = TypeVar("T")
Connection = AsyncConnection[Any]

CONNECTIONS = 8

SESSION = (
    "SET hnsw.iterative_scan = strict_order; SET hnsw.max_scan_tuples = 100000; "
    "SET hnsw.ef_search = 200"
)
"""A filter never leaves a search without results: the scan goes on until there are enough."""


class PostgresConnections:
    """The database at `url`; `timeout` is seconds for one statement, and for a connection."""

    def __init__(self, url: str, timeout: float) -> None:
        self._timeout = timeout
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            url,
            kwargs={
                "options": f"-c statement_timeout={math.ceil(1000 * timeout)}",
                "connect_timeout": math.ceil(timeout),
            },
            min_size=0,
            max_size=CONNECTIONS,
            open=False,
            timeout=timeout,
            # Longer, and callers would wait in vain for an attempt that pauses for minutes.
            reconnect_timeout=timeout,
            configure=_configure,
            check=AsyncConnectionPool.check_connection,
        )
        self._opening = asyncio.Lock()

    async def run(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Do `work` in one transaction; says what PostgreSQL's errors mean.

        Raises UndefinedTable, StorageFull, IndexUnavailable, ConfigError.
        """
        try:
            async with self._opening:
                await self._pool.open()
            async with self._pool.connection() as connection:
                return await work(connection)
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

    async def aclose(self) -> None:
        """Close every connection."""
        await self._pool.close()


async def _configure(connection: Connection) -> None:
    try:
        await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        await register_vector_async(connection)
        await connection.execute(SESSION)
        await connection.commit()
    except psycopg.ProgrammingError as error:
        raise ConfigError(
            "PostgreSQL has no pgvector 0.8 or later: install it, then CREATE EXTENSION vector."
        ) from error

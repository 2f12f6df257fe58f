"""The state store in a PostgreSQL database, which several servers may share."""

import logging
import math
import time
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from ragstone.core.clock import compare
from ragstone.core.disk import until_unseen
from ragstone.core.errors import ConfigError, RagstoneError, StateUnavailable
from ragstone.plugins.postgres.leases import Leases
from ragstone.plugins.postgres.shared_view import SharedView
from ragstone.plugins.postgres.state_errors import explain_error
from ragstone.store.sql.database import Database

log = logging.getLogger(__name__)

T = TypeVar("T")

CONNECTIONS = 8
"""Connections of one server at most, besides the one that holds its leases."""

CONNECT_SECONDS = 5

KEEP_SECONDS = 1800
"""Connections are made anew after that time: what stands between may have forgotten them."""

IDLE_SECONDS = 60
"""A server that stops in a transaction (not one that ends) is thrown out of it after that time."""

WRITING_IDLE_SECONDS = 5
"""The same while it writes, since it keeps all others from writing."""

REWRITE_WAIT_SECONDS = 10
"""How long a table that is to be written anew is waited for: who reads it next waits behind."""

WRITERS = 1_918_989_424
"""The advisory lock of the writer."""

_WRITING = text(
    f"SELECT set_config('idle_in_transaction_session_timeout', '{WRITING_IDLE_SECONDS}s', true), "
    f"pg_advisory_xact_lock({WRITERS})"
)

_UNLIMITED = text(
    "SELECT set_config('idle_in_transaction_session_timeout', '0', true), "
    "set_config('statement_timeout', '0', true)"
)

_KEPT = text(
    "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() "
    "AND table_type = 'BASE TABLE' AND table_name !~ '^ragstone_|_[0-9]{4}$' ORDER BY table_name"
)
"""Tables of the state: an index's begin with ragstone_, kept ones end in their schema."""

_REWRITTEN = (
    "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables "
    "WHERE schemaname = current_schema() AND tablename !~ '^ragstone_' ORDER BY 1"
)
_COPIES = (
    "SELECT format('%I', tablename) FROM pg_tables "
    "WHERE schemaname = current_schema() AND tablename ~ '_[0-9]{4}$' AND tablename !~ '^ragstone_'"
)
"""Copies of tables that `keep` made."""

_DRIVER = "postgresql+psycopg://"


class Postgres:
    """`database.SharedBackend` on the database at `url`; `timeout` is seconds for one statement.

    Raises ConfigError for an address that is none.
    """

    shared = True

    def __init__(self, url: str, timeout: float = 30.0) -> None:
        try:
            given = conninfo_to_dict(url)
        except psycopg.ProgrammingError as error:
            raise ConfigError(
                "STATE__URL is not an address of a PostgreSQL database: write it like "
                "postgresql://user@host:5432/name."
            ) from error
        self.timeout = timeout
        self.parameters: dict[str, Any] = {
            "connect_timeout": CONNECT_SECONDS,
            "application_name": "ragstone",
            **given,
        }
        host, port = given.get("host", "localhost"), given.get("port", 5432)
        self.name = f"postgresql://{host}:{port}/{given.get('dbname', '')}"

    def engine(self) -> AsyncEngine:
        made = create_async_engine(
            _DRIVER,
            connect_args=self.parameters,
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_timeout=self.timeout,
            # Firewalls and restarts close connections without a word.
            pool_pre_ping=True,
            pool_recycle=KEEP_SECONDS,
            pool_use_lifo=True,
        )
        _limit(made.sync_engine, self.timeout)
        _keep_time(made.sync_engine, self.name)
        return made

    def migration_engine(self) -> Engine:
        return create_engine(_DRIVER, connect_args=self.parameters)

    async def begin_reading(self, connection: AsyncConnection) -> None:
        await connection.execution_options(isolation_level="REPEATABLE READ")

    async def take_time(self, connection: AsyncConnection) -> None:
        await connection.execute(_UNLIMITED)

    async def need_room(self) -> None:
        """Do nothing: its disk is its server's to watch."""

    async def begin_writing(self, connection: AsyncConnection) -> None:
        await connection.begin()
        await connection.execute(_WRITING)

    async def transact(
        self, engine: AsyncEngine, work: Callable[[Connection], T], writing: bool
    ) -> T:
        async with engine.connect() as connection:
            await (self.begin_writing if writing else self.begin_reading)(connection)
            result = await connection.run_sync(work)
            if writing:
                await connection.commit()
            return result

    async def aclose(self) -> None:
        """Close nothing: nothing but the engine was opened."""

    def keep(self, connection: Connection, schema: str) -> str:
        """Copy every table beside it, but those of an index. Raises StateUnavailable if that cannot
        be."""
        try:
            for table in connection.execute(_KEPT).scalars().all():
                copy = f'"{table}_{schema}"'
                connection.exec_driver_sql(f"DROP TABLE IF EXISTS {copy}")
                connection.exec_driver_sql(f'CREATE TABLE {copy} AS TABLE "{table}"')
        except DBAPIError as error:
            raise StateUnavailable(
                f"The database {self.name} must be migrated, and the backup that is made of it "
                f"before, tables whose names end in _{schema}, cannot be written "
                f"({str(error.orig).splitlines()[0]}). Nothing has changed."
            ) from error
        return f"the tables of {self.name} whose names end in _{schema}"

    async def rewrite(self) -> None:
        """A plain VACUUM leaves the bytes of deleted rows in their pages. Each table is locked for
        as long as it is written anew; one that others have for longer is an error."""
        try:
            async with await psycopg.AsyncConnection.connect(
                **self.parameters, autocommit=True
            ) as connection:
                # VACUUM FULL locks the whole table: behind a long reader everybody else would wait.
                await connection.execute(f"SET lock_timeout = '{REWRITE_WAIT_SECONDS}s'")
                if not await until_unseen(connection):
                    raise StateUnavailable(
                        f"A long transaction keeps what was deleted in the database {self.name}: "
                        "an ingest, a backup or another program's. Try again when it has ended."
                    )
                for (copy,) in await (await connection.execute(_COPIES)).fetchall():
                    await connection.execute(f"DROP TABLE {copy}")
                for (table,) in await (await connection.execute(_REWRITTEN)).fetchall():
                    await connection.execute(f"VACUUM (FULL) {table}")
        except psycopg.Error as error:
            raise explain_error(error, self.name) or error from error

    async def open_view(self, database: Database) -> SharedView:
        return await SharedView.open(database, self._open_leases(database))

    async def is_alone(self, database: Database) -> bool:
        return await self._open_leases(database).is_alone()

    def _open_leases(self, database: Database) -> Leases:
        leases = Leases(self.parameters, self.name)
        database.closing.append(leases.aclose)
        return leases

    async def check(self, connection: AsyncConnection) -> None:
        await connection.execute(text("SELECT version_num FROM alembic_version"))

    def translate(self, error: DBAPIError) -> RagstoneError | None:
        return explain_error(error.orig, self.name)


def _limit(engine: Engine, timeout: float) -> None:
    """How long a statement and an idle transaction may last, on every connection of `engine`."""
    limits = (
        f"SET statement_timeout = {math.ceil(1000 * timeout)}; "
        f"SET idle_in_transaction_session_timeout = {1000 * IDLE_SECONDS}"
    )

    @event.listens_for(engine, "connect")
    def configure_connection(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute(limits)
        cursor.close()
        connection.commit()


def _keep_time(engine: Engine, name: str) -> None:
    """Compare this machine's clock with the database's, with every connection of `engine`."""

    @event.listens_for(engine, "connect")
    def configure_connection(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        asked = time.time()
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
        ahead = compare(cursor.fetchone()[0], asked, time.time())
        cursor.close()
        connection.commit()
        if ahead:
            log.warning(
                "The clock of the database %s is %.0f s %s this machine's, and counts. Set the "
                "clocks.",
                name,
                abs(ahead),
                "ahead of" if ahead > 0 else "behind",
            )

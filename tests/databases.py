"""The databases that keep the state, each held to the same tests: a folder stands for one."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ragstone.store.sql.database import Backend, Database, open_backend, open_database
from tests.conformance.postgres_server import PostgresServer

DatabaseOpener = Callable[[Path], AbstractAsyncContextManager[Database]]

NAME = "database"
"""The file in a folder that names its database on the server; a copied folder is the same one."""


@asynccontextmanager
async def _sqlite(folder: Path) -> AsyncIterator[Database]:
    async with open_database(folder / "state.sqlite") as opened:
        yield opened


def open_postgres(url: str) -> Backend:
    """PostgreSQL as a state store."""
    # The tests of the core alone run without plugins.
    from ragstone.plugins.postgres.state import Postgres

    return Postgres(url)


class Databases:
    """Databases on a server, made as copies of one that has been migrated."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._made: list[str] = []
        self._template = ""

    def url(self, name: str) -> str:
        return make_conninfo(**{**conninfo_to_dict(self._server.url), "dbname": name})

    def new(self) -> str:
        """An empty database."""
        return self._create("")

    def migrated(self) -> str:
        """A database with the newest schema; not from inside an event loop."""
        if not self._template:
            self._template = self.new()
            asyncio.run(self._migrate())
        return self._create(f"TEMPLATE {self._template}")

    async def _migrate(self) -> None:
        async with open_backend(open_postgres(self.url(self._template))):
            pass

    def _create(self, options: str) -> str:
        name = f"test_{uuid4().hex}"
        self._execute(f"CREATE DATABASE {name} {options}")
        self._made.append(name)
        return name

    def drop(self) -> None:
        while self._made:
            name = self._made.pop()
            if name != self._template:
                self._execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self._server.url, autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[call-overload]

    @asynccontextmanager
    async def open(self, folder: Path) -> AsyncIterator[Database]:
        file = folder / NAME
        if not file.exists():
            file.write_text(await asyncio.to_thread(self.migrated))
        async with open_backend(open_postgres(self.url(file.read_text()))) as opened:
            yield opened


@pytest.fixture(scope="session")
def all_postgres_databases(postgres: PostgresServer) -> Databases:
    return Databases(postgres)


@pytest.fixture
def postgres_databases(all_postgres_databases: Databases) -> Iterator[Databases]:
    """Databases that are dropped after the test."""
    yield all_postgres_databases
    all_postgres_databases.drop()


@pytest.fixture(params=["sqlite", "postgresql"])
def open_state(request: pytest.FixtureRequest) -> DatabaseOpener:
    """Opens the database of a folder, on SQLite and on PostgreSQL."""
    if request.param == "sqlite":
        return _sqlite
    databases: Databases = request.getfixturevalue("postgres_databases")
    return databases.open


@pytest.fixture
async def state(open_state: DatabaseOpener, tmp_path: Path) -> AsyncIterator[Database]:
    """One open database of each kind."""
    async with open_state(tmp_path) as opened:
        yield opened

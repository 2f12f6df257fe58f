"""Which database keeps the state: a file in the data directory, or a PostgreSQL server."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from ragstone.core.errors import ConfigError
from ragstone.settings import StateSettings
from ragstone.store.sql.database import Backend, Database, open_backend
from ragstone.store.sql.sqlite import Sqlite

POSTGRES = ("postgresql://", "postgres://")


def open_state(settings: StateSettings, data: Path) -> AbstractAsyncContextManager[Database]:
    """Open the database of the settings; raises what `open_backend` raises."""
    return open_backend(backend(settings, data))


def backend(settings: StateSettings, data: Path) -> Backend:
    """The database of the settings, not opened yet; raises ConfigError for a wrong address."""
    if not settings.url:
        return Sqlite(data / "state.sqlite")
    if not settings.url.lower().startswith(POSTGRES):
        scheme = settings.url.split(":", 1)[0]
        raise ConfigError(
            f"STATE__URL begins with {scheme!r}: leave it empty for a file in the data directory, "
            "or give a PostgreSQL database as postgresql://user@host:5432/name."
        )
    try:
        from ragstone.store.sql.postgres import Postgres  # 60 ms that SQLite need not pay
    except ImportError as error:
        raise ConfigError(
            "STATE__URL needs the PostgreSQL client: pip install 'ragstone[postgres]'."
        ) from error
    return Postgres(settings.url, settings.password.get_secret_value(), settings.timeout)

"""Brings a database to the schema of this program, with Alembic.

Importing Alembic takes 0.4 s, so `behind` needs only SQLAlchemy and only `upgrade` imports it.
"""

from pathlib import Path
from threading import Lock

from sqlalchemy import Connection, Engine, inspect, text

from ragstone.errors import ConfigError

REVISIONS = ("0001", "0002", "0004", "0005", "0010")
"""Every migration, oldest first; a test compares this with the files in `versions`."""

_ONE_AT_A_TIME = Lock()
"""Alembic keeps the running migration in module globals."""


def behind(connection: Connection) -> bool:
    """Whether migrations are missing; raises ConfigError if the database is newer than that."""
    if not inspect(connection).has_table("alembic_version"):
        return True
    stored = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if stored is not None and stored not in REVISIONS:
        raise ConfigError(
            f"The data was written by a newer Ragstone (schema {stored}, this one knows "
            f"{REVISIONS[-1]}). Update Ragstone, or choose another data directory with --data."
        )
    return bool(stored != REVISIONS[-1])


def upgrade(engine: Engine) -> None:
    """Run the missing migrations in one transaction; it blocks, so call it in a thread.

    Raises ConfigError, with nothing changed, if the database is newer than this program.
    """
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    with _ONE_AT_A_TIME, engine.begin() as connection:
        if behind(connection):
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

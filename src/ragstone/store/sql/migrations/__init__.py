"""Brings a database to the schema of this program, with Alembic.

Importing Alembic takes 0.4 s, so `behind` needs only SQLAlchemy, an empty file is given the newest
schema as it is kept (`newest.py`), and only `migrate` imports Alembic.
"""

import logging
from collections.abc import Callable
from pathlib import Path
from threading import Lock

from sqlalchemy import Connection, Engine, inspect, text

from ragstone.core.errors import ConfigError
from ragstone.store.sql.migrations import newest
from ragstone.store.sql.tables import metadata

log = logging.getLogger(__name__)

REVISIONS = (
    "0001",
    "0002",
    "0004",
    "0005",
    "0006",
    "0007",
    "0008",
    "0009",
    "0010",
    "0011",
    "0012",
    "0013",
    "0014",
    "0015",
    "0016",
    "0017",
    "0018",
    "0019",
    "0020",
    "0021",
    "0022",
    "0023",
    "0024",
    "0025",
    "0026",
    "0027",
    "0028",
    "0029",
)
"""Every migration, oldest first; a test compares this with the files in `versions`."""

MIGRATING = 1_918_989_425
"""The advisory lock of PostgreSQL under which one server migrates while others wait."""

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
            f"{REVISIONS[-1]}). Update Ragstone, or choose another data directory with --data or "
            "another database with STATE__URL."
        )
    return bool(stored != REVISIONS[-1])


Keep = Callable[[Connection, str], str]
"""Keeps a database of a schema as it is, in the transaction that will migrate it; says where."""


def upgrade(engine: Engine, schema: str = "head", keep: Keep | None = None) -> None:
    """Run the missing migrations up to `schema` in one transaction; it blocks, so call it in a
    thread.

    What is there is kept by `keep` first. Raises ConfigError if the database is newer than this
    program, and what `keep` raises, with nothing changed.
    """
    with engine.begin() as connection:
        if schema in ("head", REVISIONS[-1]) and newest.fits(connection):
            newest.make(connection, REVISIONS[-1])
            return
        shared = connection.dialect.name == "postgresql"
        if shared:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({MIGRATING})"))
        if behind(connection):
            if keep:
                _keep(connection, keep)
            migrate(connection, schema)
            if shared:
                _order_by_code_points(connection)


def migrate(connection: Connection, schema: str = "head") -> None:
    """Run the missing migrations up to `schema` in the transaction of `connection`."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    with _ONE_AT_A_TIME:
        config.attributes["connection"] = connection
        command.upgrade(config, schema)


def _keep(connection: Connection, keep: Keep) -> None:
    if inspect(connection).has_table("alembic_version"):
        stored = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        if stored:
            kept = keep(connection, str(stored))
            log.warning(
                "The state is migrated from schema %s to %s. As it was, it is kept in %s.",
                stored,
                REVISIONS[-1],
                kept,
            )


def _order_by_code_points(connection: Connection) -> None:
    """Compare texts on PostgreSQL as SQLite does, not by the rules of the database's language."""
    found = connection.execute(
        text(
            "SELECT table_name, column_name FROM information_schema.columns "
            "WHERE table_schema = current_schema() AND data_type = 'text' "
            "AND collation_name IS DISTINCT FROM 'C' AND table_name = ANY(:tables)"
        ),
        {"tables": list(metadata.tables)},
    )
    columns: dict[str, list[str]] = {}
    for table, column in found:
        columns.setdefault(table, []).append(f'ALTER "{column}" TYPE text COLLATE "C"')
    for table, changes in columns.items():
        connection.execute(text(f'ALTER TABLE "{table}" {", ".join(changes)}'))

"""Brings a database to the schema of this program, with Alembic.

Importing Alembic takes 0.4 s, so only `migrate` imports it: `is_outdated` needs only SQLAlchemy,
and an empty database is given the tables as they are declared.
"""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from threading import Lock

from sqlalchemy import Column, Connection, Engine, MetaData, String, Table, inspect, text

from ragstone.core.errors import ConfigError
from ragstone.store.sql.tables import metadata

log = logging.getLogger(__name__)

REVISIONS = ("0100", "0101", "0102", "0103")
"""Every migration, oldest first; a test compares this with the files in `versions`."""

ADDED = {
    "0101": (
        "sources", "source_items", "source_runs", "people", "person_tokens", "sign_in_tries",
        "verified_answers", "quotas", "quota_use",
    ),
    "0102": (
        "directory_groups", "shared_conversations", "notes", "webhooks", "webhook_documents",
    ),
}  # fmt: skip
"""The tables that a migration added; the others are of the first one."""

VERSIONS = (Path(__file__).parent / "versions",)
"""The folders of the migrations."""

MIGRATING = 1_918_989_425
"""The advisory lock of PostgreSQL under which one server migrates while others wait."""

_ONE_AT_A_TIME = Lock()
"""Alembic keeps the running migration in module globals."""


def is_outdated(connection: Connection) -> bool:
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
        shared = connection.dialect.name == "postgresql"
        if shared:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({MIGRATING})"))
        if schema in ("head", REVISIONS[-1]) and not inspect(connection).get_table_names():
            create_newest(connection)
        elif is_outdated(connection):
            if keep:
                _keep(connection, keep)
            migrate(connection, schema)
        else:
            return
        if shared:
            _order_by_code_points(connection)


def create_newest(connection: Connection) -> None:
    """Create the tables in an empty database, marked as those of the newest schema."""
    version = Table(
        "alembic_version", MetaData(), Column("version_num", String(32), primary_key=True)
    )
    version.create(connection)
    metadata.create_all(connection, checkfirst=False)
    connection.execute(version.insert().values(version_num=REVISIONS[-1]))


def create_tables(connection: Connection, schema: str) -> None:
    """Create the tables that a migration adds, as they are declared.

    They are still as they were then. Who changes one of them has the migration write down what it
    was: a new database, which gets the declared tables, is compared with one that all migrations
    made.
    """
    later = {name for names in ADDED.values() for name in names}
    names = ADDED[schema] if schema in ADDED else metadata.tables.keys() - later
    metadata.create_all(connection, [metadata.tables[name] for name in names], checkfirst=False)


def migrate(connection: Connection, schema: str = "head") -> None:
    """Run the missing migrations up to `schema` in the transaction of `connection`."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    folders = os.pathsep.join(str(folder) for folder in VERSIONS)
    config.set_main_option("version_locations", folders.replace("%", "%%"))
    config.set_main_option("path_separator", "os")
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

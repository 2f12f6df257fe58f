"""The newest schema for an empty SQLite file: what all migrations make of one, kept as statements.

With Alembic the first start takes half a second more. After a new migration,
`python -m ragstone.store.sql.migrations` writes the statements; a test compares them with what the
migrations make.
"""

import sqlite3
from pathlib import Path

from sqlalchemy import Connection, inspect, text

FILE = Path(__file__).with_name("newest.sql")
_END = ";\n"


def fits(connection: Connection) -> bool:
    """Whether the statements are for this database."""
    return connection.dialect.name == "sqlite" and not inspect(connection).get_table_names()


def make(connection: Connection, revision: str) -> None:
    """Make the tables in the transaction of `connection`, marked as those of `revision`."""
    for statement in FILE.read_text(encoding="utf-8").split(_END):
        if statement.strip():
            connection.exec_driver_sql(statement)
    connection.execute(
        text("INSERT INTO alembic_version (version_num) VALUES (:revision)"),
        {"revision": revision},
    )


def statements(database: Path) -> str:
    """The statements that would make the schema of a file anew."""
    connection = sqlite3.connect(database)
    try:
        made = connection.execute("SELECT sql FROM sqlite_master WHERE sql <> '' ORDER BY rowid")
        return "".join(f"{sql}{_END}" for (sql,) in made)
    finally:
        connection.close()

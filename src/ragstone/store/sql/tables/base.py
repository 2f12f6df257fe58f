"""What every table belongs to."""

import sqlalchemy as sa
from sqlalchemy import BigInteger, Dialect, Integer, MetaData
from sqlalchemy.types import TypeDecorator

ZERO = "\ufdd0"
"""Stands for the character 0, which PostgreSQL cannot store: a code point that Unicode keeps free
for a program's own use, so no text has it."""


def storable(value: str) -> str:
    """Return a text as PostgreSQL holds it."""
    return value.replace("\0", ZERO)


class _PostgresText(TypeDecorator[str]):
    """Any text, ordered by code points whatever the database's language."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return storable(value) if value else value

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return value.replace(ZERO, "\0") if value else value


Text = sa.Text().with_variant(_PostgresText(), "postgresql")


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

BIG = BigInteger().with_variant(Integer, "sqlite")
"""SQLite numbers rows by itself only in a column declared INTEGER."""

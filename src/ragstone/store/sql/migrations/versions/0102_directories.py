"""Add people and groups of a directory, shared conversations and notes."""

from alembic import op

from ragstone.store.sql.migrations import create_tables
from ragstone.store.sql.tables import people

revision = "0102"
down_revision = "0101"


def upgrade() -> None:
    create_tables(op.get_bind(), revision)
    for name in ("origin", "active", "profile"):
        op.add_column("people", people.c[name].copy())

"""Add sources that are kept in sync, people with accounts, verified answers and quotas."""

from alembic import op

from ragstone.store.sql.migrations import create_tables

revision = "0101"
down_revision = "0100"


def upgrade() -> None:
    create_tables(op.get_bind(), revision)
    # They are declared, and of the next schema.
    for name in ("origin", "active", "profile"):
        op.drop_column("people", name)

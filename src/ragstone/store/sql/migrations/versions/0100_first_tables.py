"""Create the first schema, into which a backup of that time is restored before it is migrated."""

from alembic import op

from ragstone.store.sql.migrations import create_tables

revision = "0100"
down_revision = None


def upgrade() -> None:
    create_tables(op.get_bind(), revision)
    # It is declared, and of a later schema.
    op.drop_column("documents", "left_out")

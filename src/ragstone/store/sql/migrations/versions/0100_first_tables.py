"""Create the first schema, into which a backup of that time is restored before it is migrated."""

from alembic import op

from ragstone.store.sql.migrations import create_tables

revision = "0100"
down_revision = None


def upgrade() -> None:
    create_tables(op.get_bind(), revision)
    # They are declared, and of later schemas.
    op.drop_column("documents", "left_out")
    op.drop_column("versions", "tenant")
    op.drop_column("versions", "last_readers")

"""Add webhooks."""

from alembic import op

from ragstone.store.sql.migrations import create_tables

revision = "0103"
down_revision = "0102"


def upgrade() -> None:
    create_tables(op.get_bind(), revision)

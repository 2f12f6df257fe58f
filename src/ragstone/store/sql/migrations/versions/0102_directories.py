"""Add people of a directory, shared conversations, notes, webhooks, and what documents left out."""

import sqlalchemy as sa
from alembic import op

from ragstone.store.sql.migrations import create_tables

revision = "0102"
down_revision = "0101"


def upgrade() -> None:
    create_tables(op.get_bind(), revision)
    for column in (
        sa.Column("origin", sa.Text(), nullable=False, server_default=""),
        sa.Column("active", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("profile", sa.JSON(), nullable=False, server_default="{}"),
    ):
        op.add_column("people", column)
    left_out = sa.Column("left_out", sa.JSON(), nullable=False, server_default="[]")
    op.add_column("documents", left_out)

"""Folders and collections have readers of their own, and a document says which are its own."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    op.add_column(
        "documents", sa.Column("own_readers", sa.JSON(), nullable=False, server_default="[]")
    )
    op.add_column(
        "documents",
        sa.Column("readers_fixed", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
    # Who was not said to be everyone was said.
    op.execute(
        "UPDATE documents SET own_readers = allowed WHERE CAST(allowed AS TEXT) <> '[\"*\"]'"
    )
    op.create_table(
        "folder_readers",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("collection", sa.Text(), nullable=False),
        sa.Column("folder", sa.Text(), nullable=False),
        sa.Column("by_file", sa.Boolean(), nullable=False),
        sa.Column("readers", sa.JSON(), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("applied", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint(
            "tenant", "collection", "folder", "by_file", name=op.f("pk_folder_readers")
        ),
    )

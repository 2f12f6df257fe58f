"""Add what was left out of documents."""

import sqlalchemy as sa
from alembic import op

revision = "0103"
down_revision = "0102"


def upgrade() -> None:
    columns = sa.inspect(op.get_bind()).get_columns("documents")
    # The first migration makes the table as it is declared now.
    if not any(column["name"] == "left_out" for column in columns):
        column = sa.Column("left_out", sa.JSON(), nullable=False, server_default="[]")
        op.add_column("documents", column)

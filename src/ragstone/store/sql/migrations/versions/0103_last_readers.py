"""Add who could read a document last."""

import sqlalchemy as sa
from alembic import op

revision = "0103"
down_revision = "0102"


def upgrade() -> None:
    op.add_column("versions", sa.Column("tenant", sa.Text(), nullable=True))
    op.add_column("versions", sa.Column("last_readers", sa.JSON(), nullable=True))

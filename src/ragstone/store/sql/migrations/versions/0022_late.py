"""The length of the token vectors that a collection's index searches."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    late = sa.Column("late", sa.Integer(), nullable=False, server_default="0")
    op.add_column("collections", late)

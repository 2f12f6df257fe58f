"""Small collections may be kept together in one place of their index."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    for table in ("collections", "unused_indexes"):
        shared: sa.Column[bool] = sa.Column(
            "shared", sa.Boolean(), nullable=False, server_default=sa.false()
        )
        op.add_column(table, shared)

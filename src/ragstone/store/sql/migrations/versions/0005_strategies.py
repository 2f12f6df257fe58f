"""How often each strategy searched, how long that took, and how sure the answers were."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "strategies",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("strategy", sa.Text(), nullable=False),
        sa.Column("executions", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("rated", sa.BigInteger(), nullable=False),
        sa.Column("confidence", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("day", "tenant", "strategy", name=op.f("pk_strategies")),
    )

"""What happened to single questions, for some days."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

TEXTS = ["tenant", "user", "request", "trace", "user_id", "room", "collection", "level", "strategy"]
TEXTS += ["intent", "question", "model", "finish", "error", "cached"]


def upgrade() -> None:
    op.create_table(
        "traces",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in TEXTS),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger(), nullable=False),
        sa.Column("completion_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost", sa.Double()),
        sa.Column("confidence", sa.Double()),
        sa.Column("stages", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_traces")),
    )
    op.create_index(op.f("ix_traces_tenant_at"), "traces", ["tenant", "at"])
    op.create_index(op.f("ix_traces_at"), "traces", ["at"])

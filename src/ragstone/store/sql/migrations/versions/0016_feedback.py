"""What people think of answers."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"

KEY = ["tenant", "user", "answer_id"]
TEXTS = ["thumb", "comment", "question", "answer", "collection"]


def upgrade() -> None:
    op.create_table(
        "feedback",
        *(sa.Column(name, sa.Text(), nullable=False) for name in KEY + TEXTS),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint(*KEY, name=op.f("pk_feedback")),
    )
    op.create_index(op.f("ix_feedback_tenant_at"), "feedback", ["tenant", "at"])

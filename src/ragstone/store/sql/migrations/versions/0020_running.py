"""What one server does that another one is asked about: answers that go on, calls that wait."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.create_table(
        "running_answers",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("looks", sa.Integer(), nullable=False),
        sa.Column("beat", sa.Integer(), nullable=False),
        sa.Column("stopped", sa.Boolean(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_running_answers")),
    )
    op.create_table(
        "running_parts",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("until", sa.Integer(), nullable=False),
        sa.Column("told", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["name"],
            ["running_answers.name"],
            name=op.f("fk_running_parts_running_answers"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("name", "first", name=op.f("pk_running_parts")),
    )
    op.create_table(
        "waiting_approvals",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("approved", sa.Boolean(), nullable=True),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_waiting_approvals")),
    )

"""Sets of questions with what came of asking them, and the sites of widgets."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), nullable=False) for name in names]


def upgrade() -> None:
    op.add_column("api_keys", sa.Column("sites", sa.JSON()))
    op.create_table(
        "question_sets",
        *_texts("id", "tenant", "user", "collection", "name"),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("changed_at", sa.Double(), nullable=False),
        sa.Column("questions", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_question_sets")),
    )
    op.create_index(op.f("ix_question_sets_tenant_user"), "question_sets", ["tenant", "user"])
    op.create_table(
        "evaluation_runs",
        *_texts("id", "tenant", "user", "collection", "set_id", "set_name"),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("questions", sa.JSON(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("ended_at", sa.Double()),
        sa.Column("figures", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluation_runs")),
    )
    op.create_index(
        op.f("ix_evaluation_runs_tenant_user_started_at"),
        "evaluation_runs",
        ["tenant", "user", "started_at"],
    )
    op.create_table(
        "evaluation_outcomes",
        *_texts("run"),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("setting", sa.Integer(), nullable=False),
        sa.Column("right", sa.Integer()),
        *_texts("origin"),
        sa.Column("outcome", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("run", "number", "setting", name=op.f("pk_evaluation_outcomes")),
    )

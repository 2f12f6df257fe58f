"""Forbidden topics, their vectors, and the questions that were blocked."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0002"


def upgrade() -> None:
    _topics()
    _topic_vectors()
    _blocked_questions()
    op.add_column(
        "statistics", sa.Column("blocked", sa.BigInteger(), nullable=False, server_default="0")
    )


def _topics() -> None:
    op.create_table(
        "topics",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("term", sa.Text(), nullable=False),
        sa.Column("synonyms", sa.JSON(), nullable=False),
        sa.Column("examples", sa.JSON(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_topics")),
    )
    op.create_index(op.f("ix_topics_tenant"), "topics", ["tenant"], unique=False)


def _topic_vectors() -> None:
    op.create_table(
        "topic_vectors",
        sa.Column("topic_id", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("vectors", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["topic_id"],
            ["topics.id"],
            name=op.f("fk_topic_vectors_topics"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("topic_id", "fingerprint", name=op.f("pk_topic_vectors")),
    )


def _blocked_questions() -> None:
    op.create_table(
        "blocked_questions",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("topic_id", sa.Text(), nullable=False),
        sa.Column("term", sa.Text(), nullable=False),
        sa.Column("match", sa.Text(), nullable=False),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("decided_by", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_blocked_questions")),
    )
    op.create_index(
        op.f("ix_blocked_questions_tenant_id"), "blocked_questions", ["tenant", "id"], unique=False
    )
    op.create_index(op.f("ix_blocked_questions_at"), "blocked_questions", ["at"], unique=False)

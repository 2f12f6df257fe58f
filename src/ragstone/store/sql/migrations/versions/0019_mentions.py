"""What the chunks of documents name."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "mentions_read",
        sa.Column("number", big, autoincrement=True, nullable=False),
        sa.Column("revision", sa.Text(), nullable=False),
        sa.Column("reading", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["revision"],
            ["revisions.name"],
            name=op.f("fk_mentions_read_revisions"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_mentions_read")),
    )
    op.create_index(op.f("ix_mentions_read_revision"), "mentions_read", ["revision"], unique=True)
    op.create_table(
        "entity_mentions",
        sa.Column("source", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("chunk", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("entity", sa.Text(), nullable=False),
        sa.Column("collection", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("same", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["source"],
            ["mentions_read.number"],
            name=op.f("fk_entity_mentions_mentions_read"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("source", "chunk", "entity", name=op.f("pk_entity_mentions")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_entity_mentions_collection_entity"),
        "entity_mentions",
        ["collection", "entity"],
    )

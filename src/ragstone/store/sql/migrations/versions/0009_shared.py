"""What several servers on one database must agree about."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "editions",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("collection", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        _collection("editions"),
        sa.PrimaryKeyConstraint("tenant", "collection", name=op.f("pk_editions")),
    )
    op.create_table(
        "readers",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("collection", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        _collection("readers"),
        sa.PrimaryKeyConstraint("tenant", "collection", "name", name=op.f("pk_readers")),
    )
    op.create_table(
        "counters",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_counters")),
    )


def _collection(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["tenant", "collection"],
        ["collections.tenant", "collections.name"],
        name=op.f(f"fk_{table}_collections"),
        ondelete="CASCADE",
    )

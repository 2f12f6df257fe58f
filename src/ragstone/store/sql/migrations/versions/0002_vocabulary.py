"""The words of collections, and which revisions they were read from."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    for table, column in (("vocabulary", "word"), ("vocabulary_read", "revision")):
        op.create_table(
            table,
            sa.Column("tenant", sa.Text(), nullable=False),
            sa.Column("collection", sa.Text(), nullable=False),
            sa.Column(column, sa.Text(), nullable=False),
            sa.ForeignKeyConstraint(
                ["tenant", "collection"],
                ["collections.tenant", "collections.name"],
                name=op.f(f"fk_{table}_collections"),
                ondelete="CASCADE",
            ),
            sa.PrimaryKeyConstraint("tenant", "collection", column, name=op.f(f"pk_{table}")),
            sqlite_with_rowid=False,
        )

"""What large collections are listed and ingested by."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

COUNTED = ["tenant", "collection", "status", "version", "allowed", "chunks"]


def upgrade() -> None:
    name = op.f("ix_documents_tenant_collection_content_hash")
    op.create_index(name, "documents", ["tenant", "collection", "content_hash"])
    if op.get_bind().dialect.name == "sqlite":
        op.create_index("ix_documents_counts", "documents", COUNTED)
    op.create_table(
        "looks",
        sa.Column("document_id", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("modified", sa.Double(), nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        sa.Column("included", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["documents.id"],
            name=op.f("fk_looks_documents"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", name=op.f("pk_looks")),
    )

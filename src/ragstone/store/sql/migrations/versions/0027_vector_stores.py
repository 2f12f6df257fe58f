"""What clients of OpenAI's API say of vector stores, and which files they put into them."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    op.create_table(
        "vector_stores",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("collection", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("metadata", sa.JSON(), nullable=False),
        sa.Column("days", sa.Integer()),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("active_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "collection", name="pk_vector_stores"),
    )
    op.create_table(
        "store_files",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("collection", sa.Text(), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "collection", "file", name="pk_store_files"),
    )
    op.create_index(op.f("ix_store_files_tenant_file"), "store_files", ["tenant", "file"])
    op.create_index(op.f("ix_store_files_job"), "store_files", ["job"])

"""A log of settings, marks of what changed, and prompts of tenants."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "settings_log",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("old", sa.JSON(), nullable=True),
        sa.Column("new", sa.JSON(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_settings_log")),
    )
    op.create_index(op.f("ix_settings_log_key"), "settings_log", ["key"])
    op.create_table(
        "marks",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("mark", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_marks")),
    )
    _prompts_of_tenants()


def _prompts_of_tenants() -> None:
    """SQLite cannot change a primary key, so the few prompts are carried over."""
    columns = ("name", "version", "text", "updated_at")
    old = sa.table("prompts", *(sa.column(name) for name in columns))
    rows = [dict(row) for row in op.get_bind().execute(sa.select(old)).mappings()]
    op.drop_table("prompts")
    made = op.create_table(
        "prompts",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("tenant", "name", "version", name=op.f("pk_prompts")),
    )
    if rows:
        op.bulk_insert(made, [{**row, "tenant": "", "who": ""} for row in rows])

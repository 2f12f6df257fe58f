"""Jobs of every kind: whose they are, who runs them, and what came of them."""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_INDEXES = (("kind", "state", "priority", "created_at"), ("tenant", "created_at"), ("expires_at",))


def upgrade() -> None:
    for column in _columns():
        op.add_column("jobs", column)
    for columns in _INDEXES:
        op.create_index(op.f(f"ix_jobs_{'_'.join(columns)}"), "jobs", list(columns))
    # What an earlier version left running is begun anew by whoever starts next.
    op.execute("UPDATE jobs SET state = 'queued' WHERE state = 'running'")
    op.create_table(
        "job_workers",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("beat", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_workers")),
    )
    op.create_table(
        "job_kinds",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("kind", name=op.f("pk_job_kinds")),
    )


def _columns() -> Iterator[sa.Column[Any]]:
    yield sa.Column("tenant", sa.Text(), nullable=False, server_default="default")
    yield sa.Column("user", sa.Text(), nullable=False, server_default="local")
    yield sa.Column("groups", sa.JSON(), nullable=False, server_default="[]")
    yield sa.Column("collection", sa.Text(), nullable=False, server_default="")
    yield sa.Column("priority", sa.Integer(), nullable=False, server_default="0")
    yield sa.Column("attempts", sa.Integer(), nullable=False, server_default="0")
    yield sa.Column("failures", sa.Integer(), nullable=False, server_default="0")
    yield sa.Column("deaths", sa.Integer(), nullable=False, server_default="0")
    yield sa.Column("worker", sa.Text(), nullable=False, server_default="")
    yield sa.Column("due_at", sa.Double(), nullable=False, server_default="0")
    yield sa.Column("code", sa.Text(), nullable=False, server_default="")
    yield sa.Column("result", sa.JSON(none_as_null=True))
    yield sa.Column("expires_at", sa.Double())

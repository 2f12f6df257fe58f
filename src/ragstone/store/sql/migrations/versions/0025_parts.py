"""Jobs have parts, which other processes do; waiting ones are looked for by tenant."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    op.add_column("jobs", sa.Column("part_of", sa.Text(), nullable=False, server_default=""))
    op.create_index(op.f("ix_jobs_kind_state_tenant"), "jobs", ["kind", "state", "tenant"])
    op.create_index(op.f("ix_jobs_part_of"), "jobs", ["part_of"])

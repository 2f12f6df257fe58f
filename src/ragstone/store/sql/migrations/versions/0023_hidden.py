"""What a collection hides is found without what it shows, and without what others hide."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"

HIDDEN = sa.text("state <> 'live'")


def upgrade() -> None:
    op.create_index(
        "ix_revisions_hidden",
        "revisions",
        ["tenant", "collection"],
        postgresql_where=HIDDEN,
        sqlite_where=HIDDEN,
    )

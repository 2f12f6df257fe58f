"""Turns and traces say what they were answered from; of those that are there that is not known.

Keys that name no user shared one: each has an identity of its own from now on.
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

ROOM = ["tenant", "user", "user_id", "room"]


def upgrade() -> None:
    for table, columns in (("turns", ROOM), ("traces", ["tenant"])):
        op.add_column(table, sa.Column("origin", sa.Text(), nullable=False, server_default=""))
        name = op.f("_".join(["ix", table, *columns, "origin"]))
        op.create_index(name, table, [*columns, "origin"])
    keys = sa.table("api_keys", sa.column("id", sa.Text), sa.column("user", sa.Text))
    own = sa.literal("key:", sa.Text) + keys.c.id
    op.execute(keys.update().where(keys.c.user == "local").values(user=own))

"""Collections have an id apart from their name: those that are there keep their name as the id.

So nothing that names a collection changes, in no other table and in no index.
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    # Both databases rename the column in the foreign keys that refer to it too.
    op.execute("ALTER TABLE collections RENAME COLUMN name TO id")
    op.add_column("collections", sa.Column("name", sa.Text(), nullable=False, server_default=""))
    op.execute("UPDATE collections SET name = id")
    op.create_index(
        op.f("ix_collections_tenant_name"), "collections", ["tenant", "name"], unique=True
    )
    op.create_table(
        "awaited_collections",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "name", name=op.f("pk_awaited_collections")),
    )
    _await_what_is_named(op.get_bind())


def _await_what_is_named(connection: sa.Connection) -> None:
    """Keys, settings and jobs may name a collection that is not there yet."""
    keys = sa.table(
        "api_keys", sa.column("tenant"), sa.column("revoked_at"), sa.column("collections", sa.JSON)
    )
    settings = sa.table("settings", sa.column("scope"))
    jobs = sa.table("jobs", sa.column("tenant"), sa.column("collection"), sa.column("state"))
    collections = sa.table("collections", sa.column("tenant"), sa.column("id"))
    named: set[tuple[str, str]] = set()
    held = sa.select(keys.c.tenant, keys.c.collections).where(keys.c.revoked_at.is_(None))
    for tenant, names in connection.execute(held):
        named.update((tenant, name) for name in names or ())
    for (scope,) in connection.execute(sa.select(settings.c.scope).distinct()):
        kind, _, place = scope.partition(":")
        tenant, _, name = place.partition("/")
        if kind == "collection":
            named.add((tenant, name))
    ended = ("done", "failed", "cancelled")
    going = sa.select(jobs.c.tenant, jobs.c.collection).where(jobs.c.state.not_in(ended))
    named.update((tenant, name) for tenant, name in connection.execute(going) if name)
    there = sa.select(collections.c.tenant, collections.c.id)
    missing = sorted(named - {(tenant, id) for tenant, id in connection.execute(there)})
    awaited = sa.table(
        "awaited_collections", sa.column("tenant"), sa.column("name"), sa.column("id")
    )
    if missing:
        rows = [{"tenant": tenant, "name": name, "id": name} for tenant, name in missing]
        connection.execute(awaited.insert(), rows)

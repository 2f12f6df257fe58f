"""Alembic runs this file; the caller's connection carries the transaction."""

from alembic import context

from ragstone.store.sql.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()

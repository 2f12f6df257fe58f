"""Tables of sources that are kept in sync."""

from sqlalchemy import JSON, Boolean, Column, Double, ForeignKeyConstraint, Index, Integer, Table

from ragstone.store.sql.tables.base import Text, metadata

sources = Table(
    "sources",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("collection", Text, nullable=False),
    Column("options", JSON, nullable=False),
    Column("readers", JSON, nullable=False),
    Column("every", Double),
    Column("cron", Text),
    Column("created_at", Double, nullable=False),
    Column("next_at", Double),
    Column("failures", Integer, nullable=False),
    Column("checkpoint", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Index(None, "tenant", "name", unique=True),
    Index(None, "next_at"),
)

source_items = Table(
    "source_items",
    metadata,
    Column("source", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("version", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("error", Text, nullable=False),
    ForeignKeyConstraint(["source"], ["sources.id"], ondelete="CASCADE"),
    Index(None, "source", "path"),
)
"""What was last read of the items of sources."""

source_runs = Table(
    "source_runs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("source", Text, nullable=False),
    Column("started_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("state", Text, nullable=False),
    Column("dry", Boolean, nullable=False),
    Column("added", Integer, nullable=False),
    Column("changed", Integer, nullable=False),
    Column("rights", Integer, nullable=False),
    Column("removed", Integer, nullable=False),
    Column("held", Integer, nullable=False),
    Column("unchanged", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Column("error", Text, nullable=False),
    Column("failures", JSON, nullable=False),
    Column("notes", JSON, nullable=False),
    ForeignKeyConstraint(["source"], ["sources.id"], ondelete="CASCADE"),
    Index(None, "source", "started_at"),
)

"""Tables of the entity graph: what chunks name, what a chat model said of them, and themes."""

from sqlalchemy import JSON, BigInteger, Column, ForeignKeyConstraint, Index, Integer, Table

from ragstone.store.sql.tables.base import BIG, Text, metadata

mentions_read = Table(
    "mentions_read",
    metadata,
    Column("number", BIG, primary_key=True, autoincrement=True),
    Column("revision", Text, nullable=False),
    Column("reading", Text, nullable=False),
    ForeignKeyConstraint(["revision"], ["revisions.name"], ondelete="CASCADE"),
    Index(None, "revision", unique=True),
)
"""The revisions whose chunks were read for what they name, and by which rules (`reading`)."""

entity_mentions = Table(
    "entity_mentions",
    metadata,
    Column("source", BigInteger, primary_key=True, autoincrement=False),
    Column("chunk", Integer, primary_key=True, autoincrement=False),
    Column("entity", Text, primary_key=True),
    Column("collection", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("count", Integer, nullable=False),
    Column("same", Text, nullable=False),
    ForeignKeyConstraint(["source"], ["mentions_read.number"], ondelete="CASCADE"),
    Index(None, "collection", "entity"),
    sqlite_with_rowid=False,
)
"""What chunks name: `source` is the number of the revision in `mentions_read`, `chunk` that of the
chunk in the revision. `collection` is its id, which two tenants may have in common. They go with
their revision."""

entity_relations = Table(
    "entity_relations",
    metadata,
    Column("source", BigInteger, primary_key=True, autoincrement=False),
    Column("chunk", Integer, primary_key=True, autoincrement=False),
    Column("entity", Text, primary_key=True),
    Column("other", Text, primary_key=True),
    Column("said", Text, primary_key=True),
    Column("collection", Text, nullable=False),
    ForeignKeyConstraint(["source"], ["mentions_read.number"], ondelete="CASCADE"),
    Index(None, "collection", "entity"),
    Index(None, "collection", "other"),
    sqlite_with_rowid=False,
)
"""How entities relate by what chunks say of them; otherwise as `entity_mentions`."""

model_readings = Table(
    "model_readings",
    metadata,
    Column("revision", Text, primary_key=True),
    Column("recipe", Text, nullable=False),
    ForeignKeyConstraint(["revision"], ["revisions.name"], ondelete="CASCADE"),
)
"""The revisions whose chunks a chat model reads for the graph; `recipe` says how it has read all of
them, and is empty before."""

chunk_readings = Table(
    "chunk_readings",
    metadata,
    Column("revision", Text, primary_key=True),
    Column("chunk", Integer, primary_key=True, autoincrement=False),
    Column("key", Text, nullable=False),
    Column("said", JSON, nullable=False),
    ForeignKeyConstraint(["revision"], ["model_readings.revision"], ondelete="CASCADE"),
    Index(None, "key"),
)
"""What the chat model said of each chunk. They go with their revision."""

theme_audiences = Table(
    "theme_audiences",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("collection", Text, primary_key=True),
    Column("audience", Text, primary_key=True),
    Column("made_of", Text, nullable=False),
    ForeignKeyConstraint(
        ["tenant", "collection"], ["collections.tenant", "collections.id"], ondelete="CASCADE"
    ),
)
"""The readers whose documents have been grouped into themes, and a hash of those documents."""

themes = Table(
    "themes",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("collection", Text, nullable=False),
    Column("audience", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("entities", JSON, nullable=False),
    Column("passages", JSON, nullable=False),
    Column("revisions", Integer, nullable=False),
    Column("summary", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("key", Text, nullable=False),
    ForeignKeyConstraint(
        ["tenant", "collection", "audience"],
        ["theme_audiences.tenant", "theme_audiences.collection", "theme_audiences.audience"],
        ondelete="CASCADE",
    ),
    Index(None, "tenant", "collection", "audience"),
)
"""Communities of entities; `revisions` is how many a theme is made of."""

theme_revisions = Table(
    "theme_revisions",
    metadata,
    Column("theme", Text, primary_key=True),
    Column("revision", Text, primary_key=True),
    ForeignKeyConstraint(["theme"], ["themes.id"], ondelete="CASCADE"),
    ForeignKeyConstraint(["revision"], ["revisions.name"], ondelete="CASCADE"),
    Index(None, "revision"),
)
"""What each theme is made of. A row goes with its revision, and the theme is shown to nobody from
then on, as it has fewer than it is made of."""

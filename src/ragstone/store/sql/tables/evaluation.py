"""Sets of questions, and what came of asking them."""

from sqlalchemy import JSON, Column, Double, Index, Integer, Table

from ragstone.store.sql.tables.base import Text, metadata

question_sets = Table(
    "question_sets",
    metadata,
    Column("id", Text, primary_key=True),
    *(Column(name, Text, nullable=False) for name in ("tenant", "user", "collection", "name")),
    Column("size", Integer, nullable=False),
    Column("changed_at", Double, nullable=False),
    Column("questions", JSON, nullable=False),
    Index(None, "tenant", "user"),
)
"""A user's questions about a collection, with what is expected of their answers."""

evaluation_runs = Table(
    "evaluation_runs",
    metadata,
    Column("id", Text, primary_key=True),
    *(Column(name, Text, nullable=False) for name in ("tenant", "user", "collection")),
    *(Column(name, Text, nullable=False) for name in ("set_id", "set_name")),
    Column("settings", JSON, nullable=False),
    Column("questions", JSON, nullable=False),
    Column("started_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("figures", JSON, nullable=False),
    Index(None, "tenant", "user", "started_at"),
)
"""The questions of a set, as they were then, asked with each of some settings."""

evaluation_outcomes = Table(
    "evaluation_outcomes",
    metadata,
    Column("run", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("setting", Integer, primary_key=True),
    Column("right", Integer),
    Column("origin", Text, nullable=False),
    Column("outcome", JSON, nullable=False),
)
"""What came of one question with one setting; `right` is null where nothing was expected."""

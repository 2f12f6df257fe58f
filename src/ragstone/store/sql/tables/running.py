"""Tables of what one server does that another one is asked about. Their rows live for seconds."""

from sqlalchemy import Boolean, Column, Double, ForeignKeyConstraint, Integer, Table

from ragstone.store.sql.tables.base import Text, metadata

running_answers = Table(
    "running_answers",
    metadata,
    Column("name", Text, primary_key=True),
    Column("question", Text, nullable=False),
    Column("looks", Integer, nullable=False),
    Column("beat", Integer, nullable=False),
    Column("stopped", Boolean, nullable=False),
    Column("at", Double, nullable=False),
)
"""`question` is a digest. Who reads at another server counts `looks` up, who answers `beat`."""

running_parts = Table(
    "running_parts",
    metadata,
    Column("name", Text, primary_key=True),
    Column("first", Integer, primary_key=True),
    Column("until", Integer, nullable=False),
    Column("told", Text, nullable=False),
    ForeignKeyConstraint(["name"], ["running_answers.name"], ondelete="CASCADE"),
)
"""The events of an answer from number `first` to before `until`."""

waiting_approvals = Table(
    "waiting_approvals",
    metadata,
    Column("name", Text, primary_key=True),
    Column("approved", Boolean),
    Column("at", Double, nullable=False),
)
"""Calls of tools that wait for somebody; `approved` is null until then."""

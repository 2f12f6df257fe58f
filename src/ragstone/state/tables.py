"""Every table of the state store, in types that SQLite and PostgreSQL share.

Times are seconds since 1970, like `Document.modified`. A change here needs a new file in
`migrations/versions`; a test holds the two together.
"""

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Date,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_BIG = BigInteger().with_variant(Integer, "sqlite")
"""SQLite numbers rows by itself only in a column declared INTEGER."""

collections = Table(
    "collections",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("model", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("dimensions", Integer, nullable=False),
    Column("language", Text, nullable=False),
    Column("build", Integer, nullable=False),
)

documents = Table(
    "documents",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("collection", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("content_hash", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("allowed", JSON, nullable=False),
    Column("metadata", JSON(none_as_null=True)),
    Column("status", Text, nullable=False),
    Column("error", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("modified", Double, nullable=False),
    Column("chunks", Integer, nullable=False),
    Column("pages", Integer, nullable=False),
    ForeignKeyConstraint(
        ["tenant", "collection"], ["collections.tenant", "collections.name"], ondelete="CASCADE"
    ),
    Index(None, "tenant", "collection", "path"),
)

revisions = Table(
    "revisions",
    metadata,
    Column("name", Text, primary_key=True),
    Column("document_id", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("collection", Text, nullable=False),
    Column("state", Text, nullable=False),
    ForeignKeyConstraint(
        ["tenant", "collection"], ["collections.tenant", "collections.name"], ondelete="CASCADE"
    ),
    Index(None, "document_id"),
    Index(None, "tenant", "collection"),
    Index(None, "state"),
)
"""`state`: writing, live (the one that answers), retired (its chunks are to be deleted), abandoned
(retired while it was being written: hidden until its writer has surely stopped)."""

versions = Table(
    "versions",
    metadata,
    Column("document_id", Text, primary_key=True),
    Column("last", Integer, nullable=False),
)
"""The last number given to each document, also to deleted ones: no revision name is used twice,
so a citation or a late purge can never mean other content."""

vocabulary = Table(
    "vocabulary",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("collection", Text, primary_key=True),
    Column("word", Text, primary_key=True),
    ForeignKeyConstraint(
        ["tenant", "collection"], ["collections.tenant", "collections.name"], ondelete="CASCADE"
    ),
    sqlite_with_rowid=False,
)
"""Words that were read in a collection, whoever may read them; deleted ones stay for a while."""

vocabulary_read = Table(
    "vocabulary_read",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("collection", Text, primary_key=True),
    Column("revision", Text, primary_key=True),
    ForeignKeyConstraint(
        ["tenant", "collection"], ["collections.tenant", "collections.name"], ondelete="CASCADE"
    ),
    sqlite_with_rowid=False,
)
"""The revisions whose words are in `vocabulary`."""

conversations = Table(
    "conversations",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("user", Text, primary_key=True),
    Column("room", Text, primary_key=True),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
)

blocks = Table(
    "blocks",
    metadata,
    Column("id", _BIG, primary_key=True, autoincrement=True),
    Column("tenant", Text, nullable=False),
    Column("user", Text, nullable=False),
    Column("room", Text, nullable=False),
    Column("ask_id", Text, nullable=False),
    Column("collection", Text, nullable=False),
    Column("level", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("finish", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("confidence", Double),
    Column("citations", JSON, nullable=False),
    Column("verdicts", JSON, nullable=False),
    Column("usage", JSON, nullable=False),
    Column("trace", JSON, nullable=False),
    Column("created_at", Double, nullable=False),
    ForeignKeyConstraint(
        ["tenant", "user", "room"],
        ["conversations.tenant", "conversations.user", "conversations.room"],
        ondelete="CASCADE",
    ),
    Index(None, "tenant", "user", "room", "id"),
)
"""One question with its answer."""

statistics = Table(
    "statistics",
    metadata,
    Column("day", Date, primary_key=True),
    Column("tenant", Text, primary_key=True),
    Column("user", Text, primary_key=True),
    Column("room", Text, primary_key=True),
    Column("model", Text, primary_key=True),
    Column("questions", BigInteger, nullable=False),
    Column("refused", BigInteger, nullable=False),
    Column("blocked", BigInteger, nullable=False, server_default="0"),
    Column("prompt_tokens", BigInteger, nullable=False),
    Column("completion_tokens", BigInteger, nullable=False),
    Column("cost", Double, nullable=False),
)
"""Sums per day (UTC). `room` and `model` are "" for none; `cost` holds what is known of it."""

strategies = Table(
    "strategies",
    metadata,
    Column("day", Date, primary_key=True),
    Column("tenant", Text, primary_key=True),
    Column("strategy", Text, primary_key=True),
    Column("executions", BigInteger, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("rated", BigInteger, nullable=False),
    Column("confidence", Double, nullable=False),
)
"""Sums per day (UTC): questions searched by a strategy, the seconds that they took, and the
confidence of those `rated` answers that have one."""

settings = Table(
    "settings",
    metadata,
    Column("scope", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("value", JSON, nullable=False),
    Column("updated_at", Double, nullable=False),
)

prompts = Table(
    "prompts",
    metadata,
    Column("name", Text, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("text", Text, nullable=False),
    Column("updated_at", Double, nullable=False),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("request", JSON, nullable=False),
    Column("progress", JSON, nullable=False),
    Column("state", Text, nullable=False),
    Column("error", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Index(None, "state"),
)

topics = Table(
    "topics",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("term", Text, nullable=False),
    Column("synonyms", JSON, nullable=False),
    Column("examples", JSON, nullable=False),
    Column("language", Text, nullable=False),
    Column("note", Text, nullable=False),
    Index(None, "tenant"),
)

topic_vectors = Table(
    "topic_vectors",
    metadata,
    Column("topic_id", Text, primary_key=True),
    Column("fingerprint", Text, primary_key=True),
    Column("vectors", LargeBinary, nullable=False),
    ForeignKeyConstraint(["topic_id"], ["topics.id"], ondelete="CASCADE"),
)
"""The vectors of a topic's texts by one embedding model, little-endian 32-bit floats in order."""

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("user", Text, nullable=False),
    Column("groups", JSON, nullable=False),
    Column("collections", JSON(none_as_null=True)),
    Column("role", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("old_digest", Text, nullable=False),
    Column("old_until", Double, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
    Column("used_at", Double),
    Column("revoked_at", Double),
    Index(None, "tenant"),
)
"""`digest` is of the secret; `old_digest` of the one before it, which holds until `old_until`."""

blocked_questions = Table(
    "blocked_questions",
    metadata,
    Column("id", _BIG, primary_key=True, autoincrement=True),
    Column("at", Double, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("user", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("topic_id", Text, nullable=False),
    Column("term", Text, nullable=False),
    Column("match", Text, nullable=False),
    Column("score", Double, nullable=False),
    Column("decided_by", Text, nullable=False),
    Index(None, "tenant", "id"),
    Index(None, "at"),
)
"""No reference to `topics`: what was blocked stays readable when its topic is gone."""

"""Every table of the state store, in types that SQLite and PostgreSQL share.

Times are seconds since 1970, like `Document.modified`. A change here needs a new file in
`migrations/versions`; a test holds the two together.
"""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Date,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
)

from ragstone.state.types import Text

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

editions = Table(
    "editions",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("collection", Text, primary_key=True),
    Column("number", BigInteger, nullable=False),
    ForeignKeyConstraint(
        ["tenant", "collection"], ["collections.tenant", "collections.name"], ondelete="CASCADE"
    ),
)
"""A number that grows whenever a collection shows other documents; kept on PostgreSQL only, where
several servers must agree about it."""

readers = Table(
    "readers",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("collection", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("since", BigInteger, nullable=False),
    ForeignKeyConstraint(
        ["tenant", "collection"], ["collections.tenant", "collections.name"], ondelete="CASCADE"
    ),
)
"""Names that documents of a collection were allowed to, since which edition. As `editions`."""

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

_OF_A_ROOM = ("tenant", "user", "user_id", "room")
_A_ROOM = ["rooms.tenant", "rooms.user", "rooms.user_id", "rooms.room"]

rooms = Table(
    "rooms",
    metadata,
    *(Column(name, Text, primary_key=True) for name in _OF_A_ROOM),
    Column("title", Text, nullable=False),
    Column("turns", Integer, nullable=False),
    Column("errors", Integer, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Index(None, "tenant", "user", "updated_at"),
)
"""Conversations; `user` is the principal's, `user_id` the client's own account, "" for none."""

turns = Table(
    "turns",
    metadata,
    Column("id", _BIG, primary_key=True, autoincrement=True),
    *(Column(name, Text, nullable=False) for name in _OF_A_ROOM),
    Column("chat_id", Text, nullable=False),
    Column("search_type", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("is_tool_block", Boolean, nullable=False),
    Column("is_error", Boolean, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("at", Double, nullable=False),
    Column("conversations", Text, nullable=False),
    Column("block_classes", Text, nullable=False),
    Column("result", Text, nullable=False),
    Column("notes", Text, nullable=False),
    ForeignKeyConstraint(_OF_A_ROOM, _A_ROOM, ondelete="CASCADE"),
    Index(None, *_OF_A_ROOM, "id"),
    Index(None, *_OF_A_ROOM, "status"),
)
"""One question with its answer. The last four columns hold JSON, read by us, so that one that is
damaged does not hide the others."""

turn_classes = Table(
    "turn_classes",
    metadata,
    *(Column(name, Text, primary_key=True) for name in _OF_A_ROOM),
    Column("value", Text, primary_key=True),
    Column("turn_id", BigInteger, primary_key=True),
    ForeignKeyConstraint(["turn_id"], ["turns.id"], ondelete="CASCADE"),
    Index(None, "turn_id"),
    sqlite_with_rowid=False,
)
"""The values of `block_classes`, to be searched."""

room_leases = Table(
    "room_leases",
    metadata,
    *(Column(name, Text, primary_key=True) for name in _OF_A_ROOM),
    Column("holder", Text, nullable=False),
    Column("beat", BigInteger, nullable=False),
)
"""Which process answers in which room, where several share this database."""

statistics = Table(
    "statistics",
    metadata,
    Column("day", Date, primary_key=True),
    Column("tenant", Text, primary_key=True),
    Column("user", Text, primary_key=True),
    Column("user_id", Text, primary_key=True, server_default=""),
    Column("room", Text, primary_key=True),
    Column("search_type", Text, primary_key=True, server_default="rag"),
    Column("model", Text, primary_key=True),
    Column("questions", BigInteger, nullable=False),
    Column("refused", BigInteger, nullable=False),
    Column("blocked", BigInteger, nullable=False, server_default="0"),
    Column("prompt_tokens", BigInteger, nullable=False),
    Column("completion_tokens", BigInteger, nullable=False),
    Column("cost", Double, nullable=False),
)
"""Sums per day (UTC). `user_id`, `room` and `model` are "" for none; `cost` holds what is known of
it."""

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

settings_log = Table(
    "settings_log",
    metadata,
    Column("id", _BIG, primary_key=True, autoincrement=True),
    Column("at", Double, nullable=False),
    Column("who", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("old", JSON),
    Column("new", JSON),
    Index(None, "key"),
)
"""Every change of `settings`, which is never changed itself."""

marks = Table(
    "marks",
    metadata,
    Column("name", Text, primary_key=True),
    Column("mark", BigInteger, nullable=False),
)
"""What another process may have changed (settings, prompts), each with a random number that is
another one after every change: nothing else need be read to know that nothing did."""

prompts = Table(
    "prompts",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("text", Text, nullable=False),
    Column("updated_at", Double, nullable=False),
    Column("who", Text, nullable=False, server_default=""),
)
"""`tenant` is empty for the prompts of all; an empty text brings back what stands below it."""

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
    Column("tenant", Text, nullable=False, server_default="default"),
    Column("user", Text, nullable=False, server_default="local"),
    Column("groups", JSON, nullable=False, server_default="[]"),
    Column("collection", Text, nullable=False, server_default=""),
    Column("priority", Integer, nullable=False, server_default="0"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("deaths", Integer, nullable=False, server_default="0"),
    Column("worker", Text, nullable=False, server_default=""),
    Column("due_at", Double, nullable=False, server_default="0"),
    Column("code", Text, nullable=False, server_default=""),
    Column("result", JSON(none_as_null=True)),
    Column("expires_at", Double),
    Index(None, "state"),
    Index(None, "kind", "state", "priority", "created_at"),
    Index(None, "tenant", "created_at"),
    Index(None, "expires_at"),
)
"""What is to be done, goes on, or was done. `worker` is who runs it, `attempts` how often it was
begun, of which `failures` ended in an error and `deaths` with the process; it is not begun before
`due_at`, and forgotten at `expires_at`."""

job_workers = Table(
    "job_workers",
    metadata,
    Column("id", Text, primary_key=True),
    Column("host", Text, nullable=False),
    Column("beat", BigInteger, nullable=False),
)
"""Processes that run jobs. One whose `beat` stands still has died; whoever sees it removes it."""

job_kinds = Table(
    "job_kinds",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("paused", Boolean, nullable=False),
)

traces = Table(
    "traces",
    metadata,
    Column("id", Text, primary_key=True),
    Column("at", Double, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("user", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("trace", Text, nullable=False),
    Column("user_id", Text, nullable=False),
    Column("room", Text, nullable=False),
    Column("collection", Text, nullable=False),
    Column("level", Text, nullable=False),
    Column("strategy", Text, nullable=False),
    Column("intent", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("finish", Text, nullable=False),
    Column("error", Text, nullable=False),
    Column("cached", Text, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("prompt_tokens", BigInteger, nullable=False),
    Column("completion_tokens", BigInteger, nullable=False),
    Column("cost", Double),
    Column("confidence", Double),
    Column("stages", JSON, nullable=False),
    Index(None, "tenant", "at"),
    Index(None, "at"),
)
"""What happened to single questions, for some days."""

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

counters = Table(
    "counters",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", BigInteger, nullable=False),
)
"""A number for each thing that servers keep in memory; it grows whenever that changes."""

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
    Column("user_id", Text, nullable=False, server_default=""),
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

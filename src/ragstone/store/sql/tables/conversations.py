"""Tables of questions: conversations, statistics, traces."""

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
    Table,
)

from ragstone.store.sql.tables.base import BIG, Text, metadata

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
    Column("id", BIG, primary_key=True, autoincrement=True),
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
    Column("origin", Text, nullable=False, server_default=""),
    ForeignKeyConstraint(_OF_A_ROOM, _A_ROOM, ondelete="CASCADE"),
    Index(None, *_OF_A_ROOM, "id"),
    Index(None, *_OF_A_ROOM, "status"),
    Index(None, *_OF_A_ROOM, "origin"),
)
"""One question with its answer. The last five columns hold JSON, read by us, so that one that is
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
    Column("origin", Text, nullable=False, server_default=""),
    Index(None, "tenant", "at"),
    Index(None, "tenant", "origin"),
    Index(None, "at"),
)
"""What happened to single questions, for some days."""

feedback = Table(
    "feedback",
    metadata,
    *(Column(name, Text, primary_key=True) for name in ("tenant", "user", "answer_id")),
    *(Column(name, Text, nullable=False) for name in ("thumb", "comment", "question", "answer")),
    Column("collection", Text, nullable=False),
    Column("at", Double, nullable=False),
    Index(None, "tenant", "at"),
)
"""What a user thinks of an answer."""


verified_answers = Table(
    "verified_answers",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("collection", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("wordings", JSON, nullable=False),
    Column("sources", JSON, nullable=False),
    Column("owner", Text, nullable=False),
    Column("readers", JSON, nullable=False),
    Column("changed_at", Double, nullable=False),
    Column("expires_at", Double),
    Index(None, "tenant", "collection"),
)
"""They are the collection's: who is erased is no `owner` and none of the `readers` any more."""

shared_conversations = Table(
    "shared_conversations",
    metadata,
    Column("id", Text, primary_key=True),
    *(Column(name, Text, nullable=False) for name in _OF_A_ROOM),
    Column("until", Double, nullable=False),
    Index(None, "tenant", "user"),
)
"""Conversations that their users show to others; `id` is known to who has the link. The room is no
foreign key, as conversations may be kept elsewhere."""

notes = Table(
    "notes",
    metadata,
    Column("id", Text, primary_key=True),
    *(Column(name, Text, nullable=False) for name in ("tenant", "user", "comment")),
    Column("at", Double, nullable=False),
    *(Column(name, Text, nullable=False) for name in ("turn", "origin")),
    Index(None, "tenant", "user", "at"),
)
"""Answers that a user keeps: `turn` is JSON, read by us, `origin` like that of `turns`."""

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

"""Tables of what is operated: settings, prompts, jobs, topics, keys.

Tables of accounts.
"""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Table,
    true,
)

from ragstone.store.sql.tables.base import BIG, Text, metadata

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
    Column("id", BIG, primary_key=True, autoincrement=True),
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
    Column("part_of", Text, nullable=False, server_default=""),
    Index(None, "state"),
    Index(None, "kind", "state", "priority", "created_at"),
    Index(None, "kind", "state", "tenant"),
    Index(None, "part_of"),
    Index(None, "tenant", "created_at"),
    Index(None, "expires_at"),
)
"""What is to be done, goes on, or was done. `worker` is who runs it, `attempts` how often it was
begun, of which `failures` ended in an error and `deaths` with the process; it is not begun before
`due_at`, and forgotten at `expires_at`. `part_of` is the job that it is a part of, and empty for
all that was submitted."""

job_workers = Table(
    "job_workers",
    metadata,
    Column("id", Text, primary_key=True),
    Column("host", Text, nullable=False),
    Column("beat", BigInteger, nullable=False),
)
"""Processes that run jobs. One whose `beat` stands still is dead; any other removes it."""

job_kinds = Table(
    "job_kinds",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("paused", Boolean, nullable=False),
)

done_once = Table(
    "done_once",
    metadata,
    Column("key", Text, primary_key=True),
    Column("at", Double, nullable=False),
    Index(None, "at"),
)
"""Keys of work that must not be repeated when an interrupted job runs again."""

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
    Column("sites", JSON(none_as_null=True)),
    Index(None, "tenant"),
)
"""`digest` is of the secret; `old_digest` of the one before it, which holds until `old_until`.
`sites` are where a widget's key may be used, null for others."""

quotas = Table(
    "quotas",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("user", Text, primary_key=True),
    Column("group", Text, primary_key=True),
    Column("tokens", BigInteger),
    Column("cost", Double),
)
"""What may be used of chat models in a month, null for no limit. Of a `user` or a `group`, and of
the tenant where both are empty; `*` is each user without a row."""

quota_use = Table(
    "quota_use",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("month", Text, primary_key=True),
    Column("user", Text, primary_key=True),
    Column("group", Text, primary_key=True),
    Column("tokens", BigInteger, nullable=False),
    Column("cost", Double, nullable=False),
)
"""What was used in a `month` such as 2026-11 (UTC)."""

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("user", Text, nullable=False),
    Column("groups", JSON, nullable=False),
    Column("key", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("inside", Boolean, nullable=False),
    Column("events", JSON, nullable=False),
    Column("secret", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("seen_until", Double, nullable=False),
    Column("editions", JSON, nullable=False),
    Column("delivered_at", Double),
    Column("failing_since", Double),
    Column("error", Text, nullable=False),
    Column("disabled_at", Double),
    Index(None, "tenant"),
)
"""Addresses that are told of events. `user`, `groups` and `key` are of who made it; one that is
`inside` may be in a private network. Events until `seen_until` are queued, and of documents those
of the `editions` of collections; `error` is why the newest delivery failed."""

webhook_documents = Table(
    "webhook_documents",
    metadata,
    Column("webhook", Text, primary_key=True),
    Column("document", Text, primary_key=True),
    Column("collection", Text, nullable=False),
    Column("version", Integer, nullable=False),
    ForeignKeyConstraint(["webhook"], ["webhooks.id"], ondelete="CASCADE"),
    Index(None, "webhook", "collection"),
)
"""The versions of documents that a webhook was told of, of those that its owner may read."""

ended_sessions = Table(
    "ended_sessions",
    metadata,
    Column("name", Text, primary_key=True),
    Column("until", Double, nullable=False),
)
"""Sessions that their user signed out of; after `until` they would have ended by themselves."""

blocked_questions = Table(
    "blocked_questions",
    metadata,
    Column("id", BIG, primary_key=True, autoincrement=True),
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
"""No reference to `topics`: a blocked question stays readable when its topic is gone."""


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


people = Table(
    "people",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("user", Text, primary_key=True),
    Column("display", Text, nullable=False),
    Column("groups", JSON, nullable=False),
    Column("collections", JSON(none_as_null=True)),
    Column("role", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("password", Text, nullable=False),
    Column("totp", Text, nullable=False),
    Column("totp_step", BigInteger, nullable=False),
    Column("recovery", JSON, nullable=False),
    Column("origin", Text, nullable=False, server_default=""),
    Column("active", Boolean, nullable=False, server_default=true()),
    Column("profile", JSON, nullable=False, server_default="{}"),
)
"""Accounts. `password` is an argon2 hash, empty until the invitation is accepted; `totp` the secret
of the second factor, empty without; `recovery` are digests of codes that stand in for it once;
`profile` is what a directory told."""

person_tokens = Table(
    "person_tokens",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("user", Text, nullable=False),
    Column("begun_at", Double, nullable=False),
    Column("ends_at", Double, nullable=False),
    Column("used_at", Double, nullable=False),
    Column("agent", Text, nullable=False),
    ForeignKeyConstraint(["tenant", "user"], ["people.tenant", "people.user"], ondelete="CASCADE"),
    Index(None, "tenant", "user"),
)
"""Sessions, invitations, and the browsers in which somebody has signed in."""

directory_groups = Table(
    "directory_groups",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("external_id", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("changed_at", Double, nullable=False),
    Index(None, "tenant", "name", unique=True),
)
"""Groups that were provisioned; who is in one is told by the accounts."""

sign_in_tries = Table(
    "sign_in_tries",
    metadata,
    Column("name", Text, primary_key=True),
    Column("tries", Integer, nullable=False),
    Column("at", Double, nullable=False),
    Index(None, "at"),
)
"""How often a password was tried for a name, at an address or in a browser, by its digest."""

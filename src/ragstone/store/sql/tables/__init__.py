"""Every table of the state store, in types that SQLite and PostgreSQL share.

Times are seconds since 1970, like `Document.modified`. A change here needs a new file in
`migrations/versions`; a test holds the two together.
"""

from ragstone.store.sql.tables.base import metadata
from ragstone.store.sql.tables.conversations import (
    feedback,
    room_leases,
    rooms,
    statistics,
    strategies,
    traces,
    turn_classes,
    turns,
)
from ragstone.store.sql.tables.documents import (
    awaited_collections,
    collections,
    documents,
    editions,
    looks,
    readers,
    revisions,
    versions,
    vocabulary,
    vocabulary_read,
)
from ragstone.store.sql.tables.evaluation import (
    evaluation_outcomes,
    evaluation_runs,
    question_sets,
)
from ragstone.store.sql.tables.graph import (
    chunk_readings,
    entity_mentions,
    entity_relations,
    mentions_read,
    model_readings,
    theme_audiences,
    theme_revisions,
    themes,
)
from ragstone.store.sql.tables.operation import (
    api_keys,
    blocked_questions,
    counters,
    done_once,
    job_kinds,
    job_workers,
    jobs,
    marks,
    prompts,
    settings,
    settings_log,
    topic_vectors,
    topics,
)
from ragstone.store.sql.tables.running import (
    running_answers,
    running_parts,
    waiting_approvals,
)

__all__ = [
    "api_keys",
    "awaited_collections",
    "blocked_questions",
    "chunk_readings",
    "collections",
    "counters",
    "documents",
    "done_once",
    "editions",
    "entity_mentions",
    "entity_relations",
    "evaluation_outcomes",
    "evaluation_runs",
    "feedback",
    "job_kinds",
    "job_workers",
    "jobs",
    "looks",
    "marks",
    "mentions_read",
    "metadata",
    "model_readings",
    "prompts",
    "question_sets",
    "readers",
    "revisions",
    "room_leases",
    "rooms",
    "running_answers",
    "running_parts",
    "settings",
    "settings_log",
    "statistics",
    "strategies",
    "theme_audiences",
    "theme_revisions",
    "themes",
    "topic_vectors",
    "topics",
    "traces",
    "turn_classes",
    "turns",
    "versions",
    "vocabulary",
    "vocabulary_read",
    "waiting_approvals",
]

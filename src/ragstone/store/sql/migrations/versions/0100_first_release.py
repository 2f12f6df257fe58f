"""Create the schema of 0.1.0."""

import sqlalchemy as sa
from alembic import op

revision = "0100"
down_revision = None

TEXT = sa.Text()
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("user", TEXT, nullable=False),
        sa.Column("groups", sa.JSON(), nullable=False),
        sa.Column("collections", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("role", TEXT, nullable=False),
        sa.Column("digest", TEXT, nullable=False),
        sa.Column("old_digest", TEXT, nullable=False),
        sa.Column("old_until", sa.Double(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=True),
        sa.Column("used_at", sa.Double(), nullable=True),
        sa.Column("revoked_at", sa.Double(), nullable=True),
        sa.Column("sites", sa.JSON(none_as_null=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_api_keys"),
    )
    op.create_index("ix_api_keys_tenant", "api_keys", ["tenant"])
    op.create_table(
        "awaited_collections",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("id", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "name", name="pk_awaited_collections"),
    )
    op.create_table(
        "blocked_questions",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("user", TEXT, nullable=False),
        sa.Column("user_id", TEXT, server_default="", nullable=False),
        sa.Column("question", TEXT, nullable=False),
        sa.Column("topic_id", TEXT, nullable=False),
        sa.Column("term", TEXT, nullable=False),
        sa.Column("match", TEXT, nullable=False),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("decided_by", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_blocked_questions"),
    )
    op.create_index("ix_blocked_questions_at", "blocked_questions", ["at"])
    op.create_index("ix_blocked_questions_tenant_id", "blocked_questions", ["tenant", "id"])
    op.create_table(
        "collections",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("id", TEXT, nullable=False),
        sa.Column("name", TEXT, server_default="", nullable=False),
        sa.Column("model", TEXT, nullable=False),
        sa.Column("fingerprint", TEXT, nullable=False),
        sa.Column("dimensions", sa.Integer(), nullable=False),
        sa.Column("language", TEXT, nullable=False),
        sa.Column("build", sa.Integer(), nullable=False),
        sa.Column("late", sa.Integer(), server_default="0", nullable=False),
        sa.Column("place", TEXT, server_default="", nullable=False),
        sa.Column("shared", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "id", name="pk_collections"),
    )
    op.create_index("ix_collections_tenant_name", "collections", ["tenant", "name"], unique=True)
    op.create_table(
        "counters",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_counters"),
    )
    op.create_table(
        "done_once",
        sa.Column("key", TEXT, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_done_once"),
    )
    op.create_index("ix_done_once_at", "done_once", ["at"])
    op.create_table(
        "ended_sessions",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_ended_sessions"),
    )
    op.create_table(
        "evaluation_outcomes",
        sa.Column("run", TEXT, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("setting", sa.Integer(), nullable=False),
        sa.Column("right", sa.Integer(), nullable=True),
        sa.Column("origin", TEXT, nullable=False),
        sa.Column("outcome", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("run", "number", "setting", name="pk_evaluation_outcomes"),
    )
    op.create_table(
        "evaluation_runs",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("user", TEXT, nullable=False),
        sa.Column("collection", TEXT, nullable=False),
        sa.Column("set_id", TEXT, nullable=False),
        sa.Column("set_name", TEXT, nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("questions", sa.JSON(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("ended_at", sa.Double(), nullable=True),
        sa.Column("figures", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_evaluation_runs"),
    )
    op.create_index(
        "ix_evaluation_runs_tenant_user_started_at",
        "evaluation_runs",
        ["tenant", "user", "started_at"],
    )
    op.create_table(
        "feedback",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("user", TEXT, nullable=False),
        sa.Column("answer_id", TEXT, nullable=False),
        sa.Column("thumb", TEXT, nullable=False),
        sa.Column("comment", TEXT, nullable=False),
        sa.Column("question", TEXT, nullable=False),
        sa.Column("answer", TEXT, nullable=False),
        sa.Column("collection", TEXT, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "user", "answer_id", name="pk_feedback"),
    )
    op.create_index("ix_feedback_tenant_at", "feedback", ["tenant", "at"])
    op.create_table(
        "folder_readers",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("collection", TEXT, nullable=False),
        sa.Column("folder", TEXT, nullable=False),
        sa.Column("by_file", sa.Boolean(), nullable=False),
        sa.Column("readers", sa.JSON(), nullable=False),
        sa.Column("file", TEXT, nullable=False),
        sa.Column("applied", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint(
            "tenant", "collection", "folder", "by_file", name="pk_folder_readers"
        ),
    )
    op.create_table(
        "job_kinds",
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("kind", name="pk_job_kinds"),
    )
    op.create_table(
        "job_workers",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("host", TEXT, nullable=False),
        sa.Column("beat", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_job_workers"),
    )
    op.create_table(
        "jobs",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("progress", sa.JSON(), nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("error", TEXT, nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=False),
        sa.Column("tenant", TEXT, server_default="default", nullable=False),
        sa.Column("user", TEXT, server_default="local", nullable=False),
        sa.Column("groups", sa.JSON(), server_default="[]", nullable=False),
        sa.Column("collection", TEXT, server_default="", nullable=False),
        sa.Column("priority", sa.Integer(), server_default="0", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("deaths", sa.Integer(), server_default="0", nullable=False),
        sa.Column("worker", TEXT, server_default="", nullable=False),
        sa.Column("due_at", sa.Double(), server_default="0", nullable=False),
        sa.Column("code", TEXT, server_default="", nullable=False),
        sa.Column("result", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("expires_at", sa.Double(), nullable=True),
        sa.Column("part_of", TEXT, server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
    )
    op.create_index("ix_jobs_expires_at", "jobs", ["expires_at"])
    op.create_index(
        "ix_jobs_kind_state_priority_created_at",
        "jobs",
        ["kind", "state", "priority", "created_at"],
    )
    op.create_index("ix_jobs_kind_state_tenant", "jobs", ["kind", "state", "tenant"])
    op.create_index("ix_jobs_part_of", "jobs", ["part_of"])
    op.create_index("ix_jobs_state", "jobs", ["state"])
    op.create_index("ix_jobs_tenant_created_at", "jobs", ["tenant", "created_at"])
    op.create_table(
        "marks",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("mark", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_marks"),
    )
    op.create_table(
        "prompts",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("text", TEXT, nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=False),
        sa.Column("who", TEXT, server_default="", nullable=False),
        sa.PrimaryKeyConstraint("tenant", "name", "version", name="pk_prompts"),
    )
    op.create_table(
        "question_sets",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("user", TEXT, nullable=False),
        sa.Column("collection", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("changed_at", sa.Double(), nullable=False),
        sa.Column("questions", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_question_sets"),
    )
    op.create_index("ix_question_sets_tenant_user", "question_sets", ["tenant", "user"])
    op.create_table(
        "room_leases",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("user", TEXT, nullable=False),
        sa.Column("user_id", TEXT, nullable=False),
        sa.Column("room", TEXT, nullable=False),
        sa.Column("holder", TEXT, nullable=False),
        sa.Column("beat", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "user", "user_id", "room", name="pk_room_leases"),
    )
    op.create_table(
        "rooms",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("user", TEXT, nullable=False),
        sa.Column("user_id", TEXT, nullable=False),
        sa.Column("room", TEXT, nullable=False),
        sa.Column("title", TEXT, nullable=False),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("errors", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "user", "user_id", "room", name="pk_rooms"),
    )
    op.create_index("ix_rooms_tenant_user_updated_at", "rooms", ["tenant", "user", "updated_at"])
    op.create_table(
        "running_answers",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("question", TEXT, nullable=False),
        sa.Column("looks", sa.Integer(), nullable=False),
        sa.Column("beat", sa.Integer(), nullable=False),
        sa.Column("stopped", sa.Boolean(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_running_answers"),
    )
    op.create_table(
        "settings",
        sa.Column("scope", TEXT, nullable=False),
        sa.Column("key", TEXT, nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("scope", "key", name="pk_settings"),
    )
    op.create_table(
        "settings_log",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("who", TEXT, nullable=False),
        sa.Column("scope", TEXT, nullable=False),
        sa.Column("key", TEXT, nullable=False),
        sa.Column("action", TEXT, nullable=False),
        sa.Column("old", sa.JSON(), nullable=True),
        sa.Column("new", sa.JSON(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_settings_log"),
    )
    op.create_index("ix_settings_log_key", "settings_log", ["key"])
    op.create_table(
        "statistics",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("user", TEXT, nullable=False),
        sa.Column("user_id", TEXT, server_default="", nullable=False),
        sa.Column("room", TEXT, nullable=False),
        sa.Column("search_type", TEXT, server_default="rag", nullable=False),
        sa.Column("model", TEXT, nullable=False),
        sa.Column("questions", sa.BigInteger(), nullable=False),
        sa.Column("refused", sa.BigInteger(), nullable=False),
        sa.Column("blocked", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger(), nullable=False),
        sa.Column("completion_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint(
            "day", "tenant", "user", "user_id", "room", "search_type", "model", name="pk_statistics"
        ),
    )
    op.create_table(
        "store_files",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("collection", TEXT, nullable=False),
        sa.Column("file", TEXT, nullable=False),
        sa.Column("path", TEXT, nullable=False),
        sa.Column("user", TEXT, nullable=False),
        sa.Column("job", TEXT, nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "collection", "file", name="pk_store_files"),
    )
    op.create_index("ix_store_files_job", "store_files", ["job"])
    op.create_index("ix_store_files_tenant_file", "store_files", ["tenant", "file"])
    op.create_table(
        "strategies",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("strategy", TEXT, nullable=False),
        sa.Column("executions", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("rated", sa.BigInteger(), nullable=False),
        sa.Column("confidence", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("day", "tenant", "strategy", name="pk_strategies"),
    )
    op.create_table(
        "topics",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("term", TEXT, nullable=False),
        sa.Column("synonyms", sa.JSON(), nullable=False),
        sa.Column("examples", sa.JSON(), nullable=False),
        sa.Column("language", TEXT, nullable=False),
        sa.Column("note", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_topics"),
    )
    op.create_index("ix_topics_tenant", "topics", ["tenant"])
    op.create_table(
        "traces",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("user", TEXT, nullable=False),
        sa.Column("request", TEXT, nullable=False),
        sa.Column("trace", TEXT, nullable=False),
        sa.Column("user_id", TEXT, nullable=False),
        sa.Column("room", TEXT, nullable=False),
        sa.Column("collection", TEXT, nullable=False),
        sa.Column("level", TEXT, nullable=False),
        sa.Column("strategy", TEXT, nullable=False),
        sa.Column("intent", TEXT, nullable=False),
        sa.Column("question", TEXT, nullable=False),
        sa.Column("model", TEXT, nullable=False),
        sa.Column("finish", TEXT, nullable=False),
        sa.Column("error", TEXT, nullable=False),
        sa.Column("cached", TEXT, nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger(), nullable=False),
        sa.Column("completion_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost", sa.Double(), nullable=True),
        sa.Column("confidence", sa.Double(), nullable=True),
        sa.Column("stages", sa.JSON(), nullable=False),
        sa.Column("origin", TEXT, server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_traces"),
    )
    op.create_index("ix_traces_at", "traces", ["at"])
    op.create_index("ix_traces_tenant_at", "traces", ["tenant", "at"])
    op.create_index("ix_traces_tenant_origin", "traces", ["tenant", "origin"])
    op.create_table(
        "unused_indexes",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("id", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("model", TEXT, nullable=False),
        sa.Column("fingerprint", TEXT, nullable=False),
        sa.Column("dimensions", sa.Integer(), nullable=False),
        sa.Column("language", TEXT, nullable=False),
        sa.Column("build", sa.Integer(), nullable=False),
        sa.Column("late", sa.Integer(), nullable=False),
        sa.Column("place", TEXT, nullable=False),
        sa.Column("shared", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "id", "build", name="pk_unused_indexes"),
    )
    op.create_table(
        "vector_stores",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("collection", TEXT, nullable=False),
        sa.Column("title", TEXT, nullable=False),
        sa.Column("description", TEXT, nullable=False),
        sa.Column("metadata", sa.JSON(), nullable=False),
        sa.Column("days", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("active_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "collection", name="pk_vector_stores"),
    )
    op.create_table(
        "versions",
        sa.Column("document_id", TEXT, nullable=False),
        sa.Column("last", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("document_id", name="pk_versions"),
    )
    op.create_table(
        "waiting_approvals",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("approved", sa.Boolean(), nullable=True),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_waiting_approvals"),
    )
    op.create_table(
        "documents",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("collection", TEXT, nullable=False),
        sa.Column("path", TEXT, nullable=False),
        sa.Column("title", TEXT, nullable=False),
        sa.Column("media_type", TEXT, nullable=False),
        sa.Column("content_hash", TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("allowed", sa.JSON(), nullable=False),
        sa.Column("metadata", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("error", TEXT, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("modified", sa.Double(), nullable=False),
        sa.Column("chunks", sa.Integer(), nullable=False),
        sa.Column("pages", sa.Integer(), nullable=False),
        sa.Column("own_readers", sa.JSON(), server_default="[]", nullable=False),
        sa.Column("readers_fixed", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant", "collection"],
            ["collections.tenant", "collections.id"],
            name="fk_documents_collections",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_documents"),
    )
    if op.get_bind().dialect.name == "sqlite":  # PostgreSQL has no order of JSON.
        op.create_index(
            "ix_documents_counts",
            "documents",
            ["tenant", "collection", "status", "version", "allowed", "chunks"],
        )
    op.create_index(
        "ix_documents_tenant_collection_content_hash",
        "documents",
        ["tenant", "collection", "content_hash"],
    )
    op.create_index(
        "ix_documents_tenant_collection_path", "documents", ["tenant", "collection", "path"]
    )
    op.create_table(
        "editions",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("collection", TEXT, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant", "collection"],
            ["collections.tenant", "collections.id"],
            name="fk_editions_collections",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant", "collection", name="pk_editions"),
    )
    op.create_table(
        "readers",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("collection", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant", "collection"],
            ["collections.tenant", "collections.id"],
            name="fk_readers_collections",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant", "collection", "name", name="pk_readers"),
    )
    op.create_table(
        "revisions",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("document_id", TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("collection", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant", "collection"],
            ["collections.tenant", "collections.id"],
            name="fk_revisions_collections",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("name", name="pk_revisions"),
    )
    op.create_index("ix_revisions_document_id", "revisions", ["document_id"])
    op.create_index(
        "ix_revisions_hidden",
        "revisions",
        ["tenant", "collection"],
        unique=False,
        postgresql_where=sa.text("state <> 'live'"),
        sqlite_where=sa.text("state <> 'live'"),
    )
    op.create_index("ix_revisions_state", "revisions", ["state"])
    op.create_index("ix_revisions_tenant_collection", "revisions", ["tenant", "collection"])
    op.create_table(
        "running_parts",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("until", sa.Integer(), nullable=False),
        sa.Column("told", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["name"],
            ["running_answers.name"],
            name="fk_running_parts_running_answers",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("name", "first", name="pk_running_parts"),
    )
    op.create_table(
        "theme_audiences",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("collection", TEXT, nullable=False),
        sa.Column("audience", TEXT, nullable=False),
        sa.Column("made_of", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant", "collection"],
            ["collections.tenant", "collections.id"],
            name="fk_theme_audiences_collections",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant", "collection", "audience", name="pk_theme_audiences"),
    )
    op.create_table(
        "topic_vectors",
        sa.Column("topic_id", TEXT, nullable=False),
        sa.Column("fingerprint", TEXT, nullable=False),
        sa.Column("vectors", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["topic_id"], ["topics.id"], name="fk_topic_vectors_topics", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("topic_id", "fingerprint", name="pk_topic_vectors"),
    )
    op.create_table(
        "turns",
        sa.Column("id", BIG, autoincrement=True, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("user", TEXT, nullable=False),
        sa.Column("user_id", TEXT, nullable=False),
        sa.Column("room", TEXT, nullable=False),
        sa.Column("chat_id", TEXT, nullable=False),
        sa.Column("search_type", TEXT, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("is_tool_block", sa.Boolean(), nullable=False),
        sa.Column("is_error", sa.Boolean(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("conversations", TEXT, nullable=False),
        sa.Column("block_classes", TEXT, nullable=False),
        sa.Column("result", TEXT, nullable=False),
        sa.Column("notes", TEXT, nullable=False),
        sa.Column("origin", TEXT, server_default="", nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant", "user", "user_id", "room"],
            ["rooms.tenant", "rooms.user", "rooms.user_id", "rooms.room"],
            name="fk_turns_rooms",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_turns"),
    )
    op.create_index(
        "ix_turns_tenant_user_user_id_room_id", "turns", ["tenant", "user", "user_id", "room", "id"]
    )
    op.create_index(
        "ix_turns_tenant_user_user_id_room_origin",
        "turns",
        ["tenant", "user", "user_id", "room", "origin"],
    )
    op.create_index(
        "ix_turns_tenant_user_user_id_room_status",
        "turns",
        ["tenant", "user", "user_id", "room", "status"],
    )
    op.create_table(
        "vocabulary",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("collection", TEXT, nullable=False),
        sa.Column("word", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant", "collection"],
            ["collections.tenant", "collections.id"],
            name="fk_vocabulary_collections",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant", "collection", "word", name="pk_vocabulary"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "vocabulary_read",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("collection", TEXT, nullable=False),
        sa.Column("revision", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant", "collection"],
            ["collections.tenant", "collections.id"],
            name="fk_vocabulary_read_collections",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant", "collection", "revision", name="pk_vocabulary_read"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "looks",
        sa.Column("document_id", TEXT, nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("modified", sa.Double(), nullable=False),
        sa.Column("said", TEXT, nullable=False),
        sa.Column("included", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name="fk_looks_documents", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("document_id", name="pk_looks"),
    )
    op.create_table(
        "mentions_read",
        sa.Column("number", BIG, autoincrement=True, nullable=False),
        sa.Column("revision", TEXT, nullable=False),
        sa.Column("reading", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["revision"], ["revisions.name"], name="fk_mentions_read_revisions", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("number", name="pk_mentions_read"),
    )
    op.create_index("ix_mentions_read_revision", "mentions_read", ["revision"], unique=True)
    op.create_table(
        "model_readings",
        sa.Column("revision", TEXT, nullable=False),
        sa.Column("recipe", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["revision"], ["revisions.name"], name="fk_model_readings_revisions", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("revision", name="pk_model_readings"),
    )
    op.create_table(
        "themes",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("collection", TEXT, nullable=False),
        sa.Column("audience", TEXT, nullable=False),
        sa.Column("title", TEXT, nullable=False),
        sa.Column("entities", sa.JSON(), nullable=False),
        sa.Column("passages", sa.JSON(), nullable=False),
        sa.Column("revisions", sa.Integer(), nullable=False),
        sa.Column("summary", TEXT, nullable=False),
        sa.Column("by", TEXT, nullable=False),
        sa.Column("key", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant", "collection", "audience"],
            ["theme_audiences.tenant", "theme_audiences.collection", "theme_audiences.audience"],
            name="fk_themes_theme_audiences",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_themes"),
    )
    op.create_index(
        "ix_themes_tenant_collection_audience", "themes", ["tenant", "collection", "audience"]
    )
    op.create_table(
        "turn_classes",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("user", TEXT, nullable=False),
        sa.Column("user_id", TEXT, nullable=False),
        sa.Column("room", TEXT, nullable=False),
        sa.Column("value", TEXT, nullable=False),
        sa.Column("turn_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["turn_id"], ["turns.id"], name="fk_turn_classes_turns", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint(
            "tenant", "user", "user_id", "room", "value", "turn_id", name="pk_turn_classes"
        ),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_turn_classes_turn_id", "turn_classes", ["turn_id"])
    op.create_table(
        "chunk_readings",
        sa.Column("revision", TEXT, nullable=False),
        sa.Column("chunk", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", TEXT, nullable=False),
        sa.Column("said", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["revision"],
            ["model_readings.revision"],
            name="fk_chunk_readings_model_readings",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("revision", "chunk", name="pk_chunk_readings"),
    )
    op.create_index("ix_chunk_readings_key", "chunk_readings", ["key"])
    op.create_table(
        "entity_mentions",
        sa.Column("source", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("chunk", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("entity", TEXT, nullable=False),
        sa.Column("collection", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("same", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["source"],
            ["mentions_read.number"],
            name="fk_entity_mentions_mentions_read",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("source", "chunk", "entity", name="pk_entity_mentions"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_entity_mentions_collection_entity", "entity_mentions", ["collection", "entity"]
    )
    op.create_table(
        "entity_relations",
        sa.Column("source", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("chunk", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("entity", TEXT, nullable=False),
        sa.Column("other", TEXT, nullable=False),
        sa.Column("said", TEXT, nullable=False),
        sa.Column("collection", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["source"],
            ["mentions_read.number"],
            name="fk_entity_relations_mentions_read",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "source", "chunk", "entity", "other", "said", name="pk_entity_relations"
        ),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_entity_relations_collection_entity", "entity_relations", ["collection", "entity"]
    )
    op.create_index(
        "ix_entity_relations_collection_other", "entity_relations", ["collection", "other"]
    )
    op.create_table(
        "theme_revisions",
        sa.Column("theme", TEXT, nullable=False),
        sa.Column("revision", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["theme"], ["themes.id"], name="fk_theme_revisions_themes", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["revision"],
            ["revisions.name"],
            name="fk_theme_revisions_revisions",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("theme", "revision", name="pk_theme_revisions"),
    )
    op.create_index("ix_theme_revisions_revision", "theme_revisions", ["revision"])

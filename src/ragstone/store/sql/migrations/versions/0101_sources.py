"""Add sources that are kept in sync, people with accounts, verified answers, quotas, shared
conversations and notes."""

import sqlalchemy as sa
from alembic import op

revision = "0101"
down_revision = "0100"

TEXT = sa.Text()


def upgrade() -> None:
    op.create_table(
        "sources",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("collection", TEXT, nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("readers", sa.JSON(), nullable=False),
        sa.Column("every", sa.Double(), nullable=True),
        sa.Column("cron", TEXT, nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("next_at", sa.Double(), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("checkpoint", TEXT, nullable=False),
        sa.Column("folder", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sources"),
    )
    op.create_index("ix_sources_tenant_name", "sources", ["tenant", "name"], unique=True)
    op.create_index("ix_sources_next_at", "sources", ["next_at"])
    op.create_table(
        "source_items",
        sa.Column("source", TEXT, nullable=False),
        sa.Column("key", TEXT, nullable=False),
        sa.Column("version", TEXT, nullable=False),
        sa.Column("path", TEXT, nullable=False),
        sa.Column("error", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["source"], ["sources.id"], name="fk_source_items_sources", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("source", "key", name="pk_source_items"),
    )
    op.create_index("ix_source_items_source_path", "source_items", ["source", "path"])
    op.create_table(
        "source_runs",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("ended_at", sa.Double(), nullable=True),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("dry", sa.Boolean(), nullable=False),
        sa.Column("added", sa.Integer(), nullable=False),
        sa.Column("changed", sa.Integer(), nullable=False),
        sa.Column("rights", sa.Integer(), nullable=False),
        sa.Column("removed", sa.Integer(), nullable=False),
        sa.Column("held", sa.Integer(), nullable=False),
        sa.Column("unchanged", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("error", TEXT, nullable=False),
        sa.Column("failures", sa.JSON(), nullable=False),
        sa.Column("notes", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["source"], ["sources.id"], name="fk_source_runs_sources", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_source_runs"),
    )
    op.create_index("ix_source_runs_source_started_at", "source_runs", ["source", "started_at"])
    op.create_table(
        "people",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("user", TEXT, nullable=False),
        sa.Column("display", TEXT, nullable=False),
        sa.Column("groups", sa.JSON(), nullable=False),
        sa.Column("collections", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("role", TEXT, nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("password", TEXT, nullable=False),
        sa.Column("totp", TEXT, nullable=False),
        sa.Column("totp_step", sa.BigInteger(), nullable=False),
        sa.Column("recovery", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "user", name="pk_people"),
    )
    op.create_table(
        "person_tokens",
        sa.Column("digest", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("user", TEXT, nullable=False),
        sa.Column("begun_at", sa.Double(), nullable=False),
        sa.Column("ends_at", sa.Double(), nullable=False),
        sa.Column("used_at", sa.Double(), nullable=False),
        sa.Column("agent", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant", "user"],
            ["people.tenant", "people.user"],
            name="fk_person_tokens_people",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("digest", name="pk_person_tokens"),
    )
    op.create_index("ix_person_tokens_tenant_user", "person_tokens", ["tenant", "user"])
    op.create_table(
        "sign_in_tries",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_sign_in_tries"),
    )
    op.create_index("ix_sign_in_tries_at", "sign_in_tries", ["at"])
    op.create_table(
        "verified_answers",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("collection", TEXT, nullable=False),
        sa.Column("text", TEXT, nullable=False),
        sa.Column("wordings", sa.JSON(), nullable=False),
        sa.Column("sources", sa.JSON(), nullable=False),
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("readers", sa.JSON(), nullable=False),
        sa.Column("changed_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_verified_answers"),
    )
    op.create_index(
        "ix_verified_answers_tenant_collection", "verified_answers", ["tenant", "collection"]
    )
    op.create_table(
        "quotas",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("user", TEXT, nullable=False),
        sa.Column("group", TEXT, nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=True),
        sa.Column("cost", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("tenant", "user", "group", name="pk_quotas"),
    )
    op.create_table(
        "quota_use",
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("month", TEXT, nullable=False),
        sa.Column("user", TEXT, nullable=False),
        sa.Column("group", TEXT, nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "month", "user", "group", name="pk_quota_use"),
    )
    op.create_table(
        "shared_conversations",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("user", TEXT, nullable=False),
        sa.Column("user_id", TEXT, nullable=False),
        sa.Column("room", TEXT, nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_shared_conversations"),
    )
    op.create_index(
        "ix_shared_conversations_tenant_user", "shared_conversations", ["tenant", "user"]
    )
    op.create_table(
        "notes",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("user", TEXT, nullable=False),
        sa.Column("comment", TEXT, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("turn", TEXT, nullable=False),
        sa.Column("origin", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_notes"),
    )
    op.create_index("ix_notes_tenant_user_at", "notes", ["tenant", "user", "at"])

"""What a chat model said that chunks name, how entities relate, and themes."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def _goes_with(table: str, columns: list[str], other: str, others: list[str]) -> sa.Constraint:
    return sa.ForeignKeyConstraint(
        columns,
        [f"{other}.{name}" for name in others],
        name=op.f(f"fk_{table}_{other}"),
        ondelete="CASCADE",
    )


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text(), nullable=False)


def upgrade() -> None:
    op.create_table(
        "entity_relations",
        sa.Column("source", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("chunk", sa.Integer(), autoincrement=False, nullable=False),
        *(_text(name) for name in ("entity", "other", "said", "collection")),
        _goes_with("entity_relations", ["source"], "mentions_read", ["number"]),
        sa.PrimaryKeyConstraint(
            "source", "chunk", "entity", "other", "said", name=op.f("pk_entity_relations")
        ),
        sqlite_with_rowid=False,
    )
    for end in ("entity", "other"):
        name = op.f(f"ix_entity_relations_collection_{end}")
        op.create_index(name, "entity_relations", ["collection", end])
    op.create_table(
        "model_readings",
        *(_text(name) for name in ("revision", "recipe")),
        _goes_with("model_readings", ["revision"], "revisions", ["name"]),
        sa.PrimaryKeyConstraint("revision", name=op.f("pk_model_readings")),
    )
    op.create_table(
        "chunk_readings",
        _text("revision"),
        sa.Column("chunk", sa.Integer(), autoincrement=False, nullable=False),
        _text("key"),
        sa.Column("said", sa.JSON(), nullable=False),
        _goes_with("chunk_readings", ["revision"], "model_readings", ["revision"]),
        sa.PrimaryKeyConstraint("revision", "chunk", name=op.f("pk_chunk_readings")),
    )
    op.create_index(op.f("ix_chunk_readings_key"), "chunk_readings", ["key"])
    place = ["tenant", "collection"]
    op.create_table(
        "theme_audiences",
        *(_text(name) for name in (*place, "audience", "made_of")),
        _goes_with("theme_audiences", place, "collections", ["tenant", "id"]),
        sa.PrimaryKeyConstraint(*place, "audience", name=op.f("pk_theme_audiences")),
    )
    place.append("audience")
    op.create_table(
        "themes",
        *(_text(name) for name in ("id", *place, "title")),
        sa.Column("entities", sa.JSON(), nullable=False),
        sa.Column("passages", sa.JSON(), nullable=False),
        sa.Column("revisions", sa.Integer(), nullable=False),
        *(_text(name) for name in ("summary", "by", "key")),
        _goes_with("themes", place, "theme_audiences", place),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_themes")),
    )
    op.create_index(op.f("ix_themes_tenant_collection_audience"), "themes", place)
    op.create_table(
        "theme_revisions",
        *(_text(name) for name in ("theme", "revision")),
        _goes_with("theme_revisions", ["theme"], "themes", ["id"]),
        _goes_with("theme_revisions", ["revision"], "revisions", ["name"]),
        sa.PrimaryKeyConstraint("theme", "revision", name=op.f("pk_theme_revisions")),
    )
    op.create_index(op.f("ix_theme_revisions_revision"), "theme_revisions", ["revision"])

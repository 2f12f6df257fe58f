"""Conversations as blocks: rooms with titles, turns with their classes, leases; whose statistics.

What earlier versions kept in `conversations` and `blocks` moves over.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_ROOM = ("tenant", "user", "user_id", "room")
_A_ROOM = ["rooms.tenant", "rooms.user", "rooms.user_id", "rooms.room"]


def upgrade() -> None:
    _rooms()
    _turns()
    _move()
    op.drop_table("blocks")
    op.drop_table("conversations")
    _whose_statistics()
    op.add_column(
        "blocked_questions", sa.Column("user_id", sa.Text(), nullable=False, server_default="")
    )


def _rooms() -> None:
    op.create_table(
        "rooms",
        *_texts(_ROOM),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("errors", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint(*_ROOM, name=op.f("pk_rooms")),
    )
    op.create_index(
        op.f("ix_rooms_tenant_user_updated_at"), "rooms", ["tenant", "user", "updated_at"]
    )
    op.create_table(
        "room_leases",
        *_texts(_ROOM),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("beat", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(*_ROOM, name=op.f("pk_room_leases")),
    )


def _turns() -> None:
    op.create_table(
        "turns",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        *_texts((*_ROOM, "chat_id", "search_type", "status")),
        sa.Column("is_tool_block", sa.Boolean(), nullable=False),
        sa.Column("is_error", sa.Boolean(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        *_texts(("conversations", "block_classes", "result", "notes")),
        sa.ForeignKeyConstraint(_ROOM, _A_ROOM, name=op.f("fk_turns_rooms"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_turns")),
    )
    for last in ("id", "status"):
        name = op.f(f"ix_turns_tenant_user_user_id_room_{last}")
        op.create_index(name, "turns", [*_ROOM, last])
    op.create_table(
        "turn_classes",
        *_texts((*_ROOM, "value")),
        sa.Column("turn_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["turn_id"], ["turns.id"], name=op.f("fk_turn_classes_turns"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint(*_ROOM, "value", "turn_id", name=op.f("pk_turn_classes")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_turn_classes_turn_id"), "turn_classes", ["turn_id"])


def _texts(names: tuple[str, ...]) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), nullable=False) for name in names]


def _move() -> None:
    """Every conversation of an earlier version, turn by turn."""
    connection, tables = op.get_bind(), sa.MetaData()
    old_rooms, old, rooms, turns = (
        sa.Table(name, tables, autoload_with=connection)
        for name in ("conversations", "blocks", "rooms", "turns")
    )
    for room in connection.execute(sa.select(old_rooms)).mappings().all():
        whose = {name: room[name] for name in ("tenant", "user", "room")}
        same = [old.c[name] == value for name, value in whose.items()]
        blocks = connection.execute(sa.select(old).where(*same).order_by(old.c.id)).mappings()
        rows = [_turn(dict(block)) for block in blocks]
        connection.execute(rooms.insert().values(**_room(dict(room), rows), **whose))
        if rows:
            connection.execute(turns.insert(), [{**row, **whose} for row in rows])


def _room(room: Mapping[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    first = json.loads(rows[0]["conversations"])[0]["content"] if rows else ""
    return {
        "user_id": "",
        "title": " ".join(first.split())[:80],
        "turns": len(rows),
        "errors": sum(row["is_error"] for row in rows),
        "created_at": room["created_at"],
        "updated_at": room["updated_at"],
    }


def _turn(block: Mapping[str, Any]) -> dict[str, Any]:
    failed = block["finish"] == "error"
    at = datetime.fromtimestamp(block["created_at"], UTC).isoformat(timespec="milliseconds")
    said = [("user", block["question"]), ("assistant", block["answer"])]
    tokens = [int(block["usage"][name]) for name in ("prompt_tokens", "completion_tokens")]
    result = {
        "type": "error" if failed else "done",
        "final_response": block["answer"],
        "references": block["citations"],
        "usage": {
            "prompt_tokens": tokens[0],
            "completion_tokens": tokens[1],
            "total_tokens": sum(tokens),
        },
        "search_decision": {"rewritten_query": []},
    }
    answer = {name: block[name] for name in ("citations", "finish", "model", "confidence")}
    notes = {name: block[name] for name in ("collection", "level", "verdicts", "usage", "trace")}
    return {
        "user_id": "",
        "chat_id": block["ask_id"],
        "search_type": "rag",
        "status": "error" if failed else "idle" if block["finish"] == "cancelled" else "done",
        "is_tool_block": False,
        "is_error": failed,
        "tokens": sum(tokens),
        "at": block["created_at"],
        "conversations": json.dumps(
            [{"role": role, "content": text, "created_at": at} for role, text in said if text]
        ),
        "block_classes": "[]",
        "result": json.dumps(result),
        "notes": json.dumps({**notes, "answer": {**answer, "text": block["answer"]}}),
    }


def _whose_statistics() -> None:
    keys = ("day", "tenant", "user", "user_id", "room", "search_type", "model")
    with op.batch_alter_table("statistics") as table:
        table.drop_constraint("pk_statistics", type_="primary")
        table.add_column(sa.Column("user_id", sa.Text(), nullable=False, server_default=""))
        table.add_column(sa.Column("search_type", sa.Text(), nullable=False, server_default="rag"))
        table.create_primary_key("pk_statistics", list(keys))

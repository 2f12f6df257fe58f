"""A turn of a conversation as columns or fields, and back."""

import json
import logging
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from ragstone.core.conversation import (
    VERSION,
    ConversationTurn,
    Notes,
    StoredTurn,
    dump_turn,
    load_turn,
)
from ragstone.core.errors import InvalidBlock
from ragstone.core.readers import Provenance
from ragstone.core.turn import Message
from ragstone.language.unicode import replace_unstorable

log = logging.getLogger(__name__)


def dump_notes(notes: Notes) -> dict[str, Any]:
    """Return the notes of a turn (all but its block) as JSON values."""
    return cast(dict[str, Any], _notes().dump_python(notes, mode="json", warnings=False))


def load_notes(data: object, turn: object) -> Notes:
    """Return the inverse; raises InvalidBlock, which names the `turn`."""
    try:
        return _notes().validate_python(data)
    except ValidationError as error:
        raise unreadable(turn) from error


def to_row(entry: StoredTurn) -> dict[str, Any]:
    """Return the columns of `turns` besides the place."""
    block = dump_turn(entry.block)
    return {
        "chat_id": replace_unstorable(entry.block.chat_id),
        **{name: block[name] for name in ("search_type", "status")},
        **{name: block[name] for name in ("is_tool_block", "is_error")},
        "tokens": entry.block.result.usage.total_tokens,
        "at": entry.at,
        **{name: text(block[name]) for name in ("conversations", "block_classes", "result")},
        "notes": text(dump_notes(entry.notes)),
        "origin": origin_text(entry),
    }


def to_entry(row: Mapping[str, Any]) -> StoredTurn:
    """Return the inverse; raises InvalidBlock for a row whose JSON is damaged."""
    turn = row["id"]
    try:
        parts = {
            name: json.loads(row[name])
            for name in ("conversations", "block_classes", "result", "notes")
        }
    except ValueError as error:
        raise unreadable(turn) from error
    notes = load_notes(parts.pop("notes"), turn)
    same = ("user_id", "chat_id", "search_type", "status", "is_tool_block", "is_error")
    block = {**parts, **{name: row[name] for name in same}, "room_id": row["room"]}
    read = readable({"version": VERSION, **block}, turn)
    return StoredTurn(read, notes, row["at"], Provenance.read(row["origin"]))


def origin_text(entry: StoredTurn) -> str:
    """Return the origin of a turn as it is kept, empty where it is not known."""
    return entry.origin.text if entry.origin else ""


def readable(data: object, turn: object) -> ConversationTurn:
    """Return a stored block; raises InvalidBlock, which names the `turn`."""
    try:
        return load_turn(data)
    except InvalidBlock as error:
        raise unreadable(turn) from error


def unreadable(turn: object) -> InvalidBlock:
    return InvalidBlock(
        f"The stored turn {turn} of this conversation is damaged and was left as it is. "
        "Restore it from a backup, or delete the conversation."
    )


def messages(stored: Sequence[tuple[object, object]]) -> list[Message]:
    """Return the messages of turns, given as id and messages; damaged turns are left out."""
    said: list[Message] = []
    for turn, given in stored:
        try:
            found = json.loads(given) if isinstance(given, str) else given
            said += [
                Message(item["role"], item.get("content") or "")
                for item in cast(list[Any], found)
                if item["role"] in ("user", "assistant", "system") and not item.get("tool_calls")
            ]
        except (ValueError, TypeError, KeyError, AttributeError):
            log.warning("The stored turn %s is damaged; the conversation goes on without it.", turn)
    return said


def text(value: Any) -> str:
    """Write JSON in pure ASCII: texts may hold half characters."""
    return json.dumps(value, separators=(",", ":"))


@cache
def _notes() -> TypeAdapter[Notes]:
    return TypeAdapter(Notes)

"""Conversations from a file: blocks of another system, or what Ragstone itself exported."""

import json
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ragstone.core.clock import state_time
from ragstone.core.conversation import (
    ConversationTurn,
    Notes,
    StoredTurn,
    load_turn,
    room_name,
    seconds,
    user_name,
)
from ragstone.core.errors import InvalidBlock, InvalidRoom

_NOTES = TypeAdapter(Notes)


def read_entries(text: str) -> list[StoredTurn]:
    """The turns of a JSON list of blocks, of an export, or of one block, in their order.

    Raises InvalidBlock, which says which one is wrong and why, unless all of them are right.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidBlock("The file is not valid JSON, so it holds no conversation.") from error
    if isinstance(data, dict):
        data = data.get("blocks", [data])
    if not isinstance(data, list) or not data:
        raise InvalidBlock("The file holds no conversation blocks.")
    return [_load_entry(item, number) for number, item in enumerate(data, 1)]


def _load_entry(data: Any, number: int) -> StoredTurn:
    exported = data if isinstance(data, dict) and "block" in data else {"block": data}
    try:
        block = load_turn(exported["block"])
        room_name(block.room_id)
        user_name(block.user_id)
        notes = _NOTES.validate_python(exported.get("notes", {}))
        return StoredTurn(block, notes, _end_time(block, exported.get("at")))
    except (InvalidBlock, InvalidRoom) as error:
        raise InvalidBlock(f"Block {number}: {error.message}") from error
    except (ValidationError, ValueError, TypeError, OverflowError) as error:
        raise InvalidBlock(f"Block {number}: its notes or its time cannot be read.") from error


def _end_time(block: ConversationTurn, at: Any) -> float:
    """When the turn ended: as the export says, else by its last message, else now."""
    times = [message.created_at for message in block.conversations if message.created_at]
    last = at or (times[-1] if times else "")
    return seconds(last) if last else state_time()

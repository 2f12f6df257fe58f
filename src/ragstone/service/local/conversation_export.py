"""A conversation as a file: JSON with everything, or Markdown to be read."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from pydantic import TypeAdapter

from ragstone.core.answer import Citation
from ragstone.core.conversation import Notes, Room, StoredTurn, iso
from ragstone.core.conversation_turn import dump_turn

_NOTES = TypeAdapter(Notes)


def as_json(room: Room, entries: Sequence[StoredTurn]) -> str:
    """The room, and for each turn its block and the notes beside it, oldest first."""
    about = asdict(room)
    about |= {name: iso(about[name]) for name in ("created_at", "updated_at")}
    turns = [
        {
            "at": iso(entry.at),
            "block": dump_turn(entry.block),
            "notes": _NOTES.dump_python(entry.notes, mode="json", warnings=False),
        }
        for entry in entries
    ]
    return json.dumps({**about, "blocks": turns}, indent=1) + "\n"


def as_markdown(room: Room, entries: Sequence[StoredTurn]) -> str:
    """Questions and answers with their sources, oldest first."""
    about = f"Room `{room.room}`, {room.turns} turns, {iso(room.created_at)[:10]}"
    parts = [f"# {_line(room.title) or 'Conversation'}", about]
    parts += [part for entry in entries for part in _turn(entry)]
    return "\n\n".join(parts) + "\n"


def _turn(entry: StoredTurn) -> list[str]:
    answer = entry.notes.answer
    said = entry.block.result.final_response
    parts = [f"## {_line(entry.question)}", f"*{iso(entry.at)}*"]
    if said:
        parts.append(said)
    if entry.block.is_error:
        parts.append("*The answer failed.*")
    elif entry.block.status == "idle":
        parts.append("*The answer was cut off.*")
    numbered = {citation.number: citation for citation in reversed(answer.citations)}
    if numbered:
        sources = [_source(citation) for _, citation in sorted(numbered.items())]
        parts += ["Sources:", "\n".join(sources)]
    return parts


def _source(citation: Citation) -> str:
    page = f", page {citation.page}" if citation.page else ""
    section = f", {' > '.join(citation.section)}" if citation.section else ""
    place = f"[{citation.number}] {citation.title or citation.path} ({citation.path}{page}"
    span = f", characters {citation.start}–{citation.end})"
    return f"- {_line(place + section + span)}: “{_line(citation.snippet)}”"


def _line(text: str) -> str:
    return " ".join(text.split())

"""A conversation as a file: JSON with everything, or Markdown and Word to be read."""

import base64
import json
from collections.abc import Sequence

from ragstone.answer.stream import plain
from ragstone.core.conversation import Room, StoredTurn, iso
from ragstone.core.source import Source, citation_sources
from ragstone.local.conversation_docx import write_docx
from ragstone.service import wire
from ragstone.service.conversations import Format


def write_conversation(room: Room, entries: Sequence[StoredTurn], form: Format) -> str:
    """The conversation in this form, oldest turn first."""
    if form == "json":
        return _as_json(room, entries)
    markdown = _as_markdown(room, entries)
    return base64.b64encode(write_docx(markdown)).decode() if form == "docx" else markdown


def _as_json(room: Room, entries: Sequence[StoredTurn]) -> str:
    """The room, and for each turn its block and the notes beside it, oldest first."""
    turns = [wire.entry(entry) for entry in entries]
    return json.dumps({**wire.room(room), "blocks": turns}, indent=1) + "\n"


def _as_markdown(room: Room, entries: Sequence[StoredTurn]) -> str:
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
    sources = citation_sources(answer.citations)
    if sources:
        parts += ["Sources:", "\n".join(_source(source) for source in sources)]
    return parts


def _source(source: Source) -> str:
    page = f", page {source.page}" if source.page else ""
    section = f", {' > '.join(source.section)}" if source.section else ""
    place = f"{source.title or source.path} ({source.path}{page}"
    span = f", characters {source.start}–{source.end})"
    return f"- [{source.number}] {_line(place + section + span)}: “{_line(source.snippet)}”"


def _line(text: str) -> str:
    """The text in one line, and no link in it: whoever shows the file would load an image."""
    return plain(" ".join(text.split()))

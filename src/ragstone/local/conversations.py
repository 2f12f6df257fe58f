"""Conversations in this process."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ragstone.access.asking import check_everywhere, check_known, current_reader
from ragstone.answer.stream import plain
from ragstone.conversation.reach import select_readable
from ragstone.core.clock import state_time
from ragstone.core.conversation import (
    ConversationKey,
    ConversationTurn,
    Forgotten,
    Notes,
    Room,
    Rooms,
    StoredTurn,
    conversation_key,
    iso,
    load_turn,
    room_name,
    seconds,
    title,
    user_name,
)
from ragstone.core.errors import InvalidBlock, InvalidRoom, UnknownRoom
from ragstone.core.readers import Provenance, Reader
from ragstone.core.source import Source, citation_sources
from ragstone.core.turn import Principal, SearchType
from ragstone.local.conversation_docx import write_docx
from ragstone.ports import Adapters, ConversationStore, read_turns
from ragstone.service import wire
from ragstone.service.conversations import Format


def write_conversation(room: Room, entries: Sequence[StoredTurn], form: Format) -> str:
    """Return the conversation in this form, oldest turn first."""
    if form == "json":
        return _as_json(room, entries)
    markdown = _as_markdown(room, entries)
    return base64.b64encode(write_docx(markdown)).decode() if form == "docx" else markdown


def _as_json(room: Room, entries: Sequence[StoredTurn]) -> str:
    """Return the room, and for each turn its block and the notes beside it, oldest first."""
    turns = [wire.entry(entry) for entry in entries]
    return json.dumps({**wire.room(room), "blocks": turns}, indent=1) + "\n"


def _as_markdown(room: Room, entries: Sequence[StoredTurn]) -> str:
    """Return questions and answers with their sources, oldest first."""
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


_NOTES = TypeAdapter(Notes)


class LocalConversations:
    """`service.conversations.ConversationService` on the ports. `settled` waits until what was
    answered by now is kept, `erase` erases a user or one of its accounts."""

    def __init__(
        self,
        adapters: Adapters,
        settled: Callable[[], Awaitable[None]],
        erase: Callable[[Principal, str | None], Awaitable[Forgotten]],
    ) -> None:
        self._adapters = adapters
        self._settled = settled
        self._erase = erase

    async def rooms(
        self, principal: Principal, user_id: str | None = None, limit: int = 50, offset: int = 0
    ) -> Rooms:
        check_known()
        account = None if user_id is None else user_name(user_id)
        await self._settled()
        mine = await self._readable(principal, account)
        return await self._conversations.rooms(principal, account, limit, offset, mine)

    async def entries(
        self, conversation: ConversationKey, limit: int = 50, offset: int = 0
    ) -> list[StoredTurn]:
        await self._find_room(conversation)
        found = await self._conversations.entries(conversation, limit, offset)
        return [replace(turn, origin=None) for turn in found]

    async def rename(self, conversation: ConversationKey, name: str) -> str:
        given = title(name)
        if not given:
            raise InvalidRoom("The title is empty. Write at least one character.")
        await self._find_room(conversation)
        if not await self._conversations.rename(conversation, given):
            raise UnknownRoom(conversation.room)
        return given

    async def export(self, conversation: ConversationKey, form: Format) -> str:
        room = await self._find_room(conversation)
        turns = await read_turns(self._conversations, conversation)
        return await asyncio.to_thread(write_conversation, room, turns, form)

    async def take_in(self, principal: Principal, text: str) -> int:
        check_known()
        entries, origin = read_entries(text), await self._import_origin(principal.tenant)
        for entry in entries:
            block = entry.block
            here = conversation_key(principal, block.room_id, block.user_id)
            await self._conversations.append(here, replace(entry, origin=origin))
        return len(entries)

    async def delete(self, conversation: ConversationKey) -> None:
        await self._find_room(conversation)
        if not await self._conversations.delete(conversation):
            raise UnknownRoom(conversation.room)

    async def remove(self, conversation: ConversationKey, chat_id: str) -> bool:
        await self._find_room(conversation)
        return await self._conversations.remove(conversation, chat_id)

    async def forget(self, principal: Principal, user_id: str | None = None) -> Forgotten:
        check_known()
        check_everywhere()
        account = None if user_id is None else user_name(user_id)
        await self._settled()
        return await self._erase(principal, account)

    async def tokens(self, conversation: ConversationKey, search_type: SearchType) -> int:
        if not conversation.user:
            return 0
        try:
            await self._find_room(conversation)
        except UnknownRoom:
            return 0
        return await self._conversations.tokens(conversation, search_type)

    async def _find_room(self, conversation: ConversationKey) -> Room:
        """The room, if who asks may read every turn of it. Raises UnknownRoom, InvalidRoom."""
        check_known()
        _check_names(conversation)
        await self._settled()
        room = await self._conversations.room(conversation)
        if room is None or not await self._reaches(conversation):
            raise UnknownRoom(conversation.room)
        return room

    async def _reaches(self, here: ConversationKey) -> bool:
        if current_reader() == Reader():
            return True
        whose = Principal(here.tenant, here.user)
        known = await self._conversations.origins(whose, here.user_id, here.room)
        mine = await select_readable(known, current_reader(), self._adapters.catalog, here.tenant)
        return mine is None or len(mine) == len(known)

    async def _readable(self, whose: Principal, account: str | None) -> list[str] | None:
        """Return the origins of turns that who asks may read, None for all."""
        if current_reader() == Reader():
            return None
        known = await self._conversations.origins(whose, account)
        return await select_readable(known, current_reader(), self._adapters.catalog, whose.tenant)

    async def _import_origin(self, tenant: str) -> Provenance | None:
        """Return where turns of a file come from: what a file says of itself is not believed."""
        reached, names = current_reader().collections, self._adapters.catalog
        if reached is None:
            return None
        ids = [await names.identity(tenant, name, make=False) for name in reached]
        return Provenance(tuple(sorted(ids))).short()

    @property
    def _conversations(self) -> ConversationStore:
        return self._adapters.conversations


def _check_names(conversation: ConversationKey) -> None:
    """Raise InvalidRoom."""
    room_name(conversation.room)
    user_name(conversation.user_id)


def read_entries(text: str) -> list[StoredTurn]:
    """Return the turns of a JSON list of blocks, of an export, or of one block, in their order.

    Raises InvalidBlock, which says which one is wrong and why, unless all of them are right.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidBlock(
            "The file is not valid JSON, so it holds no conversation. "
            "Choose one that was exported as JSON."
        ) from error
    if isinstance(data, dict):
        data = data.get("blocks", [data])
    if not isinstance(data, list) or not data:
        raise InvalidBlock(
            "The file holds no conversation blocks. Choose one that was exported as JSON."
        )
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
    """Return when the turn ended: as the export says, else by its last message, else now."""
    times = [message.created_at for message in block.conversations if message.created_at]
    last = at or (times[-1] if times else "")
    return seconds(last) if last else state_time()

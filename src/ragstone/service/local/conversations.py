"""Conversations in this process."""

from collections.abc import Awaitable, Callable

from ragstone.core.conversation import (
    ConversationKey,
    Forgotten,
    Room,
    Rooms,
    StoredTurn,
    conversation_key,
    room_name,
    title,
    user_name,
)
from ragstone.core.errors import InvalidRoom, UnknownRoom
from ragstone.core.turn import Principal, SearchType
from ragstone.ports import Adapters, ConversationStore
from ragstone.service.conversations import Format
from ragstone.service.local.conversation_export import as_json, as_markdown
from ragstone.service.local.conversation_import import read_entries

IN_ONE_READ = 500


class LocalConversations:
    """`service.conversations.ConversationService` on the ports. `settled` waits until what was
    answered by now is kept."""

    def __init__(self, adapters: Adapters, settled: Callable[[], Awaitable[None]]) -> None:
        self._adapters = adapters
        self._settled = settled

    async def rooms(
        self, principal: Principal, user_id: str | None = None, limit: int = 50, offset: int = 0
    ) -> Rooms:
        account = None if user_id is None else user_name(user_id)
        await self._settled()
        return await self._conversations.rooms(principal, account, limit, offset)

    async def entries(
        self, conversation: ConversationKey, limit: int = 50, offset: int = 0
    ) -> list[StoredTurn]:
        await self._existing_room(conversation)
        return await self._conversations.entries(conversation, limit, offset)

    async def rename(self, conversation: ConversationKey, name: str) -> str:
        given = title(name)
        if not given:
            raise InvalidRoom("The title is empty. Write at least one character.")
        await self._settled()
        if not await self._conversations.rename(_check_names(conversation), given):
            raise UnknownRoom(conversation.room)
        return given

    async def export(self, conversation: ConversationKey, form: Format) -> str:
        room = await self._existing_room(conversation)
        entries: list[StoredTurn] = []
        while page := await self._conversations.entries(conversation, IN_ONE_READ, len(entries)):
            entries += page
        write = as_json if form == "json" else as_markdown
        return write(room, entries[::-1])

    async def take_in(self, principal: Principal, text: str) -> int:
        entries = read_entries(text)
        for entry in entries:
            block = entry.block
            await self._conversations.append(
                conversation_key(principal, block.room_id, block.user_id), entry
            )
        return len(entries)

    async def delete(self, conversation: ConversationKey) -> None:
        await self._settled()
        if not await self._conversations.delete(_check_names(conversation)):
            raise UnknownRoom(conversation.room)

    async def forget(self, principal: Principal, user_id: str | None = None) -> Forgotten:
        account = None if user_id is None else user_name(user_id)
        await self._settled()
        rooms, turns = await self._conversations.forget(principal, account)
        days = await self._adapters.history.forget(principal, account)
        await self._adapters.traces.forget(principal, account)
        blocked = await self._adapters.topics.forget(principal, account)
        return Forgotten(rooms, turns, days, blocked, await self._adapters.cache.clear())

    async def tokens(self, conversation: ConversationKey, search_type: SearchType) -> int:
        return await self._conversations.tokens(_check_names(conversation), search_type)

    async def _existing_room(self, conversation: ConversationKey) -> Room:
        await self._settled()
        room = await self._conversations.room(_check_names(conversation))
        if room is None:
            raise UnknownRoom(conversation.room)
        return room

    @property
    def _conversations(self) -> ConversationStore:
        return self._adapters.conversations


def _check_names(conversation: ConversationKey) -> ConversationKey:
    room_name(conversation.room)
    user_name(conversation.user_id)
    return conversation

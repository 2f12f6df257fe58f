"""Conversations in this process."""

from ragstone.conversation import (
    Entry,
    Forgotten,
    Place,
    Room,
    Rooms,
    place,
    room_name,
    title,
    user_name,
)
from ragstone.errors import InvalidRoom, UnknownRoom
from ragstone.library.conversation_export import as_json, as_markdown
from ragstone.library.conversation_import import read_entries
from ragstone.ports import Conversations, Kit
from ragstone.service.conversations import Format
from ragstone.turn import Principal, SearchType

IN_ONE_READ = 500


class LocalConversations:
    """`service.conversations.ConversationService` on the ports."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    async def rooms(
        self, principal: Principal, user_id: str | None = None, limit: int = 50, offset: int = 0
    ) -> Rooms:
        account = None if user_id is None else user_name(user_id)
        return await self._kept.rooms(principal, account, limit, offset)

    async def entries(self, place: Place, limit: int = 50, offset: int = 0) -> list[Entry]:
        await self._known(place)
        return await self._kept.entries(place, limit, offset)

    async def rename(self, place: Place, name: str) -> str:
        given = title(name)
        if not given:
            raise InvalidRoom("The title is empty. Write at least one character.")
        if not await self._kept.rename(_checked(place), given):
            raise UnknownRoom(place.room)
        return given

    async def export(self, place: Place, form: Format) -> str:
        room = await self._known(place)
        entries: list[Entry] = []
        while page := await self._kept.entries(place, IN_ONE_READ, len(entries)):
            entries += page
        write = as_json if form == "json" else as_markdown
        return write(room, entries[::-1])

    async def take_in(self, principal: Principal, text: str) -> int:
        entries = read_entries(text)
        for entry in entries:
            block = entry.block
            await self._kept.append(place(principal, block.room_id, block.user_id), entry)
        return len(entries)

    async def delete(self, place: Place) -> None:
        if not await self._kept.delete(_checked(place)):
            raise UnknownRoom(place.room)

    async def forget(self, principal: Principal, user_id: str | None = None) -> Forgotten:
        account = None if user_id is None else user_name(user_id)
        rooms, turns = await self._kept.forget(principal, account)
        days = await self._kit.history.forget(principal, account)
        if self._kit.traces:
            await self._kit.traces.forget(principal, account)
        topics, cache = self._kit.topics, self._kit.cache
        blocked = await topics.forget(principal, account) if topics else 0
        return Forgotten(rooms, turns, days, blocked, await cache.clear() if cache else 0)

    async def tokens(self, place: Place, search_type: SearchType) -> int:
        return await self._kept.tokens(_checked(place), search_type)

    async def _known(self, place: Place) -> Room:
        room = await self._kept.room(_checked(place))
        if room is None:
            raise UnknownRoom(place.room)
        return room

    @property
    def _kept(self) -> Conversations:
        assert self._kit.conversations is not None  # noqa: S101  build.py always makes them
        return self._kit.conversations


def _checked(place: Place) -> Place:
    room_name(place.room)
    user_name(place.user_id)
    return place

"""Conversations through the server that holds the data directory."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from ragstone.core.conversation import (
    ConversationKey,
    Forgotten,
    Notes,
    Room,
    Rooms,
    StoredTurn,
    seconds,
)
from ragstone.core.conversation_turn import load_turn
from ragstone.core.turn import Principal, SearchType
from ragstone.service import wire
from ragstone.service.conversations import Format

CONVERSATIONS = "/api/v1/conversations"

Send = Callable[..., Awaitable[Any]]
"""Sends a method to a path with its content; the response that came."""


class RemoteConversations:
    """`service.conversations.ConversationService` over HTTP."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def rooms(
        self, principal: Principal, user_id: str | None = None, limit: int = 50, offset: int = 0
    ) -> Rooms:
        query = {"user": principal.user, "limit": limit, "offset": offset}
        if user_id is not None:
            query["user_id"] = user_id
        found = (await self._send("GET", CONVERSATIONS, params=query)).json()
        return Rooms(tuple(_room(one) for one in found["conversations"]), found["total"])

    async def entries(
        self, place: ConversationKey, limit: int = 50, offset: int = 0
    ) -> list[StoredTurn]:
        query = {**_whose(place), "limit": limit, "offset": offset}
        found = (await self._send("GET", _path(place), params=query)).json()
        return [
            StoredTurn(load_turn(one["block"]), wire.load(Notes, one["notes"]), seconds(one["at"]))
            for one in found["turns"]
        ]

    async def rename(self, place: ConversationKey, name: str) -> str:
        body = {"title": name}
        answer = await self._send("PATCH", _path(place), params=_whose(place), json=body)
        return str(answer.json()["title"])

    async def export(self, place: ConversationKey, form: Format) -> str:
        query = {**_whose(place), "export": form}
        return str((await self._send("GET", _path(place), params=query)).text)

    async def take_in(self, principal: Principal, text: str) -> int:
        query = {"user": principal.user}
        content = text.encode("utf-8", "replace")
        answer = await self._send("POST", f"{CONVERSATIONS}/import", params=query, content=content)
        return int(answer.json()["added"])

    async def delete(self, place: ConversationKey) -> None:
        await self._send("DELETE", _path(place), params=_whose(place))

    async def forget(self, principal: Principal, user_id: str | None = None) -> Forgotten:
        body = {"user": principal.user, "user_id": user_id}
        answer = await self._send("POST", f"{CONVERSATIONS}/forget", json=body)
        return wire.load(Forgotten, answer.json())

    async def tokens(self, place: ConversationKey, search_type: SearchType) -> int:
        query = {**_whose(place), "tokens": search_type}
        return int((await self._send("GET", _path(place), params=query)).json()["tokens"])


def _path(place: ConversationKey) -> str:
    return f"{CONVERSATIONS}/{quote(place.room)}"


def _whose(place: ConversationKey) -> dict[str, str]:
    return {"user": place.user, "user_id": place.user_id}


def _room(data: dict[str, Any]) -> Room:
    times = {name: seconds(data[name]) for name in ("created_at", "updated_at")}
    return wire.load(Room, {**data, **times})

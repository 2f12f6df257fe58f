"""Conversations in MongoDB.

rooms    one per room: whose it is, its title, how many turns it has had
blocks   one per turn: the fields of the conversation block, whose it is, its number in the room
leases   which process answers in which room
"""

import asyncio
import hashlib
import json
from collections.abc import Sequence
from typing import Any

from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from ragstone.core.conversation import ConversationKey, Room, Rooms, StoredTurn, dump_turn, title
from ragstone.core.readers import Provenance
from ragstone.core.turn import Message, Principal, SearchType
from ragstone.plugins.mongodb.connection import Document, Mongo, make_storable
from ragstone.ports.conversations import Lease
from ragstone.store.sql.entry_codec import dump_notes, load_notes, messages, origin_text, readable

_TOOLS = {"role": "tool"}
_CALLS = {"role": "assistant", "tool_calls": {"$ne": []}}


class MongoConversations:
    """`ports.Conversations` in the database `name` of a MongoDB."""

    shared = True
    apart = True

    def __init__(self, mongo: Mongo, name: str) -> None:
        self._mongo = mongo
        database = mongo.client[name]
        self._rooms = database["rooms"]
        self._blocks = database["blocks"]
        self._leases = database["leases"]
        self._indexed = False

    async def append(self, conversation: ConversationKey, entry: StoredTurn) -> None:
        block = entry.block
        here = _room_fields(conversation)
        with self._mongo.translate_errors():
            await self._create_indexes()
            number = await self._count_turn(conversation, entry)
            if not block.is_working:
                unfinished = {**here, "is_tool_block": True, "status": "idle"}
                for wanted in (_TOOLS, _CALLS):
                    pulled = {"$pull": {"conversations": wanted}}
                    await self._blocks.update_many(unfinished, pulled)
                block = block.without_tool_calls()
            same = {**here, "chat_id": block.chat_id, "is_tool_block": True, "status": "idle"}
            await self._blocks.delete_many(make_storable(same))
            document = {
                **dump_turn(block),
                **here,
                "number": number,
                "at": entry.at,
                "notes": dump_notes(entry.notes),
                "origin": origin_text(entry),
            }
            await self._blocks.insert_one(make_storable(document))

    async def history(
        self,
        conversation: ConversationKey,
        search_type: SearchType | None,
        classes: Sequence[str],
        most: int,
        since: float = 0.0,
        origins: Sequence[str] | None = None,
    ) -> list[Message]:
        wanted: Document = {**_room_fields(conversation), "is_error": False}
        if search_type:
            wanted["search_type"] = search_type
        if since:
            wanted["at"] = {"$gt": since}
        if classes:
            wanted["block_classes"] = {"$in": make_storable(classes)}
        if origins is not None:
            wanted["origin"] = {"$in": _format_origins(origins)}
        only = {"conversations": 1, "number": 1}
        with self._mongo.translate_errors():
            newest = self._blocks.find(wanted, only).sort("number", -1).limit(most)
            found = await newest.to_list()
        return messages(
            [(item.get("number"), item.get("conversations")) for item in reversed(found)]
        )

    async def entries(
        self, conversation: ConversationKey, limit: int, offset: int = 0
    ) -> list[StoredTurn]:
        with self._mongo.translate_errors():
            newest = (
                self._blocks.find(_room_fields(conversation))
                .sort("number", -1)
                .skip(offset)
                .limit(limit)
            )
            found = await newest.to_list() if limit else []
        return [_stored_turn(document) for document in found]

    async def room(self, conversation: ConversationKey) -> Room | None:
        with self._mongo.translate_errors():
            found = await self._rooms.find_one({"_id": _key(conversation)})
        return _room(found) if found else None

    async def origins(
        self, principal: Principal, user_id: str | None = None, room: str | None = None
    ) -> list[str]:
        whose = _owner_filter(principal, user_id)
        here = whose if room is None else {**whose, "room_id": room}
        with self._mongo.translate_errors():
            grouped = [{"$match": here}, {"$group": {"_id": "$origin"}}]
            found = await (await self._blocks.aggregate(grouped)).to_list()
        return [item["_id"] or "" for item in found]

    async def rooms(
        self,
        principal: Principal,
        user_id: str | None,
        limit: int,
        offset: int = 0,
        origins: Sequence[str] | None = None,
    ) -> Rooms:
        whose = _owner_filter(principal, user_id)
        with self._mongo.translate_errors():
            if origins is not None:
                hidden = {**whose, "origin": {"$nin": _format_origins(origins)}}
                only = {"user_id": 1, "room_id": 1}
                found = await self._blocks.find(hidden, only).to_list()
                keys = {(item["user_id"], item["room_id"]) for item in found}
                rooms = [
                    _key(ConversationKey(principal.tenant, principal.user, room, account))
                    for account, room in keys
                ]
                whose = {**whose, "_id": {"$nin": rooms}}
            newest = self._rooms.find(whose).sort([("updated_at", -1), ("room_id", 1)])
            found = await newest.skip(offset).limit(limit).to_list() if limit else []
            total = await self._rooms.count_documents(whose)
        return Rooms(tuple(_room(item) for item in found), total)

    async def rename(self, conversation: ConversationKey, name: str) -> bool:
        with self._mongo.translate_errors():
            changed = {"$set": {"title": make_storable(name)}}
            return bool(
                (await self._rooms.update_one({"_id": _key(conversation)}, changed)).matched_count
            )

    async def delete(self, conversation: ConversationKey) -> bool:
        with self._mongo.translate_errors():
            gone = await self._rooms.delete_one({"_id": _key(conversation)})
            await self._blocks.delete_many(_room_fields(conversation))
        return bool(gone.deleted_count)

    async def remove(self, conversation: ConversationKey, chat_id: str) -> bool:
        here, room = _room_fields(conversation), {"_id": _key(conversation)}
        with self._mongo.translate_errors():
            found = await self._blocks.find_one_and_delete(
                make_storable({**here, "chat_id": chat_id})
            )
            if found is None:
                return False
            counted = {"turns": -1, "errors": -int(found["is_error"])}
            await self._rooms.update_one(room, {"$inc": counted})
            if await self._blocks.find_one(here) is None:
                await self._rooms.delete_one(room)
        return True

    async def forget(self, principal: Principal, user_id: str | None) -> tuple[int, int]:
        whose = _owner_filter(principal, user_id)
        with self._mongo.translate_errors():
            turns = await self._blocks.delete_many(whose)
            rooms = await self._rooms.delete_many(whose)
            await self._leases.delete_many(whose)
        return rooms.deleted_count, turns.deleted_count

    async def tokens(self, conversation: ConversationKey, search_type: SearchType) -> int:
        here = {"$match": {**_room_fields(conversation), "search_type": search_type}}
        total = {"$group": {"_id": None, "tokens": {"$sum": "$result.usage.total_tokens"}}}
        with self._mongo.translate_errors():
            found = await (await self._blocks.aggregate([here, total])).to_list()
        return int(found[0]["tokens"]) if found else 0

    async def take(self, conversation: ConversationKey, holder: str, over: Lease | None) -> Lease:
        key = {"_id": _key(conversation)}
        with self._mongo.translate_errors():
            if over is not None:
                old = {**key, "holder": over.holder, "beat": over.beat}
                changed = {"$set": {"holder": holder, "beat": over.beat + 1}}
                await self._leases.update_one(old, changed)
            try:
                await self._leases.insert_one(
                    {**key, **_room_fields(conversation), "holder": holder, "beat": 0}
                )
            except DuplicateKeyError:
                found = await self._leases.find_one(key)
                return Lease(found["holder"], found["beat"]) if found else Lease("", 0)
        return Lease(holder, 0)

    async def beat(self, conversation: ConversationKey, holder: str) -> None:
        mine = {"_id": _key(conversation), "holder": holder}
        with self._mongo.translate_errors():
            await self._leases.update_one(mine, {"$inc": {"beat": 1}})

    async def release(self, conversation: ConversationKey, holder: str) -> None:
        with self._mongo.translate_errors():
            await self._leases.delete_one({"_id": _key(conversation), "holder": holder})

    async def ready(self) -> None:
        await self._mongo.ready()

    async def _count_turn(self, conversation: ConversationKey, entry: StoredTurn) -> int:
        """Count the turn in its room, made with its first turn; returns the turn's number."""
        key, block = {"_id": _key(conversation)}, entry.block
        new: Document = {"turns": 0, "errors": 0, "numbers": 0, "created_at": entry.at}
        new["updated_at"] = entry.at
        counted = {"numbers": 1, "turns": int(not block.is_working), "errors": int(block.is_error)}
        changed = {"$inc": counted, "$set": {"updated_at": entry.at}}
        for _ in range(2):
            room = await self._rooms.find_one_and_update(
                key, changed, return_document=ReturnDocument.AFTER
            )
            if room is not None:
                return int(room["numbers"])
            begun = {**key, **_room_fields(conversation), **new, "title": title(entry.question)}
            try:
                await self._rooms.insert_one(begun)
            except DuplicateKeyError:
                continue
        return 1

    async def _create_indexes(self) -> None:
        """Create the missing indexes, once in a process."""
        if self._indexed:
            return
        whose = [("tenant", 1), ("user", 1)]
        here = [*whose, ("user_id", 1), ("room_id", 1)]
        await asyncio.gather(
            self._blocks.create_index([*here, ("number", -1)]),
            self._blocks.create_index([*here, ("status", 1)]),
            self._rooms.create_index([*whose, ("updated_at", -1)]),
            self._leases.create_index(whose),
        )
        self._indexed = True


def _key(conversation: ConversationKey) -> str:
    """Return the id of a room: names may hold any character, so they are not joined."""
    names = json.dumps(
        [conversation.tenant, conversation.user, conversation.user_id, conversation.room]
    )
    return hashlib.blake2b(names.encode(), digest_size=16).hexdigest()


def _room_fields(conversation: ConversationKey) -> Document:
    return {
        **_owner_filter(Principal(conversation.tenant, conversation.user), conversation.user_id),
        "room_id": conversation.room,
    }


def _owner_filter(principal: Principal, user_id: str | None) -> Document:
    whose = {"tenant": principal.tenant, "user": principal.user}
    return whose if user_id is None else {**whose, "user_id": user_id}


def _room(found: Document) -> Room:
    return Room(
        found["room_id"],
        found["user_id"],
        found["title"],
        found["turns"],
        found["errors"],
        found["created_at"],
        found["updated_at"],
    )


_OURS = frozenset({"_id", "tenant", "user", "number", "at", "notes", "origin"})


def _stored_turn(document: Document) -> StoredTurn:
    turn: Any = document.get("number")
    block = {name: value for name, value in document.items() if name not in _OURS}
    notes = load_notes(document.get("notes"), turn)
    origin = Provenance.read(document.get("origin") or "")
    return StoredTurn(readable(block, turn), notes, float(document.get("at") or 0), origin)


def _format_origins(origins: Sequence[str]) -> list[str | None]:
    """As they are stored: earlier versions kept none."""
    return [*origins, None] if "" in origins else list(origins)

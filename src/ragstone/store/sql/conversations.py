"""Conversations in the state store."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Table,
    bindparam,
    delete,
    exists,
    func,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.conversation import ConversationKey, Room, Rooms, StoredTurn, title
from ragstone.core.turn import Message, Principal, SearchType
from ragstone.language.unicode import replace_unstorable
from ragstone.ports.conversations import Lease
from ragstone.store.sql.database import Database
from ragstone.store.sql.entry_codec import messages, text, to_entry, to_row
from ragstone.store.sql.rows import add_statement, insert
from ragstone.store.sql.tables import room_leases, rooms, turn_classes, turns


class SqlConversations:
    """`ports.Conversations` on the state store."""

    apart = False

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def shared(self) -> bool:
        return self._database.engine.dialect.name != "sqlite"

    async def append(self, conversation: ConversationKey, entry: StoredTurn) -> None:
        await self._database.keep(lambda connection: _append(connection, conversation, entry))

    async def history(
        self,
        conversation: ConversationKey,
        search_type: SearchType | None,
        classes: Sequence[str],
        most: int,
        since: float = 0.0,
        origins: Sequence[str] | None = None,
    ) -> list[Message]:
        asked = {
            **_key_columns(conversation),
            "search_type": search_type,
            "most": most,
            "since": since,
            "classes": [replace_unstorable(value) for value in classes],
            "origins": origins,
        }
        newest = _newest_turns(bool(search_type), bool(since), bool(classes), origins is not None)
        found = await self._database.read(
            lambda connection: connection.execute(newest, asked).all()
        )
        return messages([(turn, said) for turn, said in reversed(found)])

    async def entries(
        self, conversation: ConversationKey, limit: int, offset: int = 0
    ) -> list[StoredTurn]:
        newest = (
            select(turns)
            .where(*_room_conditions(turns, conversation))
            .order_by(turns.c.id.desc())
            .limit(limit)
            .offset(offset)
        )
        return await self._database.read(
            lambda c: [to_entry(dict(row)) for row in c.execute(newest).mappings()]
        )

    async def room(self, conversation: ConversationKey) -> Room | None:
        async with self._database.read_view() as connection:
            rows = await connection.execute(
                select(*_ROOM).where(*_room_conditions(rooms, conversation))
            )
            return next((Room(**row) for row in rows.mappings()), None)

    async def origins(
        self, principal: Principal, user_id: str | None = None, room: str | None = None
    ) -> list[str]:
        theirs = _owner_conditions(turns, principal, user_id)
        here = theirs if room is None else [*theirs, turns.c.room == room]
        known = select(turns.c.origin).where(*here).distinct()
        return await self._database.read(lambda c: list(c.execute(known).scalars()))

    async def rooms(
        self,
        principal: Principal,
        user_id: str | None,
        limit: int,
        offset: int = 0,
        origins: Sequence[str] | None = None,
    ) -> Rooms:
        theirs = _owner_conditions(rooms, principal, user_id)
        if origins is not None:
            inside = [turns.c[name] == rooms.c[name] for name in _KEY_COLUMNS]
            theirs.append(~exists().where(*inside, turns.c.origin.not_in(origins)))
        newest = (
            select(*_ROOM)
            .where(*theirs)
            .order_by(rooms.c.updated_at.desc(), rooms.c.room)
            .limit(limit)
            .offset(offset)
        )

        def read(connection: Connection) -> Rooms:
            found = tuple(Room(**row) for row in connection.execute(newest).mappings())
            total = connection.execute(select(func.count()).where(*theirs))
            return Rooms(found, total.scalar_one())

        return await self._database.read(read)

    async def rename(self, conversation: ConversationKey, name: str) -> bool:
        renamed = update(rooms).where(*_room_conditions(rooms, conversation)).values(title=name)
        return bool(await self._count_changes(renamed))

    async def delete(self, conversation: ConversationKey) -> bool:
        return bool(
            await self._count_changes(delete(rooms).where(*_room_conditions(rooms, conversation)))
        )

    async def remove(self, conversation: ConversationKey, chat_id: str) -> bool:
        here = _room_conditions(turns, conversation)
        room = _room_conditions(rooms, conversation)
        gone = delete(turns).where(*here, turns.c.chat_id == replace_unstorable(chat_id))

        async def work(connection: AsyncConnection) -> bool:
            failed = (await connection.execute(gone.returning(turns.c.is_error))).scalars().all()
            counted = {"turns": rooms.c.turns - len(failed), "errors": rooms.c.errors - sum(failed)}
            await connection.execute(update(rooms).where(*room).values(counted))
            await connection.execute(delete(rooms).where(*room, ~exists().where(*here)))
            return bool(failed)

        return await self._database.write(work)

    async def forget(self, principal: Principal, user_id: str | None) -> tuple[int, int]:
        async def work(connection: AsyncConnection) -> tuple[int, int]:
            held = await connection.execute(
                select(func.count()).where(*_owner_conditions(turns, principal, user_id))
            )
            await connection.execute(
                delete(room_leases).where(*_owner_conditions(room_leases, principal, user_id))
            )
            gone = await connection.execute(
                delete(rooms).where(*_owner_conditions(rooms, principal, user_id))
            )
            return gone.rowcount, held.scalar_one()

        return await self._database.write(work)

    async def tokens(self, conversation: ConversationKey, search_type: SearchType) -> int:
        spent = select(func.coalesce(func.sum(turns.c.tokens), 0)).where(
            *_room_conditions(turns, conversation), turns.c.search_type == search_type
        )
        async with self._database.read_view() as connection:
            return int((await connection.execute(spent)).scalar_one())

    async def take(self, conversation: ConversationKey, holder: str, over: Lease | None) -> Lease:
        here = _room_conditions(room_leases, conversation)

        async def work(connection: AsyncConnection) -> Lease:
            fresh = insert(connection, room_leases).values(
                **_key_columns(conversation), holder=holder, beat=0
            )
            await connection.execute(fresh.on_conflict_do_nothing())
            if over is not None:
                old = (room_leases.c.holder == over.holder, room_leases.c.beat == over.beat)
                changed = update(room_leases).where(*here, *old)
                await connection.execute(changed.values(holder=holder, beat=over.beat + 1))
            found = select(room_leases.c.holder, room_leases.c.beat).where(*here)
            row = (await connection.execute(found)).first()
            return Lease(*row) if row else Lease("", 0)

        return await self._database.write(work)

    async def beat(self, conversation: ConversationKey, holder: str) -> None:
        mine = (*_room_conditions(room_leases, conversation), room_leases.c.holder == holder)
        await self._count_changes(
            update(room_leases).where(*mine).values(beat=room_leases.c.beat + 1)
        )

    async def release(self, conversation: ConversationKey, holder: str) -> None:
        mine = (*_room_conditions(room_leases, conversation), room_leases.c.holder == holder)
        await self._count_changes(delete(room_leases).where(*mine))

    async def ready(self) -> None:
        await self._database.ready()

    async def _count_changes(self, statement: Any) -> int:
        """Run one statement; how many rows it changed."""

        async def work(connection: AsyncConnection) -> int:
            return int((await connection.execute(statement)).rowcount)

        return await self._database.write(work)


_ROOM = tuple(
    rooms.c[name]
    for name in ("room", "user_id", "title", "turns", "errors", "created_at", "updated_at")
)


def _key_columns(conversation: ConversationKey) -> dict[str, str]:
    return {
        "tenant": conversation.tenant,
        "user": conversation.user,
        "user_id": conversation.user_id,
        "room": conversation.room,
    }


def _room_conditions(table: Table, conversation: ConversationKey) -> list[ColumnElement[bool]]:
    return [table.c[name] == value for name, value in _key_columns(conversation).items()]


def _owner_conditions(
    table: Table, principal: Principal, user_id: str | None
) -> list[ColumnElement[bool]]:
    whose = [table.c.tenant == principal.tenant, table.c.user == principal.user]
    return whose if user_id is None else [*whose, table.c.user_id == user_id]


_KEY_COLUMNS = ("tenant", "user", "user_id", "room")


def _bind_conditions(table: Table) -> list[ColumnElement[bool]]:
    """Like `_room_conditions`, with a key that is bound when the statement is executed."""
    return [table.c[name] == bindparam(name) for name in _KEY_COLUMNS]


@cache
def _newest_turns(search_type: bool, since: bool, classes: bool, origins: bool) -> Select[int, str]:
    """Return the last turns of a room, made once: that takes longer than to run it."""
    wanted = [*_bind_conditions(turns), turns.c.is_error.is_(False)]
    if search_type:
        wanted.append(turns.c.search_type == bindparam("search_type"))
    if since:
        wanted.append(turns.c.at > bindparam("since"))
    if classes:
        values = turn_classes.c.value.in_(bindparam("classes", expanding=True))
        shares = select(turn_classes.c.turn_id).where(*_bind_conditions(turn_classes), values)
        wanted.append(turns.c.id.in_(shares))
    if origins:
        wanted.append(turns.c.origin.in_(bindparam("origins", expanding=True)))
    newest = select(turns.c.id, turns.c.conversations).where(*wanted)
    return newest.order_by(turns.c.id.desc()).limit(bindparam("most"))


_TOOLS = (*_bind_conditions(turns), turns.c.is_tool_block.is_(True), turns.c.status == "idle")
_WITH_TOOLS = select(turns.c.id, turns.c.conversations).where(*_TOOLS)
_ADDED = turns.insert().returning(turns.c.id)
_REPLACED = delete(turns).where(*_TOOLS, turns.c.chat_id == bindparam("same"))


def _append(connection: Connection, conversation: ConversationKey, entry: StoredTurn) -> None:
    block, here = entry.block, _key_columns(conversation)
    _count(connection, conversation, entry)
    if not block.is_working:
        _prune(connection, here)
        entry = replace(entry, block=block.without_tool_calls())
    connection.execute(_REPLACED, {**here, "same": replace_unstorable(block.chat_id)})
    turn = connection.execute(_ADDED, {**here, **to_row(entry)}).scalar_one()
    if block.block_classes:
        classes = sorted({replace_unstorable(value) for value in block.block_classes})
        values = [{**here, "turn_id": turn, "value": value} for value in classes]
        connection.execute(turn_classes.insert(), values)


def _count(connection: Connection, conversation: ConversationKey, entry: StoredTurn) -> None:
    """Note the turn in its room, which begins with its first turn."""
    block = entry.block
    row = {
        **_key_columns(conversation),
        "title": title(entry.question),
        "turns": int(not block.is_working),
        "errors": int(block.is_error),
        "created_at": entry.at,
        "updated_at": entry.at,
    }
    counting = add_statement(connection.dialect.name, rooms, ("turns", "errors"), ("updated_at",))
    connection.execute(counting, row)


def _prune(connection: Connection, here: Mapping[str, str]) -> None:
    """Remove calls of tools, and what they said, from unfinished turns of the room."""
    for turn, stored in connection.execute(_WITH_TOOLS, here).all():
        try:
            kept = [load for load in json.loads(stored) if not _is_tool_message(load)]
        except (ValueError, TypeError, AttributeError):
            continue
        changed = update(turns).where(turns.c.id == turn)
        connection.execute(changed.values(conversations=text(kept)))


def _is_tool_message(message: Mapping[str, Any]) -> bool:
    role = message.get("role")
    return role == "tool" or (role == "assistant" and bool(message.get("tool_calls")))

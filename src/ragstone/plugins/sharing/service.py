"""Shared conversations and notes in this process.

Shared conversations and notes on the state store.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from sqlalchemy import ColumnElement, Table, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.access.asking import ASKING, check_known, current_reader
from ragstone.conversation.reach import select_readable
from ragstone.core.answer import Usage
from ragstone.core.clock import state_time
from ragstone.core.conversation import ConversationKey, StoredTurn, conversation_key, dump_turn
from ragstone.core.errors import InputError, UnknownNote, UnknownRoom, UnknownShare
from ragstone.core.readers import Provenance, Reader
from ragstone.core.turn import Principal
from ragstone.local.added import ServiceParts, StateStore
from ragstone.plugins.sharing.contract import KeptAnswer, Share, SharedConversation
from ragstone.ports import Adapters, read_turns
from ragstone.store.sql.entry_codec import dump_notes, load_notes, origin_text, readable, text
from ragstone.store.sql.rows import put
from ragstone.store.sql.tables import notes, shared_conversations


class SqlSharing(StateStore):
    """Shares and notes by tenant and user, who is erased with them. Methods raise StateUnavailable
    and StorageFull."""

    name = "sharing"

    async def put_share(self, tenant: str, share: Share) -> None:
        """Keep a share, instead of the one of its id."""
        row = {
            "id": share.id,
            "tenant": tenant,
            "user": share.user,
            "user_id": share.user_id,
            "room": share.room,
            "until": share.until,
        }
        await self._database.write(lambda connection: put(connection, shared_conversations, row))

    async def list_shares(self, whose: Principal) -> list[Share]:
        """Return what a user shares."""
        return await self._read_shares(*_owner_conditions(shared_conversations, whose))

    async def find_share(self, tenant: str, id: str) -> Share | None:
        """Return a share of the tenant, whoever made it."""
        table = shared_conversations.c
        return next(iter(await self._read_shares(table.tenant == tenant, table.id == id)), None)

    async def remove_share(self, whose: Principal, id: str) -> bool:
        """Tell whether the user shared it."""
        return await self._remove(shared_conversations, whose, id)

    async def put_note(self, whose: Principal, note: KeptAnswer) -> None:
        """Keep a note, instead of the one of its id."""
        turn = note.turn
        kept = {"block": dump_turn(turn.block), "notes": dump_notes(turn.notes), "at": turn.at}
        row = {
            "id": note.id,
            "tenant": whose.tenant,
            "user": whose.user,
            "comment": note.comment,
            "at": note.at,
            "turn": text(kept),
            "origin": origin_text(turn),
        }
        await self._database.write(lambda connection: put(connection, notes, row))

    async def list_notes(
        self, whose: Principal, limit: int, offset: int, origins: Sequence[str] | None
    ) -> list[KeptAnswer]:
        """Return the newest first; of those with one of the `origins`, unless that is None. Raises
        InvalidBlock for a damaged one."""
        newest = select(notes).where(*_owner_conditions(notes, whose))
        if origins is not None:
            newest = newest.where(notes.c.origin.in_(origins))
        newest = newest.order_by(notes.c.at.desc(), notes.c.id).limit(limit).offset(offset)
        return await self._database.read(
            lambda connection: [_note(row) for row in connection.execute(newest).mappings()]
        )

    async def note_origins(self, whose: Principal) -> list[str]:
        """Return the different origins (`Provenance.text`) of a user's notes."""
        known = select(notes.c.origin).where(*_owner_conditions(notes, whose)).distinct()
        return await self._database.read(lambda c: list(c.execute(known).scalars()))

    async def count_notes(self, whose: Principal) -> int:
        """Tell how many notes a user has."""
        counted = select(func.count()).where(*_owner_conditions(notes, whose))
        return await self._database.read(lambda c: c.execute(counted).scalar_one())

    async def change_note(self, whose: Principal, id: str, comment: str) -> bool:
        """Tell whether the user has it."""
        mine = (*_owner_conditions(notes, whose), notes.c.id == id)
        return await self._changes(update(notes).where(*mine).values(comment=comment))

    async def remove_note(self, whose: Principal, id: str) -> bool:
        """Tell whether the user had it."""
        return await self._remove(notes, whose, id)

    async def _read_shares(self, *conditions: ColumnElement[bool]) -> list[Share]:
        table = shared_conversations.c
        columns = (table.id, table.user, table.room, table.user_id, table.until)
        wanted = select(*columns).where(*conditions).order_by(table.until.desc(), table.id)
        return await self._database.read(
            lambda connection: [Share(**row) for row in connection.execute(wanted).mappings()]
        )

    async def _remove(self, table: Table, whose: Principal, id: str) -> bool:
        mine = (*_owner_conditions(table, whose), table.c.id == id)
        return await self._changes(delete(table).where(*mine))

    async def _changes(self, statement: Any) -> bool:
        """Run one statement; whether it changed a row."""

        async def work(connection: AsyncConnection) -> bool:
            return (await connection.execute(statement)).rowcount > 0

        return await self._database.write(work)


def _owner_conditions(table: Table, whose: Principal) -> tuple[ColumnElement[bool], ...]:
    return table.c.tenant == whose.tenant, table.c.user == whose.user


def _note(row: Mapping[Any, Any]) -> KeptAnswer:
    kept = json.loads(row["turn"])
    turn = StoredTurn(
        readable(kept["block"], row["id"]),
        load_notes(kept["notes"], row["id"]),
        kept["at"],
        Provenance.read(row["origin"]),
    )
    return KeptAnswer(row["id"], row["comment"], row["at"], turn)


MAX_NOTES = 2_000
"""Notes of one user."""


class LocalShares:
    """`ShareService` on the ports."""

    def __init__(self, adapters: Adapters) -> None:
        self._adapters = adapters
        self._store = SqlSharing.of(adapters)

    async def put(self, principal: Principal, room: str, user_id: str = "") -> Share:
        check_known()
        here = conversation_key(principal, room, user_id)
        await _read_own_turns(self._adapters, here)
        known = await self._store.list_shares(principal)
        id = next(
            (item.id for item in known if (item.room, item.user_id) == (room, user_id)),
            secrets.token_urlsafe(24),
        )
        share = Share(id, principal.user, room, user_id, state_time())
        await self._store.put_share(principal.tenant, share)
        return share

    async def list_all(self, principal: Principal) -> list[Share]:
        check_known()
        return await self._store.list_shares(principal)

    async def read(self, principal: Principal, id: str) -> SharedConversation:
        check_known()
        share = await self._store.find_share(principal.tenant, id)
        if share is None:
            raise UnknownShare
        here = ConversationKey(principal.tenant, share.user, share.room, share.user_id)
        room = await self._adapters.conversations.room(here)
        turns = [
            item
            for item in await read_turns(self._adapters.conversations, here)
            if item.at <= share.until
        ]
        if room is None or not turns:
            raise UnknownShare
        # An admin reads here what the documents' readers do: others showed it to a reader of them.
        reader = Reader(ASKING.get().collections, principal.names)
        shown = turns[: await self._count_readable(turns, reader, principal.tenant)]
        withheld = len(turns) - len(shown)
        title = "" if withheld else room.title
        return SharedConversation(
            share.user, title, share.until, tuple(map(_show, shown)), withheld
        )

    async def remove(self, principal: Principal, id: str) -> None:
        check_known()
        if not await self._store.remove_share(principal, id):
            raise UnknownShare

    async def _count_readable(self, turns: list[StoredTurn], reader: Reader, tenant: str) -> int:
        """Tell how many turns come before the first that stands on what the reader may not read.

        What a turn was answered from holds the documents of those before it only as far as there
        was room, so none is shown behind one that is withheld.
        """
        origins = [item.origin.text if item.origin else "" for item in turns]
        catalog = self._adapters.catalog
        reached = await select_readable(sorted(set(origins)), reader, catalog, tenant)
        needed = {id for item in turns for id in _find_documents(item)}
        documents = await catalog.find_documents(sorted(needed))
        names = set(reader.names or ())
        mine = {id for id, item in documents.items() if not names.isdisjoint(item.allowed)}
        for number, (turn, origin) in enumerate(zip(turns, origins, strict=True)):
            if not origin or (reached is not None and origin not in reached):
                return number
            # Of what is gone nobody knows who may read it.
            if not _find_documents(turn) <= mine:
                return number
        return len(turns)


class LocalNotes:
    """`NoteService` on the ports."""

    def __init__(self, adapters: Adapters) -> None:
        self._adapters = adapters
        self._store = SqlSharing.of(adapters)

    async def put(
        self, principal: Principal, room: str, answer: str, comment: str = "", user_id: str = ""
    ) -> KeptAnswer:
        check_known()
        turns = await _read_own_turns(self._adapters, conversation_key(principal, room, user_id))
        kept = next((item for item in turns if item.block.chat_id == answer), None)
        if kept is None:
            raise UnknownNote(answer)
        if await self._store.count_notes(principal) >= MAX_NOTES:
            raise InputError(f"You have {MAX_NOTES:,} notes, which is the most. Remove some.")
        note = KeptAnswer(uuid4().hex, comment, state_time(), kept)
        await self._store.put_note(principal, note)
        return _show_note(note)

    async def list_all(
        self, principal: Principal, limit: int = 100, offset: int = 0
    ) -> list[KeptAnswer]:
        check_known()
        known = await self._store.note_origins(principal)
        catalog = self._adapters.catalog
        mine = await select_readable(known, current_reader(), catalog, principal.tenant)
        found = await self._store.list_notes(principal, limit, offset, mine)
        return [_show_note(note) for note in found]

    async def change(self, principal: Principal, id: str, comment: str) -> None:
        check_known()
        if not await self._store.change_note(principal, id, comment):
            raise UnknownNote(id)

    async def remove(self, principal: Principal, id: str) -> None:
        check_known()
        if not await self._store.remove_note(principal, id):
            raise UnknownNote(id)


async def _read_own_turns(adapters: Adapters, here: ConversationKey) -> list[StoredTurn]:
    """Return the turns of a room, if who asks may read each. Raises UnknownRoom."""
    known = await adapters.conversations.origins(
        Principal(here.tenant, here.user), here.user_id, here.room
    )
    mine = await select_readable(known, current_reader(), adapters.catalog, here.tenant)
    if not known or (mine is not None and len(mine) < len(known)):
        raise UnknownRoom(here.room)
    return await read_turns(adapters.conversations, here)


def _find_documents(turn: StoredTurn) -> set[str]:
    """Return the documents that a turn shows something of, or was answered from."""
    notes, origin = turn.notes, turn.origin or Provenance()
    verdicts = (verdict.citation for verdict in notes.verdicts)
    cited = (*notes.answer.citations, *notes.nearest, *(item for item in verdicts if item))
    return {item.document_id for item in cited} | set(origin.documents)


def _show(turn: StoredTurn) -> StoredTurn:
    """Return a turn as others see it: what was asked and answered, and the evidence."""
    block = replace(turn.block.without_tool_calls(), room_id="", user_id="")
    notes = replace(turn.notes, trace=(), usage=Usage())
    return replace(turn, block=block, notes=notes, origin=None)


def _show_note(note: KeptAnswer) -> KeptAnswer:
    return replace(note, turn=replace(note.turn, origin=None))


def open_shares(parts: ServiceParts) -> LocalShares:
    """Make the operations of this process."""
    return LocalShares(parts.adapters)


def open_notes(parts: ServiceParts) -> LocalNotes:
    """Make the operations of this process."""
    return LocalNotes(parts.adapters)

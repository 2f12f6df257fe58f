"""Shared conversations and notes in this process."""

import secrets
from dataclasses import replace
from uuid import uuid4

from ragstone.access.asking import ASKING, check_known, current_reader
from ragstone.conversation.reach import select_readable
from ragstone.core.answer import Usage
from ragstone.core.clock import state_time
from ragstone.core.conversation import ConversationKey, StoredTurn, conversation_key
from ragstone.core.errors import InputError, UnknownNote, UnknownRoom, UnknownShare
from ragstone.core.provenance import Provenance, Reader
from ragstone.core.turn import Principal
from ragstone.local.added import ServiceParts
from ragstone.plugins.sharing.records import KeptAnswer, Share, SharedConversation
from ragstone.plugins.sharing.store import own_store
from ragstone.ports import Adapters, read_turns

MAX_NOTES = 2_000
"""Notes of one user."""


class LocalShares:
    """`ShareService` on the ports."""

    def __init__(self, adapters: Adapters) -> None:
        self._adapters = adapters
        self._store = own_store(adapters)

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
        self._store = own_store(adapters)

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

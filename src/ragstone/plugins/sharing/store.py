"""Shared conversations and notes on the state store."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Table, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.conversation import StoredTurn, dump_turn
from ragstone.core.provenance import Provenance
from ragstone.core.turn import Principal
from ragstone.local.added import AdapterParts
from ragstone.plugins.sharing.records import KeptAnswer, Share
from ragstone.ports import Adapters
from ragstone.store.sql.database import Database
from ragstone.store.sql.entry_codec import dump_notes, load_notes, origin_text, readable, text
from ragstone.store.sql.rows import put
from ragstone.store.sql.tables import notes, shared_conversations


class SqlSharing:
    """Shares and notes by tenant and user, who is erased with them. Methods raise StateUnavailable
    and StorageFull."""

    def __init__(self, database: Database) -> None:
        self._database = database

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


def open_store(parts: AdapterParts) -> SqlSharing:
    """Make the adapter of this process."""
    return SqlSharing(parts.database)


def own_store(adapters: Adapters) -> SqlSharing:
    """Return the store that `open_store` has made."""
    store: SqlSharing = adapters.added["sharing"]
    return store


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

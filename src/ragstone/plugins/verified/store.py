"""Verified answers on the state store."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.local.added import StateStore
from ragstone.plugins.verified.contract import VerifiedAnswer, VerifiedSource
from ragstone.service import wire
from ragstone.store.sql.rows import put
from ragstone.store.sql.tables import verified_answers as table

_SOURCES = tuple[VerifiedSource, ...]


class SqlVerified(StateStore):
    """Verified answers by tenant and the id of their collection, which takes them along when it is
    dropped. Methods raise StateUnavailable and StorageFull."""

    name = "verified"

    async def list_all(self, tenant: str, collection: str) -> list[VerifiedAnswer]:
        """Return the newest first, without their states."""
        mine = (table.c.tenant == tenant) & (table.c.collection == collection)
        newest = select(table).where(mine).order_by(table.c.changed_at.desc(), table.c.id)
        return await self._database.read(
            lambda connection: [_answer(row) for row in connection.execute(newest).mappings()]
        )

    async def put(self, tenant: str, answer: VerifiedAnswer) -> None:
        """Keep an answer, instead of the one of its id."""
        row = {
            "id": answer.id,
            "tenant": tenant,
            "collection": answer.collection,
            "text": answer.text,
            "wordings": list(answer.wordings),
            "sources": wire.dump(answer.sources, _SOURCES),
            "owner": answer.owner,
            "readers": list(answer.readers),
            "changed_at": answer.changed_at,
            "expires_at": answer.expires_at,
        }
        await self._database.write(lambda connection: put(connection, table, row))

    async def remove(self, tenant: str, collection: str, id: str) -> bool:
        """Tell whether there was one."""
        gone = delete(table).where(
            table.c.tenant == tenant, table.c.collection == collection, table.c.id == id
        )

        async def work(connection: AsyncConnection) -> bool:
            return (await connection.execute(gone)).rowcount > 0

        return await self._database.write(work)


def _answer(row: Mapping[Any, Any]) -> VerifiedAnswer:
    return VerifiedAnswer(
        id=row["id"],
        collection=row["collection"],
        text=row["text"],
        wordings=tuple(row["wordings"]),
        sources=wire.load(_SOURCES, row["sources"]),
        owner=row["owner"],
        readers=tuple(row["readers"]),
        changed_at=row["changed_at"],
        expires_at=row["expires_at"],
    )

"""API keys and ended sessions in the state store. Of a secret only its digest is kept."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.records import ApiKey
from ragstone.ports import StoredKey
from ragstone.store.sql.database import Database
from ragstone.store.sql.rows import put
from ragstone.store.sql.tables import api_keys, ended_sessions

_DIGESTS = ("digest", "old_digest", "old_until")
_LISTS = ("groups", "collections", "sites")


class SqlKeys:
    """`ports.KeyStore` on the state database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, stored: StoredKey) -> None:
        row = asdict(stored.key)
        del row["used_at"]
        row.update({name: row[name] and list(row[name]) for name in _LISTS})
        row.update({name: getattr(stored, name) for name in _DIGESTS})
        await self._database.write(lambda connection: put(connection, api_keys, row))

    async def find(self, id: str) -> StoredKey | None:
        wanted = select(api_keys).where(api_keys.c.id == id)
        row = await self._database.read(lambda c: c.execute(wanted).mappings().first())
        return StoredKey(_key(dict(row)), *(row[name] for name in _DIGESTS)) if row else None

    async def list_all(self, tenant: str | None) -> list[ApiKey]:
        wanted = select(api_keys).order_by(api_keys.c.created_at, api_keys.c.id)
        wanted = wanted.where(api_keys.c.user != "")  # Those of erased users are nobody's.
        if tenant is not None:
            wanted = wanted.where(api_keys.c.tenant == tenant)
        return await self._database.read(
            lambda c: [_key(dict(row)) for row in c.execute(wanted).mappings()]
        )

    async def touch(self, id: str, at: float) -> None:
        used = update(api_keys).where(api_keys.c.id == id).values(used_at=at)
        await self._database.write(lambda connection: connection.execute(used))

    async def any(self) -> bool:
        wanted = select(api_keys.c.id).limit(1)
        return await self._database.read(lambda c: c.execute(wanted).first()) is not None

    async def end_session(self, name: str, until: float, now: float) -> None:
        over = delete(ended_sessions).where(ended_sessions.c.until < now)

        async def end(connection: AsyncConnection) -> None:
            await connection.execute(over)
            await put(connection, ended_sessions, {"name": name, "until": until})

        await self._database.write(end)

    async def has_ended(self, name: str) -> bool:
        wanted = select(ended_sessions.c.name).where(ended_sessions.c.name == name)
        return await self._database.read(lambda c: c.execute(wanted).first()) is not None


def _key(row: Mapping[str, Any]) -> ApiKey:
    columns = {name: value for name, value in row.items() if name not in _DIGESTS}
    return ApiKey(**{**columns, **{name: _tuple(row[name]) for name in _LISTS}})


def _tuple(values: Any) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)

"""API keys in the state store. Of a secret only its digest is kept."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sqlalchemy import select, update

from ragstone.core.records import ApiKey
from ragstone.ports import StoredKey
from ragstone.store.sql.database import Database
from ragstone.store.sql.rows import put
from ragstone.store.sql.tables import api_keys

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

    async def listed(self, tenant: str | None) -> list[ApiKey]:
        wanted = select(api_keys).order_by(api_keys.c.created_at, api_keys.c.id)
        if tenant is not None:
            wanted = wanted.where(api_keys.c.tenant == tenant)
        async with self._database.reading() as connection:
            return [_key(dict(row)) for row in (await connection.execute(wanted)).mappings()]

    async def touch(self, id: str, at: float) -> None:
        used = update(api_keys).where(api_keys.c.id == id).values(used_at=at)
        await self._database.write(lambda connection: connection.execute(used))

    async def any(self) -> bool:
        wanted = select(api_keys.c.id).limit(1)
        return await self._database.read(lambda c: c.execute(wanted).first()) is not None


def _key(row: Mapping[str, Any]) -> ApiKey:
    columns = {name: value for name, value in row.items() if name not in _DIGESTS}
    return ApiKey(**{**columns, **{name: _tuple(row[name]) for name in _LISTS}})


def _tuple(values: Any) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)

"""Settings changed at run time, in the state database."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.clock import state_time
from ragstone.core.records import SettingChange, SettingEdit, StoredSetting
from ragstone.store.sql.database import Database
from ragstone.store.sql.rows import put
from ragstone.store.sql.tables import marks as table
from ragstone.store.sql.tables import settings, settings_log

SETTINGS, PROMPTS = "settings", "prompts"


async def read_marks(database: Database) -> Mapping[str, int]:
    """Return the mark of each thing that ever changed."""
    wanted = select(table.c.name, table.c.mark)
    rows = await database.read(lambda connection: connection.execute(wanted).all())
    return {str(name): int(mark) for name, mark in rows}


async def set_mark(connection: AsyncConnection, name: str) -> None:
    """Say, first of all in the transaction that changes it, that something changes: writers of
    other processes wait there until it has ended.

    A random number and not the next one: after a restore of an older state, the next change must
    not look like one that a process or a cache has seen already.
    """
    await put(connection, table, {"name": name, "mark": secrets.randbits(62)})


class SqlSettings:
    """`ports.SettingsStore` on the state database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def marks(self) -> Mapping[str, int]:
        return await read_marks(self._database)

    async def list_stored(self) -> Sequence[StoredSetting]:
        wanted = select(settings.c.scope, settings.c.key, settings.c.value)
        async with self._database.read_view() as connection:
            rows = (await connection.execute(wanted)).all()
        return [StoredSetting(*row) for row in rows]

    async def edit(self, edits: Sequence[SettingEdit], who: str) -> None:
        async def work(connection: AsyncConnection) -> None:
            await set_mark(connection, SETTINGS)
            now = state_time()
            lines = [
                line for item in edits if (line := await _apply_edit(connection, item, now, who))
            ]
            if lines:
                await connection.execute(insert(settings_log), lines)

        await self._database.write(work)

    async def changes(self, limit: int, key: str = "", scope: str = "") -> Sequence[SettingChange]:
        columns = [c for c in settings_log.c if c.name != "id"]
        wanted = select(*columns).order_by(settings_log.c.id.desc()).limit(limit)
        if key:
            wanted = wanted.where(settings_log.c.key == key)
        if scope:
            wanted = wanted.where(settings_log.c.scope == scope)
        async with self._database.read_view() as connection:
            rows = (await connection.execute(wanted)).mappings().all()
        return [SettingChange(**row) for row in rows]


async def forget_scope(connection: AsyncConnection, scope: str, who: str) -> None:
    """Take everything out of a scope that ends."""
    keys = select(settings.c.key).where(settings.c.scope == scope)
    held = (await connection.execute(keys)).scalars().all()
    if held:
        await set_mark(connection, SETTINGS)
        now = state_time()
        edits = [SettingEdit(scope, key, removes=True) for key in held]
        lines = [line for edit in edits if (line := await _apply_edit(connection, edit, now, who))]
        await connection.execute(insert(settings_log), lines)


async def _apply_edit(
    connection: AsyncConnection, edit: SettingEdit, now: float, who: str
) -> dict[str, Any] | None:
    """Make one change; the line of the log for it, None if it changes nothing."""
    place = (settings.c.scope == edit.scope) & (settings.c.key == edit.key)
    before = (await connection.execute(select(settings.c.value).where(place))).one_or_none()
    if edit.removes:
        if before is None:
            return None
        await connection.execute(delete(settings).where(place))
    else:
        if before is not None and before.value == edit.value:
            return None
        row = {"scope": edit.scope, "key": edit.key, "value": edit.value, "updated_at": now}
        await put(connection, settings, row)
    return {
        "at": now,
        "who": who,
        "scope": edit.scope,
        "key": edit.key,
        "action": "unset" if edit.removes else "set",
        "old": None if before is None else before.value,
        "new": edit.value,
    }

"""Settings and prompts changed at run time, in the state database; what was read of the prompts is
in memory, and in Redis if there is one.

    memory -> Redis -> database -> the configuration file -> the shipped files

The memory is read anew when the mark of the prompts is another one; what another server read for
that mark is taken from Redis. Without Redis, or without what it had, the database is read.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from sqlalchemy import delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.clock import state_time
from ragstone.core.records import SettingChange, SettingEdit, StoredSetting, TemplateVersion
from ragstone.language.templates import check_prompt, describe_prompt
from ragstone.store.sql.database import Database
from ragstone.store.sql.rows import put
from ragstone.store.sql.tables import marks as table
from ragstone.store.sql.tables import prompts, settings, settings_log

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


Texts = Mapping[str, Mapping[str, str]]
"""By tenant ("" for all) and name."""


class SharedTexts(Protocol):
    """Where servers leave what they read of the prompts for each other; it never raises."""

    async def get(self, mark: int) -> Texts | None: ...

    async def put(self, mark: int, texts: Texts) -> None: ...

    async def aclose(self) -> None: ...


class SqlTemplates:
    """`ports.Templates` on the state database, over the prompts of the configuration file."""

    def __init__(
        self,
        database: Database,
        shared: SharedTexts | None = None,
        below: Mapping[str, str] | None = None,
    ) -> None:
        self._database = database
        self._shared = shared
        self._below = dict(below or {})
        self._texts: Texts = {}
        self._merged: dict[str, Mapping[str, str]] = {}
        self._mark: int | None = None

    async def texts(self, tenant: str = "default") -> Mapping[str, str]:
        if self._mark is None:
            await self.refresh()
        if tenant not in self._texts:
            # Tenants without prompts of their own share one merged table.
            tenant = ""
        found = self._merged.get(tenant)
        if found is None:
            own = self._texts.get(tenant, {}) if tenant else {}
            found = {**self._below, **self._texts.get("", {}), **own}
            self._merged[tenant] = found
        return found

    async def put(self, name: str, text: str, tenant: str = "", who: str = "") -> int:
        if text:
            check_prompt(name, text)
        describe_prompt(name)

        async def work(connection: AsyncConnection) -> int:
            await set_mark(connection, PROMPTS)
            place = (prompts.c.tenant == tenant) & (prompts.c.name == name)
            newest = select(func.max(prompts.c.version)).where(place)
            version = int((await connection.execute(newest)).scalar() or 0) + 1
            row = TemplateVersion(name, version, text, state_time(), tenant, who)
            await connection.execute(insert(prompts), [asdict(row)])
            return version

        version = await self._database.write(work)
        await self.refresh()
        return version

    async def versions(self, name: str, tenant: str = "") -> Sequence[TemplateVersion]:
        describe_prompt(name)
        place = (prompts.c.tenant == tenant) & (prompts.c.name == name)
        wanted = select(prompts).where(place).order_by(prompts.c.version.desc())
        async with self._database.read_view() as connection:
            rows = (await connection.execute(wanted)).mappings().all()
        return [TemplateVersion(**row) for row in rows]

    async def current(self) -> Sequence[TemplateVersion]:
        newest = (
            select(prompts.c.tenant, prompts.c.name, func.max(prompts.c.version).label("version"))
            .group_by(prompts.c.tenant, prompts.c.name)
            .subquery()
        )
        same = (
            (newest.c.tenant == prompts.c.tenant)
            & (newest.c.name == prompts.c.name)
            & (newest.c.version == prompts.c.version)
        )
        async with self._database.read_view() as connection:
            rows = (await connection.execute(select(prompts).join(newest, same))).mappings().all()
        return [TemplateVersion(**row) for row in rows]

    async def refresh(self) -> None:
        known = (await read_marks(self._database)).get(PROMPTS, 0)
        if known == self._mark:
            return
        found = await self._shared.get(known) if self._shared and known else None
        if found is None:
            found = _by_tenant(await self.current())
            if self._shared and known:
                await self._shared.put(known, found)
        self._texts, self._merged, self._mark = found, {}, known


def _by_tenant(current: Sequence[TemplateVersion]) -> Texts:
    found: dict[str, dict[str, str]] = {}
    for version in current:
        if version.text:
            found.setdefault(version.tenant, {})[version.name] = version.text
    return found

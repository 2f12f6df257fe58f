"""Prompts in the state database; what was read of them is in memory, and in Redis if there is
one.

    memory -> Redis -> database -> the configuration file -> the shipped files

The memory is read anew when the mark of the prompts is another one; what another server read for
that mark is taken from Redis. Without Redis, or without what it had, the database is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Protocol

from sqlalchemy import func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.clock import state_time
from ragstone.core.records import TemplateVersion
from ragstone.language.templates import check_prompt, describe_prompt
from ragstone.store.sql.database import Database
from ragstone.store.sql.settings import PROMPTS, read_marks, set_mark
from ragstone.store.sql.tables import prompts

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

"""Templates of what chat models are told, in the state store."""

import time
from collections.abc import Mapping, Sequence

from sqlalchemy import func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.records import TemplateVersion
from ragstone.state.database import Database
from ragstone.state.tables import prompts
from ragstone.text.templates import check

FRESH = 2.0
"""Seconds after which the texts are read again: another process may have changed them."""


class SqlTemplates:
    """`ports.Templates` on the state database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._texts: Mapping[str, str] = {}
        self._until = 0.0

    async def texts(self) -> Mapping[str, str]:
        if time.monotonic() >= self._until:
            self._texts = await self._read()
            self._until = time.monotonic() + FRESH
        return self._texts

    async def put(self, name: str, text: str) -> int:
        if text:
            check(name, text)

        async def work(connection: AsyncConnection) -> int:
            newest = select(func.max(prompts.c.version)).where(prompts.c.name == name)
            version = int((await connection.execute(newest)).scalar() or 0) + 1
            row = {"name": name, "version": version, "text": text, "updated_at": time.time()}
            await connection.execute(insert(prompts), [row])
            return version

        version = await self._database.write(work)
        self._until = 0.0
        return version

    async def versions(self, name: str) -> Sequence[TemplateVersion]:
        wanted = select(prompts).where(prompts.c.name == name).order_by(prompts.c.version.desc())
        async with self._database.reading() as connection:
            rows = (await connection.execute(wanted)).mappings().all()
        return [TemplateVersion(**row) for row in rows]

    async def _read(self) -> Mapping[str, str]:
        newest = (
            select(prompts.c.name, func.max(prompts.c.version).label("version"))
            .group_by(prompts.c.name)
            .subquery()
        )
        wanted = select(prompts.c.name, prompts.c.text).join(
            newest, (newest.c.name == prompts.c.name) & (newest.c.version == prompts.c.version)
        )
        async with self._database.reading() as connection:
            rows = (await connection.execute(wanted)).all()
        return {str(name): str(text) for name, text in rows if text}

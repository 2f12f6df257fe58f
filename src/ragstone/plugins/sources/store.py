"""Sources that are kept in sync, on the state store."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Select, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.sync import FailedItem, ItemState, SourceRun, StoredSource
from ragstone.local.added import StateStore
from ragstone.store.sql.rows import add, put, select_texts
from ragstone.store.sql.tables import source_items, source_runs, sources

MAX_RUNS = 100
"""Runs of a source that are kept."""


class SqlSources(StateStore):
    """`ports.sources.SourceStore` on the state store."""

    name = "sources"

    async def add(self, source: StoredSource) -> bool:
        return await self._database.write(lambda c: add(c, sources, asdict(source)))

    async def list_all(self, tenant: str | None = None) -> Sequence[StoredSource]:
        wanted = select(sources).order_by(sources.c.tenant, sources.c.name)
        if tenant is not None:
            wanted = wanted.where(sources.c.tenant == tenant)
        return await self._sources(wanted)

    async def get(self, id: str) -> StoredSource | None:
        return next(iter(await self._sources(select(sources).where(sources.c.id == id))), None)

    async def find(self, tenant: str, name: str) -> StoredSource | None:
        named = select(sources).where(sources.c.tenant == tenant, sources.c.name == name)
        return next(iter(await self._sources(named)), None)

    async def list_due(self, now: float) -> Sequence[StoredSource]:
        return await self._sources(select(sources).where(sources.c.next_at <= now))

    async def change(self, id: str, **values: object) -> None:
        changed = update(sources).where(sources.c.id == id).values(**values)

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(changed)

        await self._database.write(work)

    async def remove(self, id: str) -> None:

        async def work(connection: AsyncConnection) -> None:
            # Items and runs go with it, by their foreign keys.
            await connection.execute(delete(sources).where(sources.c.id == id))

        await self._database.write(work)

    async def items(self, source: str, keys: Collection[str]) -> Mapping[str, ItemState]:
        async with self._database.read_view() as connection:
            named = source_items.c.key.in_(select_texts(connection, list(keys)))
            wanted = select(source_items).where(source_items.c.source == source, named)
            rows = (await connection.execute(wanted)).mappings()
            return {row["key"]: _to_item(row) for row in rows}

    async def list_items(self, source: str, after: str, limit: int) -> Sequence[ItemState]:
        mine = (source_items.c.source == source) & (source_items.c.key > after)
        wanted = select(source_items).where(mine).order_by(source_items.c.key).limit(limit)
        async with self._database.read_view() as connection:
            return [_to_item(row) for row in (await connection.execute(wanted)).mappings()]

    async def keys_at(self, source: str, paths: Collection[str]) -> Mapping[str, set[str]]:
        columns = source_items.c.path, source_items.c.key
        async with self._database.read_view() as connection:
            there = source_items.c.path.in_(select_texts(connection, list(paths)))
            wanted = select(*columns).where(source_items.c.source == source, there)
            rows = (await connection.execute(wanted)).all()
        found: dict[str, set[str]] = {}
        for path, key in rows:
            found.setdefault(path, set()).add(key)
        return found

    async def put_items(self, source: str, items: Sequence[ItemState]) -> None:

        async def work(connection: AsyncConnection) -> None:
            if await _exists(connection, source):
                for item in items:
                    await put(connection, source_items, {**asdict(item), "source": source})

        await self._database.write(work)

    async def remove_items(self, source: str, keys: Collection[str]) -> None:

        async def work(connection: AsyncConnection) -> None:
            named = source_items.c.key.in_(select_texts(connection, list(keys)))
            gone = delete(source_items).where(source_items.c.source == source, named)
            await connection.execute(gone)

        await self._database.write(work)

    async def begin_run(self, run: SourceRun) -> SourceRun:
        known = select(source_runs).where(source_runs.c.id == run.id)

        async def work(connection: AsyncConnection) -> SourceRun:
            row = (await connection.execute(known)).mappings().first()
            if row is not None:
                return _to_run(row)
            if await _exists(connection, run.source):
                await put(connection, source_runs, asdict(run))
            return run

        return await self._database.write(work)

    async def put_run(self, run: SourceRun) -> None:
        row, table = asdict(run), source_runs
        newest = (
            select(table.c.id)
            .where(table.c.source == run.source)
            .order_by(table.c.started_at.desc(), table.c.id)
            .limit(MAX_RUNS)
        )
        old = delete(table).where(table.c.source == run.source, table.c.id.not_in(newest))

        async def work(connection: AsyncConnection) -> None:
            if await _exists(connection, run.source):
                await put(connection, table, row)
                await connection.execute(old)

        await self._database.write(work)

    async def runs(self, source: str, limit: int) -> Sequence[SourceRun]:
        table = source_runs
        newest = (
            select(table)
            .where(table.c.source == source)
            .order_by(table.c.started_at.desc(), table.c.id)
            .limit(limit)
        )
        async with self._database.read_view() as connection:
            return [_to_run(row) for row in (await connection.execute(newest)).mappings()]

    async def _sources(self, wanted: Select[Any]) -> Sequence[StoredSource]:
        async with self._database.read_view() as connection:
            rows = (await connection.execute(wanted)).mappings()
            return [StoredSource(**{**row, "readers": tuple(row["readers"])}) for row in rows]


async def _exists(connection: AsyncConnection, source: str) -> bool:
    found = select(sources.c.id).where(sources.c.id == source)
    return (await connection.execute(found)).first() is not None


def _to_item(row: Mapping[Any, Any]) -> ItemState:
    return ItemState(**{name: value for name, value in row.items() if name != "source"})


def _to_run(row: Mapping[Any, Any]) -> SourceRun:
    failures = tuple(FailedItem(**item) for item in row["failures"])
    return SourceRun(**{**row, "failures": failures, "notes": tuple(row["notes"])})

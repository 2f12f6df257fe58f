"""The state store as rows of a backup, and back.

Moves the whole state from one database to another: all of it, or nothing.
"""

import base64
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict
from datetime import date
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    create_engine,
    false,
    func,
    insert,
    select,
    text,
)
from sqlalchemy import types as sql
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.clock import state_time
from ragstone.core.disk import TemporaryFolder
from ragstone.core.errors import ConfigError, Conflict, InputError
from ragstone.core.records import Collection
from ragstone.ports import Row, Rows
from ragstone.store.sql import revising
from ragstone.store.sql.catalog import SqlCatalog
from ragstone.store.sql.database import Database, SharedBackend
from ragstone.store.sql.migrations import REVISIONS, upgrade
from ragstone.store.sql.rows import to_collection
from ragstone.store.sql.tables import (
    api_keys,
    chunk_readings,
    collections,
    directory_groups,
    documents,
    ended_sessions,
    entity_mentions,
    entity_relations,
    job_workers,
    jobs,
    mentions_read,
    metadata,
    model_readings,
    people,
    person_tokens,
    revisions,
    running_answers,
    running_parts,
    shared_conversations,
    sign_in_tries,
    theme_audiences,
    theme_revisions,
    themes,
    unused_indexes,
    waiting_approvals,
    webhooks,
)

BATCH = 500
"""Rows in memory at once."""

Some = tuple[Table, list[dict[str, object]]]
"""Some rows of a table."""


async def move(source: Database, target: Database) -> Mapping[str, int]:
    """Copy every table in one transaction; the rows of each.

    Raises Conflict, with nothing changed, if the target holds something or a server uses one of
    both.
    """
    for database in (source, target):
        await _refuse_if_used(database)

    async def work(connection: AsyncConnection) -> Mapping[str, int]:
        await _refuse_if_full(connection, target)
        counts = Counter({table.name: 0 for table in metadata.sorted_tables})
        async with source.read_view() as reading, aclosing(every_row(reading)) as batches:
            async for table, rows in batches:
                await connection.execute(table.insert(), rows)
                counts[table.name] += len(rows)
        await continue_numbering(connection)
        return counts

    return await target.write(work)


async def every_row(
    connection: AsyncConnection, only: Mapping[Table, ColumnElement[bool]] = {}
) -> AsyncGenerator[Some, None]:
    """Yield all rows of all tables, those that others refer to first; of those in `only` some."""
    for table in metadata.sorted_tables:
        wanted = select(table).where(*([only[table]] if table in only else []))
        result = await connection.stream(wanted.execution_options(yield_per=BATCH))
        async for rows in result.mappings().partitions():
            yield table, [dict(row) for row in rows]


async def continue_numbering(connection: AsyncConnection) -> None:
    """Let PostgreSQL's own numbers begin behind the ones that were copied."""
    for table in metadata.sorted_tables if connection.dialect.name == "postgresql" else ():
        column = table.autoincrement_column
        if column is None or not isinstance(column.type, Integer):
            continue
        if column.autoincrement is True:
            newest = select(func.max(column)).scalar_subquery()
            sequence = func.pg_get_serial_sequence(f'"{table.name}"', column.name)
            await connection.execute(select(func.setval(sequence, newest)))


async def _refuse_if_full(connection: AsyncConnection, target: Database) -> None:
    for table in metadata.sorted_tables:
        if (await connection.execute(select(text("1")).select_from(table).limit(1))).first():
            raise Conflict(
                f"The database {target.backend.name} already holds a state (there are "
                f"{table.name}). Give one that is empty."
            )


async def _refuse_if_used(database: Database) -> None:
    backend = database.backend
    if isinstance(backend, SharedBackend) and not await backend.is_alone(database):
        raise Conflict(
            f"A server uses the database {database.backend.name}. Stop every server, then move."
        )


UNREAD = "This was being indexed when the backup was made. Ingest it again."
UNENDED = "This had not ended when the backup was made. 'ragstone jobs retry' begins it again."
ENDED = ("done", "failed", "cancelled")

ACCOUNTS = (people, directory_groups)
"""What a restore leaves as it is: who was removed, or lost a group, a role or a password to others,
must not have it again."""
IDENTIFYING = (collections, api_keys, people)
"""Tables of which two Ragstones have no row in common."""
SENT_OUT = (shared_conversations, webhooks)
"""What lets others read on without an account: a restore does not bring back what was ended."""


class SqlDump:
    """`ports.StateDump` on the state store, whose catalog learns of a change as it happens."""

    schema = REVISIONS[-1]

    def __init__(self, database: Database, catalog: SqlCatalog) -> None:
        self._database = database
        self._catalog = catalog

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[AsyncIterator[Rows]]:
        """`ports.StateDump`."""
        written = revisions.c.state.in_(revising.ANSWERING)
        live = select(revisions.c.name).where(written)
        named = mentions_read.c.revision.in_(live)
        numbers = select(mentions_read.c.number).where(named)
        only = {
            revisions: written,
            mentions_read: named,
            entity_mentions: entity_mentions.c.source.in_(numbers),
            entity_relations: entity_relations.c.source.in_(numbers),
            model_readings: model_readings.c.revision.in_(live),
            chunk_readings: chunk_readings.c.revision.in_(live),
            # Made anew of what is restored.
            theme_audiences: false(),
            themes: false(),
            theme_revisions: false(),
            # Of what goes on in this moment nothing is left when it is restored.
            jobs: jobs.c.part_of == "",
            running_answers: false(),
            running_parts: false(),
            waiting_approvals: false(),
            # A session that has ended, or an invitation that was accepted, would count again.
            person_tokens: false(),
            sign_in_tries: false(),
            # Their chunks are in no backup.
            unused_indexes: false(),
        }
        async with self._database.read_view() as connection:
            await self._database.backend.take_time(connection)

            async def tables() -> AsyncIterator[Rows]:
                async for table, some in every_row(connection, only):
                    yield table.name, [_dump_row(row) for row in some]

            yield tables()

    async def replace(
        self, schema: str, rows: Iterable[Rows], collections: Sequence[Collection]
    ) -> Sequence[str]:
        if schema not in REVISIONS:
            raise ConfigError(
                f"The backup was written by a newer Ragstone (schema {schema}, this one knows "
                f"{REVISIONS[-1]}). Update Ragstone."
            )
        if schema != self.schema:
            with _brought_up(schema, rows) as current:
                return await self._replace_rows(current, collections)
        return await self._replace_rows(rows, collections)

    async def flaws(self) -> list[str]:
        async with self._database.read_view() as connection:
            if connection.dialect.name != "sqlite":
                return []
            said = (await connection.execute(text("PRAGMA integrity_check"))).scalars().all()
            broken = (await connection.execute(text("PRAGMA foreign_key_check"))).all()
        flaws = [f"The state's file is damaged: {line}." for line in said if line != "ok"]
        return flaws + [f"A row of {row[0]} belongs to no row of {row[2]}." for row in broken]

    async def _replace_rows(
        self, rows: Iterable[Rows], those: Sequence[Collection]
    ) -> Sequence[str]:
        removed: list[str] = []

        async def work(connection: AsyncConnection) -> Any:
            before = await connection.run_sync(_indexes)
            rights = await connection.run_sync(_read_rights)
            await connection.run_sync(lambda sync: _insert_rows(sync, metadata, rows))
            removed[:] = await connection.run_sync(lambda sync: _keep_rights(sync, rights))
            await connection.run_sync(lambda sync: _end_unfinished_work(sync, those))
            await connection.run_sync(lambda sync: revising.put_unused(sync, before))
            await continue_numbering(connection)
            return await connection.run_sync(self._catalog.replace_rows)

        await self._database.write(work, self._catalog.apply_replacement)
        return removed


def _indexes(connection: Connection) -> list[Collection]:
    """Return the collections that there are, and those whose indexes are to be dropped already."""
    now = connection.execute(select(collections)).mappings()
    return [*(to_collection(dict(row)) for row in now), *revising.list_unused(connection)]


def _read_rights(connection: Connection) -> dict[Table, list[Row]]:
    """Return what tells who may do what now."""
    return {
        table: [dict(row) for row in connection.execute(select(table)).mappings()]
        for table in (collections, api_keys, ended_sessions, *ACCOUNTS, *SENT_OUT)
    }


def _keep_rights(connection: Connection, now: Mapping[Table, list[Row]]) -> list[str]:
    """Let nothing count again that was withdrawn since the backup; return the names of accounts
    that are therefore not back.

    A state that has nothing in common with the backup is that of another Ragstone or a new one:
    nothing of the backup was withdrawn in it.
    """
    restored = _read_rights(connection)
    is_continued = any(
        _identify(now, table) & _identify(restored, table)
        for table in (collections, api_keys, people)
    )
    _keep_withdrawn_secrets(connection, now, _identify(restored, api_keys))
    if not is_continued:
        return []
    for table in SENT_OUT:
        for (id,) in _identify(restored, table) - _identify(now, table):
            connection.execute(table.delete().where(table.c.id == id))
    for table in ACCOUNTS:
        connection.execute(table.delete())
        if now[table]:
            connection.execute(insert(table), now[table])
    present = {(row["tenant"], row["user"]) for row in now[people]}
    return sorted(
        row["user"] for row in restored[people] if (row["tenant"], row["user"]) not in present
    )


def _identify(rights: Mapping[Table, list[Row]], table: Table) -> set[tuple[Any, ...]]:
    """Return what a row of the table has that no other Ragstone's has."""
    names = ["id"] if "id" in table.c else ["tenant", "user", "created_at"]
    return {tuple(row[name] for name in names) for row in rights[table]}


def _keep_withdrawn_secrets(
    connection: Connection, rights: Mapping[Table, list[Row]], known: set[tuple[Any, ...]]
) -> None:
    """Let no secret count again that was revoked, rotated or signed out of since the backup. A key
    that was made since is revoked, and not forgotten: from the first one on nobody is let in
    without."""
    now = state_time()
    for key in rights[api_keys]:
        if (key["id"],) not in known and key["revoked_at"] is None:
            key["revoked_at"] = now
    for column in (api_keys.c.id, ended_sessions.c.name):
        for row in rights[column.table]:
            connection.execute(column.table.delete().where(column == row[column.name]))
            connection.execute(insert(column.table).values(row))


def _insert_rows(connection: Connection, tables: MetaData, rows: Iterable[Rows]) -> None:
    for table in reversed(tables.sorted_tables):
        connection.execute(table.delete())
    for name, some in rows:
        table = tables.tables.get(name)
        if table is None:
            raise InputError(f"The backup has a table {name[:80]!r}, which its schema does not.")
        try:
            connection.execute(insert(table), [_load_row(table, row) for row in some])
        except (IntegrityError, ValueError, TypeError, KeyError) as error:
            raise InputError(f"The backup's table {name!r} has rows that do not fit it.") from error
        except SQLAlchemyError as error:
            if "bind parameter" not in str(error) and "Unconsumed" not in str(error):
                raise
            raise InputError(f"The backup's table {name!r} lacks columns.") from error


def _end_unfinished_work(connection: Connection, those: Sequence[Collection]) -> None:
    """End the jobs and collections that were unfinished when the backup was made."""
    kept = {(collection.tenant, collection.id): collection for collection in those}
    for tenant, id in connection.execute(select(collections.c.tenant, collections.c.id)).all():
        here = (collections.c.tenant == tenant) & (collections.c.id == id)
        one = kept.get((tenant, id))
        changed = (
            collections.delete() if one is None else collections.update().values(**asdict(one))
        )
        connection.execute(changed.where(here))
    connection.execute(
        jobs.update().where(jobs.c.state.not_in(ENDED)).values(state="failed", error=UNENDED)
    )
    connection.execute(job_workers.delete())
    writing = documents.c.status == "writing"
    unread = writing & (documents.c.version == 0)
    connection.execute(documents.update().where(unread).values(status="failed", error=UNREAD))
    connection.execute(documents.update().where(writing).values(status="text"))


class _brought_up:  # noqa: N801  a context manager that reads like a function
    """Rows of an older schema as rows of today's, by way of a database that is migrated."""

    def __init__(self, schema: str, rows: Iterable[Rows]) -> None:
        self._schema = schema
        self._rows = rows
        self._folder = TemporaryFolder()

    def __enter__(self) -> Iterator[Rows]:
        self._engine = create_engine(f"sqlite:///{self._folder.path / 'state.sqlite'}")
        upgrade(self._engine, self._schema)
        old = MetaData()
        with self._engine.begin() as connection:
            old.reflect(connection)
            old.remove(old.tables["alembic_version"])
            _insert_rows(connection, old, self._rows)
        upgrade(self._engine)
        return self._read()

    def _read(self) -> Iterator[Rows]:
        with self._engine.connect() as connection:
            for table in metadata.sorted_tables:
                result = connection.execute(select(table))
                for some in result.mappings().partitions(BATCH):
                    yield table.name, [_dump_row(dict(row)) for row in some]

    def __exit__(self, *_: object) -> None:
        self._engine.dispose()
        self._folder.remove()


def _dump_row(row: Row) -> Row:
    return {name: _json(value) for name, value in row.items()}


def _json(value: Any) -> Any:
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(bytes(value)).decode()
    return value.isoformat() if isinstance(value, date) else value


def _load_row(table: Table, row: Row) -> Row:
    return {name: _value(table.c[name].type, value) for name, value in row.items()}


def _value(kind: sql.TypeEngine[Any], value: Any) -> Any:
    if value is None:
        return None
    if isinstance(kind, LargeBinary):
        return base64.b64decode(value)
    return date.fromisoformat(value) if isinstance(kind, sql.Date) else value

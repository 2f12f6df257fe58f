"""Erasing a user from the state store.

Every table that names a tenant and a user in columns of these names is the users': a new one is
erased without a line here.
"""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import ColumnElement, Connection, Table, Text, cast, delete, func, select, update

from ragstone.core.clock import state_time
from ragstone.core.turn import Principal
from ragstone.ports.jobs import Job
from ragstone.store.sql.database import Database
from ragstone.store.sql.job_claims import to_job
from ragstone.store.sql.revising import ANSWERING
from ragstone.store.sql.rows import batches
from ragstone.store.sql.sqlite import rewrite_file
from ragstone.store.sql.tables import (
    api_keys,
    awaited_collections,
    blocked_questions,
    done_once,
    evaluation_outcomes,
    evaluation_runs,
    jobs,
    metadata,
    readers,
    revisions,
    settings,
    theme_audiences,
    theme_revisions,
    themes,
    verified_answers,
    versions,
    vocabulary,
    vocabulary_read,
)

NAMELESS = {"name": "", "user": "", "groups": [], "collections": [], "digest": "", "old_digest": ""}
"""What is left of a key: as long as there was any, nobody is let in without one."""


class SqlErasure:
    """`ports.Erasure` on the state store and the SQLite files of the data directory beside it."""

    def __init__(self, database: Database, data: Path) -> None:
        self._database = database
        self._data = data

    async def jobs(self, whose: Principal) -> list[Job]:
        mine = select(jobs).where(*_owner_conditions(jobs, whose))
        return await self._database.read(
            lambda c: [to_job(row) for row in c.execute(mine).mappings()]
        )

    async def delete(self, whose: Principal, user_id: str | None, jobs: Sequence[Job]) -> int:
        def work(connection: Connection) -> int:
            _delete_jobs(connection, whose, jobs)
            if user_id is None:
                _delete_names(connection, whose)
            blocked = 0
            # Rows go before those that they belong to.
            for table in reversed(metadata.sorted_tables):
                own = {"tenant", "user"} | (set() if user_id is None else {"user_id"})
                if table is api_keys or not own <= set(table.c.keys()):
                    continue
                account = [] if user_id is None else [table.c.user_id == user_id]
                gone = connection.execute(
                    delete(table).where(*_owner_conditions(table, whose), *account)
                )
                blocked += gone.rowcount if table is blocked_questions else 0
            known = select(evaluation_runs.c.id)
            connection.execute(
                delete(evaluation_outcomes).where(evaluation_outcomes.c.run.not_in(known))
            )
            _delete_made_of_gone(connection, whose.tenant)
            return blocked

        return await self._database.keep(work)

    async def rewrite(self) -> None:
        await self._database.rewrite()
        await asyncio.to_thread(self._rewrite_files)

    def _rewrite_files(self) -> None:
        for file in sorted(self._data.glob("*.sqlite")):
            rewrite_file(file)


def _owner_conditions(
    table: Table, whose: Principal
) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return table.c.tenant == whose.tenant, table.c.user == whose.user


def _delete_jobs(connection: Connection, whose: Principal, gone: Sequence[Job]) -> None:
    """Delete jobs, the keys of what they did once, and names of collections to come that nothing
    else waits for."""
    for some in batches([job.id for job in gone]):
        connection.execute(delete(jobs).where(jobs.c.id.in_(some)))
    for job in gone:
        once = done_once.c.key.startswith(f"{job.id}.", autoescape=True)
        connection.execute(delete(done_once).where(once))
    named = {job.collection for job in gone if job.collection}
    for id in named:
        others = select(jobs.c.id).where(jobs.c.collection == id).limit(1)
        granted = select(settings.c.key).where(settings.c.scope.contains(id, autoescape=True))
        if connection.execute(others).first() or connection.execute(granted).first():
            continue
        mine = (awaited_collections.c.tenant == whose.tenant, awaited_collections.c.id == id)
        connection.execute(delete(awaited_collections).where(*mine))


def _delete_names(connection: Connection, whose: Principal) -> None:
    """Delete the name of the user where it is more than a column: of keys, and of readers."""
    name = f"user:{whose.user}"
    ended = {**NAMELESS, "revoked_at": state_time(), "sites": None, "used_at": None}
    connection.execute(update(api_keys).where(*_owner_conditions(api_keys, whose)).values(ended))
    for table, column, value in (
        (readers, readers.c.name, name),
        (theme_audiences, theme_audiences.c.audience, json.dumps([name])),
    ):
        connection.execute(delete(table).where(table.c.tenant == whose.tenant, column == value))
    _delete_from_verified(connection, whose, name)
    _delete_from_deleted(connection, whose, name)


def _delete_from_verified(connection: Connection, whose: Principal, name: str) -> None:
    """Delete the user from verified answers, with those that nobody else may read."""
    table = verified_answers
    mine = table.c.tenant == whose.tenant
    owned = mine & (table.c.owner == whose.user)
    connection.execute(update(table).where(owned).values(owner=""))
    for id, names in connection.execute(select(table.c.id, table.c.readers).where(mine)).all():
        left = [reader for reader in names if reader != name]
        if not left:
            connection.execute(delete(table).where(table.c.id == id))
        elif left != names:
            connection.execute(update(table).where(table.c.id == id).values(readers=left))


def _delete_from_deleted(connection: Connection, whose: Principal, name: str) -> None:
    """Delete the user from those who could read documents that are deleted."""
    table, named = versions, json.dumps(name)
    mine = cast(table.c.last_readers, Text).contains(named, autoescape=True)
    mine &= table.c.tenant == whose.tenant
    rows = connection.execute(select(table.c.document_id, table.c.last_readers).where(mine)).all()
    for id, names in rows:
        left = [reader for reader in names if reader != name]
        connection.execute(update(table).where(table.c.document_id == id).values(last_readers=left))


def _delete_made_of_gone(connection: Connection, tenant: str) -> None:
    """Delete themes of documents that are gone, and the words of their collections, which are read
    again."""
    parts = select(func.count()).where(theme_revisions.c.theme == themes.c.id).scalar_subquery()
    connection.execute(delete(themes).where(themes.c.tenant == tenant, themes.c.revisions > parts))
    live = select(revisions.c.name).where(revisions.c.state.in_(ANSWERING))
    read = vocabulary_read.c
    stale = select(read.collection).where(read.tenant == tenant, read.revision.not_in(live))
    for id in connection.execute(stale.distinct()).scalars().all():
        for table in (vocabulary, vocabulary_read):
            mine = (table.c.tenant == tenant, table.c.collection == id)
            connection.execute(delete(table).where(*mine))

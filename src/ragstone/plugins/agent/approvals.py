"""Calls of tools that wait for an approval: in this process, or in a state that servers share."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from hashlib import sha256

from sqlalchemy import Connection, delete, select, update

from ragstone.core.clock import state_time
from ragstone.core.errors import StateUnavailable, UnknownApproval
from ragstone.core.turn import Principal
from ragstone.local.added import AdapterParts
from ragstone.ports import Approvals
from ragstone.store.sql.database import Database
from ragstone.store.sql.rows import insert
from ragstone.store.sql.tables import waiting_approvals as table

log = logging.getLogger(__name__)

MAX_WAITING = 1_000
"""Calls that wait at a time; further ones are declined."""

_Key = tuple[str, str, str]


class WaitingApprovals:
    """`ports.Approvals`, by tenant, user and call."""

    def __init__(self) -> None:
        self._waiting: dict[_Key, asyncio.Future[bool]] = {}

    async def decision(
        self, principal: Principal, id: str, seconds: float, ask: Callable[[], Awaitable[None]]
    ) -> bool | None:
        key = _key(principal, id)
        if len(self._waiting) >= MAX_WAITING or key in self._waiting:
            return None
        decided: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting[key] = decided
        try:
            async with asyncio.timeout(seconds):
                await ask()
                return await decided
        except TimeoutError:
            return None
        finally:
            del self._waiting[key]

    async def decide(self, principal: Principal, id: str, approved: bool) -> None:
        waiting = self._waiting.get(_key(principal, id))
        if waiting is None or waiting.done():
            raise UnknownApproval
        waiting.set_result(approved)


def _key(principal: Principal, id: str) -> _Key:
    return principal.tenant, principal.user, id


LOOK_SECONDS = 0.25
"""Seconds between two looks for a decision."""

KEPT_SECONDS = 86_400.0
"""Seconds after which a call that waits is what a server left behind that died."""


class SqlApprovals:
    """`ports.Approvals` on the state store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def decision(
        self, principal: Principal, id: str, seconds: float, ask: Callable[[], Awaitable[None]]
    ) -> bool | None:
        name = _row_name(principal, id)
        if not await self._database.keep(lambda connection: _enter(connection, name)):
            return None
        decided = None
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await ask()
                    await self._until_decided(name)
        finally:
            decided = await asyncio.shield(self._leave(name))
        return decided

    async def decide(self, principal: Principal, id: str, approved: bool) -> None:
        waits = (table.c.name == _row_name(principal, id)) & table.c.approved.is_(None)
        decided = update(table).where(waits).values(approved=approved)
        if not await self._database.keep(lambda connection: connection.execute(decided).rowcount):
            raise UnknownApproval

    async def _until_decided(self, name: str) -> None:
        wanted = select(table.c.approved).where(table.c.name == name)
        decided = None
        while decided is None:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                decided = await self._database.read(lambda c: c.execute(wanted).scalar())
            except StateUnavailable as error:
                log.info("A decision about a call cannot be looked for: %s", error)

    async def _leave(self, name: str) -> bool | None:
        """Let nobody decide any more; what was decided until now."""
        gone = delete(table).where(table.c.name == name).returning(table.c.approved)
        try:
            return await self._database.keep(lambda connection: connection.execute(gone).scalar())
        except StateUnavailable as error:
            log.info("A call that waited stays behind for a day: %s", error)
            return None


def _enter(connection: Connection, name: str) -> bool:
    """Tell whether nothing of this name waits yet."""
    now = state_time()
    connection.execute(delete(table).where(table.c.at < now - KEPT_SECONDS))
    row = insert(connection, table).values(name=name, at=now).on_conflict_do_nothing()
    return connection.execute(row.returning(table.c.name)).first() is not None


def _row_name(principal: Principal, id: str) -> str:
    return sha256(repr((principal.tenant, principal.user, id)).encode()).hexdigest()


def open_approvals(parts: AdapterParts) -> Approvals:
    """The calls that wait; where several servers share the state, any of them may be told."""
    return SqlApprovals(parts.database) if parts.database.shared else WaitingApprovals()

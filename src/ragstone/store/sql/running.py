"""Answers that go on in one server and are read at another, on the state store."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from hashlib import sha256

from sqlalchemy import Connection, delete, select, update

from ragstone.core.clock import state_time
from ragstone.core.errors import StateUnavailable, UnknownApproval
from ragstone.core.turn import Principal
from ragstone.ports.jobs import Heard, Interest
from ragstone.store.sql.database import Database
from ragstone.store.sql.rows import insert
from ragstone.store.sql.tables import running_answers, running_parts
from ragstone.store.sql.tables import waiting_approvals as table

LEFT_SECONDS = 3_600.0
"""Seconds after which an answer's rows are what a server left behind that died."""


class SqlRunningAnswers:
    """`ports.RunningAnswers` on the state store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def enter(self, questions: Mapping[str, str]) -> set[str]:
        """`ports.RunningAnswers`."""
        now = state_time()
        begun = {"looks": 0, "beat": 0, "stopped": False, "at": now}
        rows = [{"name": name, "question": said, **begun} for name, said in questions.items()]

        def work(connection: Connection) -> set[str]:
            left = running_answers.c.at < now - LEFT_SECONDS
            connection.execute(delete(running_answers).where(left))
            row = insert(connection, running_answers).values(rows).on_conflict_do_nothing()
            return set(connection.execute(row.returning(running_answers.c.name)).scalars())

        return await self._database.keep(work)

    async def interest(self, names: Collection[str]) -> dict[str, Interest]:
        """`ports.RunningAnswers`."""
        table = running_answers.c
        wanted = select(table.name, table.looks, table.stopped).where(table.name.in_(names))

        def work(connection: Connection) -> dict[str, Interest]:
            rows = connection.execute(wanted).all()
            return {row.name: Interest(row.looks, row.stopped) for row in rows}

        return await self._database.read(work)

    async def tell(self, parts: Mapping[str, tuple[int, int, str]], alive: Collection[str]) -> None:
        """`ports.RunningAnswers`."""
        rows = [
            {"name": name, "first": first, "until": until, "told": told}
            for name, (first, until, told) in parts.items()
        ]
        beat = update(running_answers).where(running_answers.c.name.in_(alive))

        def work(connection: Connection) -> None:
            counted = beat.values(beat=running_answers.c.beat + 1).returning(running_answers.c.name)
            known = set(connection.execute(counted).scalars())
            if some := [row for row in rows if row["name"] in known]:
                connection.execute(running_parts.insert(), some)

        await self._database.keep(work)

    async def hear(self, name: str, after: int) -> Heard | None:
        """`ports.RunningAnswers`."""
        table = running_answers.c
        looked = update(running_answers).where(table.name == name).values(looks=table.looks + 1)
        told = (
            select(running_parts.c.told)
            .where((running_parts.c.name == name) & (running_parts.c.until >= after))
            .order_by(running_parts.c.first)
        )

        def work(connection: Connection) -> Heard | None:
            found = connection.execute(looked.returning(table.question, table.beat)).first()
            if found is None:
                return None
            return Heard(found.question, found.beat, tuple(connection.execute(told).scalars()))

        return await self._database.keep(work)

    async def stop(self, name: str) -> bool:
        """`ports.RunningAnswers`."""
        stopped = update(running_answers).where(running_answers.c.name == name).values(stopped=True)
        return bool(await self._database.keep(lambda c: c.execute(stopped).rowcount))

    async def leave(self, names: Collection[str]) -> None:
        """`ports.RunningAnswers`."""
        gone = delete(running_answers).where(running_answers.c.name.in_(names))

        def work(connection: Connection) -> None:
            connection.execute(gone)

        await self._database.keep(work)


log = logging.getLogger(__name__)

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
        """`ports.Approvals`."""
        name = _name(principal, id)
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
        """`ports.Approvals`."""
        waits = (table.c.name == _name(principal, id)) & table.c.approved.is_(None)
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
    """Whether nothing of this name waits yet."""
    now = state_time()
    connection.execute(delete(table).where(table.c.at < now - KEPT_SECONDS))
    row = insert(connection, table).values(name=name, at=now).on_conflict_do_nothing()
    return connection.execute(row.returning(table.c.name)).first() is not None


def _name(principal: Principal, id: str) -> str:
    return sha256(repr((principal.tenant, principal.user, id)).encode()).hexdigest()

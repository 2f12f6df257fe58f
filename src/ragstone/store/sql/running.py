"""Answers that go on in one server and are read at another, on the state store."""

from collections.abc import Collection, Mapping

from sqlalchemy import Connection, delete, select, update

from ragstone.core.clock import state_time
from ragstone.ports.jobs import Heard, Interest
from ragstone.store.sql.database import Database
from ragstone.store.sql.rows import insert
from ragstone.store.sql.tables import running_answers, running_parts

LEFT_SECONDS = 3_600.0
"""Seconds after which an answer's rows are what a server left behind that died."""


class SqlRunningAnswers:
    """`ports.RunningAnswers` on the state store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def enter(self, questions: Mapping[str, str]) -> set[str]:
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
        table = running_answers.c
        wanted = select(table.name, table.looks, table.stopped).where(table.name.in_(names))

        def work(connection: Connection) -> dict[str, Interest]:
            rows = connection.execute(wanted).all()
            return {row.name: Interest(row.looks, row.stopped) for row in rows}

        return await self._database.read(work)

    async def tell(self, parts: Mapping[str, tuple[int, int, str]], alive: Collection[str]) -> None:
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
        stopped = update(running_answers).where(running_answers.c.name == name).values(stopped=True)
        return bool(await self._database.keep(lambda c: c.execute(stopped).rowcount))

    async def leave(self, names: Collection[str]) -> None:
        gone = delete(running_answers).where(running_answers.c.name.in_(names))

        def work(connection: Connection) -> None:
            connection.execute(gone)

        await self._database.keep(work)

"""Sets of questions and what came of asking them, on the state store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.turn import Principal
from ragstone.local.added import StateStore
from ragstone.plugins.evaluation.contract import (
    AskSetting,
    EvaluationRun,
    Outcome,
    QuestionSet,
    SetQuestion,
    SettingFigures,
)
from ragstone.service import wire
from ragstone.store.sql.rows import put
from ragstone.store.sql.tables import evaluation_outcomes, evaluation_runs, question_sets

_QUESTIONS = tuple[SetQuestion, ...]
_SETTINGS = tuple[AskSetting, ...]
_FIGURES = tuple[SettingFigures, ...]
_LISTED = ("id", "name", "collection", "size", "changed_at")


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run with the questions as they were when it began. Its collection is an id."""

    run: EvaluationRun
    questions: QuestionSet


class SqlEvaluations(StateStore):
    """Sets and runs by tenant and user, who alone has them; collections by their ids. Methods raise
    StateUnavailable and StorageFull.
    """

    name = "evaluation"

    async def sets(self, whose: Principal) -> list[QuestionSet]:
        """By name, without their questions."""
        columns = [question_sets.c[name] for name in _LISTED]
        mine = select(*columns).where(_own(question_sets, whose)).order_by(question_sets.c.name)
        async with self._database.read_view() as connection:
            return [QuestionSet(**row) for row in (await connection.execute(mine)).mappings()]

    async def question_set(self, whose: Principal, id: str) -> QuestionSet | None:
        """Return a set with its questions."""
        one = select(question_sets).where(_own(question_sets, whose), question_sets.c.id == id)
        async with self._database.read_view() as connection:
            row = (await connection.execute(one)).mappings().first()
        if row is None:
            return None
        questions = wire.load(_QUESTIONS, row["questions"])
        return QuestionSet(**{name: row[name] for name in _LISTED}, questions=questions)

    async def put_set(self, whose: Principal, given: QuestionSet) -> None:
        """Keep a set, instead of the one of its id."""
        row = {name: getattr(given, name) for name in _LISTED}
        row |= {"tenant": whose.tenant, "user": whose.user}
        row["questions"] = wire.dump(given.questions, _QUESTIONS)
        await self._database.write(lambda connection: put(connection, question_sets, row))

    async def remove_set(self, whose: Principal, id: str) -> bool:
        """Tell whether there was one; its runs stay."""
        mine = delete(question_sets).where(_own(question_sets, whose), question_sets.c.id == id)

        async def work(connection: AsyncConnection) -> bool:
            return (await connection.execute(mine)).rowcount > 0

        return await self._database.write(work)

    async def begin(self, whose: Principal, stored: StoredRun) -> None:
        """Keep a run that begins."""
        run = stored.run
        row = {
            "id": run.id,
            "tenant": whose.tenant,
            "user": whose.user,
            "collection": run.collection,
            "set_id": run.set_id,
            "set_name": run.set_name,
            "settings": wire.dump(run.settings, _SETTINGS),
            "questions": wire.dump(stored.questions.questions, _QUESTIONS),
            "started_at": run.started_at,
            "ended_at": None,
            "figures": [],
        }
        await self._database.write(lambda connection: put(connection, evaluation_runs, row))

    async def run(self, whose: Principal, id: str) -> StoredRun | None:
        """Return a run, with the number of its outcomes as `asked`."""
        one = select(evaluation_runs, _count_outcomes()).where(
            _own(evaluation_runs, whose), evaluation_runs.c.id == id
        )
        async with self._database.read_view() as connection:
            row = (await connection.execute(one)).mappings().first()
        if row is None:
            return None
        questions = wire.load(_QUESTIONS, row["questions"])
        listed = QuestionSet(
            row["set_id"], row["set_name"], row["collection"], len(questions), 0.0, questions
        )
        return StoredRun(_run(row, len(questions)), listed)

    async def runs(self, whose: Principal, set_id: str, limit: int) -> list[EvaluationRun]:
        """Return the newest first; of one set if `set_id` is not empty."""
        table = evaluation_runs
        size = func.json_array_length(table.c.questions).label("size")
        columns = [column for column in table.c if column is not table.c.questions]
        newest = select(*columns, size, _count_outcomes()).where(_own(table, whose))
        if set_id:
            newest = newest.where(table.c.set_id == set_id)
        newest = newest.order_by(table.c.started_at.desc(), table.c.id).limit(limit)
        async with self._database.read_view() as connection:
            rows = (await connection.execute(newest)).mappings()
            return [_run(row, row["size"]) for row in rows]

    async def keep(self, run: str, outcome: Outcome, origin: str) -> None:
        """Keep an outcome, instead of the one of its setting and number. `origin` is what it was
        answered from (`Provenance.text`). Nothing is kept for a run that was removed."""
        right = None if outcome.right is None else int(outcome.right)
        row = {
            "run": run,
            "number": outcome.number,
            "setting": outcome.setting,
            "right": right,
            "origin": origin,
            "outcome": wire.dump(outcome),
        }
        known = select(evaluation_runs.c.id).where(evaluation_runs.c.id == run)

        async def work(connection: AsyncConnection) -> None:
            if (await connection.execute(known)).first():
                await put(connection, evaluation_outcomes, row)

        await self._database.write(work)

    async def end(
        self, whose: Principal, id: str, at: float, figures: Sequence[SettingFigures]
    ) -> None:
        """A run is done."""
        found = wire.dump(tuple(figures), _FIGURES)
        done = (
            update(evaluation_runs)
            .where(_own(evaluation_runs, whose), evaluation_runs.c.id == id)
            .values(ended_at=at, figures=found)
        )

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(done)

        await self._database.write(work)

    async def outcomes(
        self,
        run: str,
        setting: int | None = None,
        wrong: bool = False,
        limit: int = 100_000,
        offset: int = 0,
    ) -> list[tuple[Outcome, str]]:
        """The outcomes of a run with their origins, by number and setting."""
        table = evaluation_outcomes
        wanted = select(table.c.outcome, table.c.origin).where(table.c.run == run)
        if setting is not None:
            wanted = wanted.where(table.c.setting == setting)
        if wrong:
            wanted = wanted.where(table.c.right == 0)
        wanted = wanted.order_by(table.c.number, table.c.setting).limit(limit).offset(offset)
        async with self._database.read_view() as connection:
            rows = (await connection.execute(wanted)).all()
        return [(wire.load(Outcome, outcome), origin) for outcome, origin in rows]

    async def remove_run(self, whose: Principal, id: str) -> bool:
        """Remove a run with its outcomes; whether there was one."""
        return await self._remove(whose, evaluation_runs.c.id == id) > 0

    async def _remove(self, whose: Principal, which: ColumnElement[bool]) -> int:
        mine = _own(evaluation_runs, whose) & which
        runs = select(evaluation_runs.c.id).where(mine)

        async def work(connection: AsyncConnection) -> int:
            outcomes = delete(evaluation_outcomes).where(evaluation_outcomes.c.run.in_(runs))
            await connection.execute(outcomes)
            return (await connection.execute(delete(evaluation_runs).where(mine))).rowcount

        return await self._database.write(work)


def _own(table: Any, whose: Principal) -> ColumnElement[bool]:
    mine: ColumnElement[bool] = (table.c.tenant == whose.tenant) & (table.c.user == whose.user)
    return mine


def _count_outcomes() -> Any:
    """Tell how many outcomes a run has."""
    own = evaluation_outcomes.c.run == evaluation_runs.c.id
    return select(func.count()).where(own).scalar_subquery().label("asked")


def _run(row: Mapping[Any, Any], size: int) -> EvaluationRun:
    settings = wire.load(_SETTINGS, row["settings"])
    return EvaluationRun(
        id=row["id"],
        set_id=row["set_id"],
        set_name=row["set_name"],
        collection=row["collection"],
        settings=settings,
        started_at=row["started_at"],
        state="running" if row["ended_at"] is None else "done",
        ended_at=row["ended_at"],
        asked=row["asked"],
        total=size * len(settings),
        figures=wire.load(_FIGURES, row["figures"]),
    )

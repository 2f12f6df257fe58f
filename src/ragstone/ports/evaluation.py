"""The port that keeps sets of questions, and what came of asking them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ragstone.core.evaluation import EvaluationRun, Outcome, QuestionSet, SettingFigures
from ragstone.core.turn import Principal


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run with the questions as they were when it began. Its collection is an id."""

    run: EvaluationRun
    questions: QuestionSet


class EvaluationStore(Protocol):
    """Sets and runs by tenant and user, who alone has them; collections by their ids. Methods raise
    StateUnavailable and StorageFull."""

    async def sets(self, whose: Principal) -> Sequence[QuestionSet]:
        """By name, without their questions."""
        ...

    async def question_set(self, whose: Principal, id: str) -> QuestionSet | None:
        """A set with its questions."""
        ...

    async def put_set(self, whose: Principal, given: QuestionSet) -> None:
        """Keep a set, instead of the one of its id."""
        ...

    async def remove_set(self, whose: Principal, id: str) -> bool:
        """Whether there was one; its runs stay."""
        ...

    async def begin(self, whose: Principal, stored: StoredRun) -> None:
        """Keep a run that begins."""
        ...

    async def run(self, whose: Principal, id: str) -> StoredRun | None:
        """A run, with the number of its outcomes as `asked`."""
        ...

    async def runs(self, whose: Principal, set_id: str, limit: int) -> Sequence[EvaluationRun]:
        """The newest first; of one set if `set_id` is not empty."""
        ...

    async def keep(self, run: str, outcome: Outcome, origin: str) -> None:
        """Keep an outcome, instead of the one of its setting and number. `origin` is what it was
        answered from (`Provenance.text`). Nothing is kept for a run that was removed."""
        ...

    async def end(
        self, whose: Principal, id: str, at: float, figures: Sequence[SettingFigures]
    ) -> None:
        """A run is done."""
        ...

    async def outcomes(
        self,
        run: str,
        setting: int | None = None,
        wrong: bool = False,
        limit: int = 100_000,
        offset: int = 0,
    ) -> Sequence[tuple[Outcome, str]]:
        """The outcomes of a run with their origins, by number and setting."""
        ...

    async def remove_run(self, whose: Principal, id: str) -> bool:
        """Remove a run with its outcomes; whether there was one."""
        ...

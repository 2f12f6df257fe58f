"""Evaluation on one's own documents: sets of questions, runs over them, and what came of these."""

from collections.abc import Sequence
from typing import Annotated, Literal, Protocol

from pydantic import Field

from ragstone.core.turn import Principal
from ragstone.plugins.evaluation.records import (
    MAX_QUESTIONS,
    AskSetting,
    EvaluationRun,
    Outcome,
    OutcomeChange,
    QuestionSet,
    SetQuestion,
)
from ragstone.service.added import AddedService
from ragstone.service.allowed import require_role
from ragstone.service.bounds import Count, Offset, text

Id = Annotated[str, text(255, 1)]
MaybeId = Annotated[str, text(255)]
Name = Annotated[str, text(255, 1)]
Questions = Annotated[Sequence[SetQuestion], Field(max_length=MAX_QUESTIONS)]
File = Annotated[str, text(20_000_000)]
Which = Literal["all", "wrong"]


class EvaluationService(Protocol):
    """A principal's sets of questions and runs, which nobody else has. A question is asked as the
    principal, so an answer stands on what that may read; what it may not read any more is not shown
    of earlier runs. Methods that name a set or a run raise UnknownQuestionSet or UnknownRun; all
    raise StateUnavailable, and Unauthorized for who has no credential.
    """

    @require_role("editor")
    async def sets(self, principal: Principal) -> list[QuestionSet]:
        """The sets by name, without their questions."""
        ...

    @require_role("editor")
    async def question_set(self, principal: Principal, id: Id) -> QuestionSet:
        """A set with its questions."""
        ...

    @require_role("editor")
    async def put_set(
        self, principal: Principal, collection: Name, name: Name, questions: Questions
    ) -> QuestionSet:
        """Keep a set, instead of the one of this name about the collection. Raises InputError for
        questions that are empty, too long or too many, and UnknownCollection."""
        ...

    @require_role("editor")
    async def remove_set(self, principal: Principal, id: Id) -> None:
        """Delete a set; the runs over it stay."""
        ...

    @require_role("editor")
    async def read_file(self, principal: Principal, text: File) -> list[SetQuestion]:
        """The questions of a file: JSON lines, a JSON list, CSV with a column `question`, or a
        question in each line. Raises InputError, which names the row."""
        ...

    @require_role("admin", everywhere=True)
    async def from_feedback(
        self, principal: Principal, about: Name, limit: Count = 500
    ) -> list[SetQuestion]:
        """What the tenant's users thought of answers about a collection, as questions: an answer
        with a thumb up is the `liked` one, with a thumb down the `disliked` one, and comments are
        kept."""
        ...

    @require_role("editor")
    async def start(
        self, principal: Principal, id: Id, settings: Sequence[AskSetting]
    ) -> EvaluationRun:
        """Ask the questions of a set in the background, with each of the settings. The run's id is
        that of its job, by which it is watched, cancelled and tried again; what was asked by then
        is not asked again. Raises InputError for settings without different names, QueueFull."""
        ...

    @require_role("editor")
    async def runs(
        self, principal: Principal, set_id: MaybeId = "", limit: Count = 50
    ) -> list[EvaluationRun]:
        """The runs, the newest first; of one set if `set_id` is not empty."""
        ...

    @require_role("editor")
    async def run(self, principal: Principal, id: Id) -> EvaluationRun:
        """One run, as far as it is."""
        ...

    @require_role("editor")
    async def outcomes(
        self,
        principal: Principal,
        id: Id,
        *,
        which: Which = "all",
        setting: Offset | None = None,
        limit: Count = 100,
        offset: Offset = 0,
    ) -> list[Outcome]:
        """What came of the questions of a run, in the order of the set; of one setting by its
        place, or only what is wrong."""
        ...

    @require_role("editor")
    async def changes(self, principal: Principal, id: Id, earlier: Id) -> list[OutcomeChange]:
        """The questions that are right in one of two runs only, with settings of the same name."""
        ...

    @require_role("editor")
    async def report(self, principal: Principal, id: Id, earlier: MaybeId = "") -> str:
        """The run as one HTML page that needs nothing else: measures and plots by setting, compared
        with an earlier run if one is named, and every wrong answer with how it came about."""
        ...

    @require_role("editor")
    async def remove_run(self, principal: Principal, id: Id) -> None:
        """Delete a run with all that came of it; one that goes on is cancelled."""
        ...


EVALUATION: AddedService[EvaluationService] = AddedService(
    "evaluation", EvaluationService, "ragstone.plugins.evaluation.service:open_service"
)

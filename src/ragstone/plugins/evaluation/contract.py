"""Evaluation on one's own documents: sets of questions, runs over them, and what came of these.

Questions with what is expected of their answers, and what came of asking them.

Scores and shares lie in 0..1; times are seconds since 1970, durations seconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from pydantic import Field

from ragstone.core.answer import Finish, Label
from ragstone.core.turn import (
    Level,
    Mode,
    Preference,
    Principal,
    SearchOptions,
    StageTrace,
    Strategy,
)
from ragstone.service.added import AddedService
from ragstone.service.routes import Count, Offset, require_role, text

MAX_QUESTIONS = 2_000
"""Questions in a set."""
MAX_SETTINGS = 8
"""Settings that one run compares."""


@dataclass(frozen=True, slots=True)
class SetQuestion:
    """A question of a set, and what is expected of its answer; without any of that it is asked and
    shown, but neither right nor wrong.

    One of `answers` is to stand in the answer, one of `sources` is to be cited: a document's path,
    the end of it, its id or title, with a page as in `report.pdf#page=3`. `liked` is a whole answer
    that was good, `disliked` one that was bad. With `answerable` false the answer is to be a
    refusal. `comment` is for people.
    """

    question: str
    answers: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    answerable: bool = True
    liked: str = ""
    disliked: str = ""
    comment: str = ""


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions about one collection, of one user. `size` counts them; a list of sets has them
    without their questions."""

    id: str
    name: str
    collection: str
    size: int
    changed_at: float
    questions: tuple[SetQuestion, ...] = ()


@dataclass(frozen=True, slots=True)
class AskSetting:
    """How the questions are asked; what is empty is left to the plan, as in `turn.Ask`. The `name`
    tells settings apart, in one run and from one run to the next."""

    name: str = ""
    level: Level = "standard"
    prefer: Preference | None = None
    mode: Mode | None = None
    strategy: Strategy | None = None
    top_k: int | None = None
    wanted: SearchOptions = SearchOptions()
    reasons: bool | None = None
    verifies: bool | None = None
    votes: bool | None = None


@dataclass(frozen=True, slots=True)
class ConfidenceStep:
    """The answers whose confidence is from `low` to a tenth more: how many were judged, and which
    share of these is right."""

    low: float
    answers: int
    right: float


@dataclass(frozen=True, slots=True)
class SettingFigures:
    """What came of one setting: the measures by name, None where no question allows one."""

    setting: str
    measures: Mapping[str, float | None]
    steps: tuple[ConfidenceStep, ...] = ()


RunState = Literal["queued", "running", "paused", "done", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class EvaluationRun:
    """The questions of a set, asked with each of some settings. `id` is also that of its job.

    `asked` counts answers, of `total`. `figures` stand in the order of `settings`, once it is
    done. `error` says why it failed.
    """

    id: str
    set_id: str
    set_name: str
    collection: str
    settings: tuple[AskSetting, ...]
    started_at: float
    state: RunState = "queued"
    ended_at: float | None = None
    asked: int = 0
    total: int = 0
    figures: tuple[SettingFigures, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that the search found, by its place; `cited` says that the answer leans on it."""

    document_id: str
    title: str
    path: str
    page: int | None
    start: int
    end: int
    score: float
    cited: bool = False


Reason = Literal[
    "",
    "refused",
    "answered",
    "other_answer",
    "other_source",
    "unlike_the_liked",
    "like_the_disliked",
    "failed",
]
"""Why an answer is wrong: it refused what can be answered, answered what cannot, holds none of the
accepted answers, cites none of the expected documents, is not like the good answer, is the bad one
again, or there is none because the question failed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one question with one setting. `number` is its place in the set and `setting`
    the setting's in the run, from 0. `right` is None where nothing was expected; `supported` is the
    share of the answer's claims that the documents support, `found_at` the place of the first
    expected document, from 1, None where none was found."""

    number: int
    setting: int
    question: SetQuestion
    text: str
    finish: Finish
    right: bool | None
    reason: Reason = ""
    confidence: float | None = None
    supported: float | None = None
    verdicts: tuple[Label, ...] = ()
    found_at: int | None = None
    found: tuple[FoundPassage, ...] = ()
    model: str = ""
    strategy: str = ""
    queries: tuple[str, ...] = ()
    seconds: float = 0.0
    tokens: int = 0
    cost: float | None = None
    error: str = ""
    trace: tuple[StageTrace, ...] = ()


@dataclass(frozen=True, slots=True)
class OutcomeChange:
    """A question that is right in one run and not in the other, with the same setting."""

    question: str
    setting: str
    before: bool | None
    after: bool | None
    number: int


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

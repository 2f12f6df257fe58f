"""Statistics: questions, their cost, and traces of single questions.

What people think of answers: kept, and read again to improve them.
"""

from typing import Annotated, Protocol

from pydantic import Field

from ragstone.core.records import By, Feedback, QuestionTrace, StageUse, StrategyUse, Thumb, Use
from ragstone.core.turn import Principal
from ragstone.service.routes import Count, Days, require_role, route, text

User = Annotated[str | None, Field(max_length=255, description="Only this user's.")]
Id = Annotated[str, Field(max_length=255)]
_DAYS = "Today (UTC) and the days before."


class StatisticsService(Protocol):
    """The figures of a tenant, of one `user` or of all."""

    @route(
        "GET",
        "/stats",
        "use",
        role="admin",
        keyed=True,
        days=Field(30, description=_DAYS),
        by=Field("day"),
    )
    async def use(self, tenant: str, days: Days, by: By, user: User = None) -> list[Use]:
        """Questions, tokens and cost by day, user, account of the client (`user_id`), room or
        model: the sums over today (UTC) and the days before, `days` in all, by name."""
        ...

    @route(
        "GET",
        "/traces",
        "traces",
        role="admin",
        keyed=True,
        limit=Field(50, ge=1, le=1000, description="How many."),
        before=Field(description="Older than this time."),
    )
    async def traces(
        self, tenant: str, limit: Count, before: float | None = None, user: User = None
    ) -> list[QuestionTrace]:
        """The newest questions that are kept: what each stage did, and what they cost;
        older than `before` (seconds since 1970)."""
        ...

    @route("GET", "/traces/{id}", role="admin", keyed=True)
    async def trace(self, tenant: str, id: Id, user: User = None) -> QuestionTrace:
        """What happened to one question. Raises UnknownTrace."""
        ...

    @route(
        "GET", "/stats/stages", "stages", role="admin", keyed=True, days=Field(1, description=_DAYS)
    )
    async def stages(self, tenant: str, days: Days) -> list[StageUse]:
        """How long each stage took in the questions that are kept, in the order of the recipe."""
        ...

    @route(
        "GET",
        "/stats/strategies",
        "strategies",
        role="admin",
        keyed=True,
        days=Field(30, description=_DAYS),
    )
    async def strategies(self, tenant: str, days: Days) -> list[StrategyUse]:
        """How often each strategy searched, in what time, and how sure its answers were."""
        ...


AnswerId = Annotated[str, text(255, 1)]
Asked = Annotated[str, text(20_000, 1)]
Answered = Annotated[str, text(200_000)]
Comment = Annotated[str, text(2_000)]
Name = Annotated[str, text(255)]


class FeedbackService(Protocol):
    """A thumb and a comment for each answer and user. Methods raise StateUnavailable."""

    @require_role("reader")
    async def give(
        self,
        principal: Principal,
        answer_id: AnswerId,
        thumb: Thumb,
        *,
        question: Asked,
        answer: Answered = "",
        collection: Name = "default",
        comment: Comment = "",
    ) -> None:
        """Keep what the principal thinks of an answer, instead of what it thought before. The
        question and the answer are kept with it, also where conversations are not.

        Raises Unauthorized for who has no credential.
        """
        ...

    @require_role("admin", everywhere=True)
    async def list_all(self, tenant: str, limit: Count = 100) -> list[Feedback]:
        """The newest feedback of a tenant's users."""
        ...

"""Statistics: questions, their cost, and traces of single questions."""

from typing import Annotated, Protocol

from pydantic import Field

from ragstone.core.records import By, QuestionTrace, StageUse, StrategyUse, Use
from ragstone.service.bounds import Count, Days
from ragstone.service.routes import route

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

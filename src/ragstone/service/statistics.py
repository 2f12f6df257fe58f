"""Statistics: questions, their cost, and traces of single questions."""

from typing import Protocol

from ragstone.core.records import By, QuestionTrace, StageUse, Use
from ragstone.service.bounds import Count, Days


class StatisticsService(Protocol):
    """The figures of a tenant, of one `user` or of all."""

    async def use(self, tenant: str, days: Days, by: By, user: str | None = None) -> list[Use]:
        """The sums over today (UTC) and the days before, `days` in all, by name."""
        ...

    async def traces(
        self, tenant: str, limit: Count, before: float | None = None, user: str | None = None
    ) -> list[QuestionTrace]:
        """The newest questions that are kept, older than `before` (seconds since 1970)."""
        ...

    async def trace(self, tenant: str, id: str, user: str | None = None) -> QuestionTrace:
        """One question. Raises UnknownTrace."""
        ...

    async def stages(self, tenant: str, days: Days) -> list[StageUse]:
        """How long each stage took in the questions that are kept, in the order of the recipe."""
        ...

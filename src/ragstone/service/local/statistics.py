"""Figures and traces of a Ragstone in this process."""

import time

from ragstone.core.errors import UnknownTrace
from ragstone.core.records import By, QuestionTrace, StageUse, Use
from ragstone.ports import Adapters, Traces

DAY = 86_400.0


class LocalStatistics:
    """`service.Statistics` on adapters of this process."""

    def __init__(self, adapters: Adapters) -> None:
        self._adapters = adapters

    async def use(self, tenant: str, days: int, by: By, user: str | None = None) -> list[Use]:
        return await self._adapters.history.use(tenant, days, by, user)

    async def traces(
        self, tenant: str, limit: int, before: float | None = None, user: str | None = None
    ) -> list[QuestionTrace]:
        return list(await self._traces.latest(tenant, limit, before, user))

    async def trace(self, tenant: str, id: str, user: str | None = None) -> QuestionTrace:
        found = await self._traces.get(tenant, id)
        if found is None or user not in (None, found.user):
            raise UnknownTrace(id)
        return found

    async def stages(self, tenant: str, days: int) -> list[StageUse]:
        return list(await self._traces.stages(tenant, time.time() - days * DAY))

    @property
    def _traces(self) -> Traces:
        return self._adapters.traces

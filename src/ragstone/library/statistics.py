"""Figures and traces of a Ragstone in this process."""

import time

from ragstone.errors import UnknownTrace
from ragstone.ports import Kit, Traces
from ragstone.records import By, QuestionTrace, StageUse, Use

DAY = 86_400.0


class LocalStatistics:
    """`service.Statistics` on adapters of this process."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    async def use(self, tenant: str, days: int, by: By, user: str | None = None) -> list[Use]:
        return await self._kit.history.use(tenant, days, by, user)

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
        assert self._kit.traces is not None  # noqa: S101  build.py always makes them
        return self._kit.traces

"""Figures and traces of a Ragstone in this process.

Feedback in this process.
"""

from dataclasses import replace

from ragstone.access.asking import check_everywhere, check_known, current_reader
from ragstone.conversation.reach import select_readable
from ragstone.core.clock import state_time
from ragstone.core.errors import UnknownTrace
from ragstone.core.readers import Reader
from ragstone.core.records import By, Feedback, QuestionTrace, StageUse, StrategyUse, Thumb, Use
from ragstone.core.turn import Principal
from ragstone.ports import Adapters, FeedbackStore, Traces

DAY = 86_400.0


class LocalStatistics:
    """`service.Statistics` on adapters of this process."""

    def __init__(self, adapters: Adapters) -> None:
        self._adapters = adapters

    async def use(self, tenant: str, days: int, by: By, user: str | None = None) -> list[Use]:
        check_everywhere()
        return await self._adapters.history.use(tenant, days, by, user)

    async def traces(
        self, tenant: str, limit: int, before: float | None = None, user: str | None = None
    ) -> list[QuestionTrace]:
        mine = await self._readable(tenant)
        found = await self._traces.latest(tenant, limit, before, user, mine)
        return [replace(item, origin="") for item in found]

    async def trace(self, tenant: str, id: str, user: str | None = None) -> QuestionTrace:
        found = await self._traces.get(tenant, id)
        if found is None or user not in (None, found.user):
            raise UnknownTrace(id)
        names = self._adapters.catalog
        if await select_readable([found.origin], current_reader(), names, tenant) == []:
            raise UnknownTrace(id)
        return replace(found, origin="")

    async def stages(self, tenant: str, days: int) -> list[StageUse]:
        mine = await self._readable(tenant)
        return list(await self._traces.stages(tenant, state_time() - days * DAY, mine))

    async def strategies(self, tenant: str, days: int) -> list[StrategyUse]:
        check_everywhere()
        return list((await self._adapters.history.report(tenant, days)).strategies)

    async def _readable(self, tenant: str) -> list[str] | None:
        """Return the origins of traces that who asks may see, None for all."""
        if current_reader() == Reader():
            return None
        known = await self._traces.origins(tenant)
        return await select_readable(known, current_reader(), self._adapters.catalog, tenant)

    @property
    def _traces(self) -> Traces:
        return self._adapters.traces


class LocalFeedback:
    """`service.feedback.FeedbackService` on the port."""

    def __init__(self, store: FeedbackStore) -> None:
        self._store = store

    async def give(
        self,
        principal: Principal,
        answer_id: str,
        thumb: Thumb,
        *,
        question: str,
        answer: str = "",
        collection: str = "default",
        comment: str = "",
    ) -> None:
        check_known()
        await self._store.put(
            Feedback(
                principal.tenant,
                principal.user,
                answer_id,
                thumb,
                comment,
                question,
                answer,
                collection,
                state_time(),
            )
        )

    async def list_all(self, tenant: str, limit: int = 100) -> list[Feedback]:
        check_everywhere()
        return list(await self._store.latest(tenant, limit))

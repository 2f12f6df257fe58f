"""Feedback in this process."""

from ragstone.access.asking import check_everywhere, check_known
from ragstone.core.clock import state_time
from ragstone.core.records import Feedback, Thumb
from ragstone.core.turn import Principal
from ragstone.ports import FeedbackStore


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

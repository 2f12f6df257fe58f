"""The port that keeps what people think of answers."""

from collections.abc import Sequence
from typing import Protocol

from ragstone.core.records import Feedback
from ragstone.core.turn import Principal


class FeedbackStore(Protocol):
    """Feedback by tenant, user and answer. Methods raise StateUnavailable and StorageFull."""

    async def put(self, feedback: Feedback) -> None:
        """Keep it, instead of what the same user thought of the same answer before."""
        ...

    async def latest(self, tenant: str, limit: int) -> Sequence[Feedback]:
        """The newest first."""
        ...

    async def forget(self, principal: Principal) -> None:
        """Delete that of a principal."""
        ...

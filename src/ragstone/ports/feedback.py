"""The port that keeps what people think of answers."""

from collections.abc import Sequence
from typing import Protocol

from ragstone.core.records import Feedback


class FeedbackStore(Protocol):
    """Feedback by tenant, user and answer. Methods raise StateUnavailable and StorageFull."""

    async def put(self, feedback: Feedback) -> None:
        """Keep it, instead of what the same user thought of the same answer before."""
        ...

    async def latest(self, tenant: str, limit: int) -> Sequence[Feedback]:
        """The newest first."""
        ...

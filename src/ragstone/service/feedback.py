"""What people think of answers: kept, and read again to improve them."""

from typing import Annotated, Protocol

from ragstone.core.records import Feedback, Thumb
from ragstone.core.turn import Principal
from ragstone.service.allowed import require_role
from ragstone.service.bounds import Count, text

Id = Annotated[str, text(255, 1)]
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
        answer_id: Id,
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

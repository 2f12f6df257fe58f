"""Verified answers: written, listed and removed, and the questions that want one."""

from collections.abc import Sequence
from typing import Annotated, Protocol

from pydantic import Field

from ragstone.core.turn import Principal
from ragstone.plugins.verified.records import QuestionGroup, SourcePlace, VerifiedAnswer
from ragstone.service.added import AddedService
from ragstone.service.allowed import require_role
from ragstone.service.bounds import Seconds, text
from ragstone.service.readers import Names
from ragstone.service.routes import route

Name = Annotated[str, text(255, 1)]
Id = Annotated[str, text(64)]
Text = Annotated[str, text(20_000, 1)]
Wordings = Annotated[Sequence[Annotated[str, text(2_000, 1)]], Field(min_length=1, max_length=100)]
Sources = Annotated[Sequence[SourcePlace], Field(min_length=1, max_length=50)]
ADDRESS = "/collections/{name:path}/verified"


class VerifiedService(Protocol):
    """The verified answers of collections, for their administrators. All raise UnknownCollection
    and StateUnavailable."""

    @require_role("admin")
    @route("GET", ADDRESS, "answers")
    async def list_all(self, principal: Principal, collection: Name) -> list[VerifiedAnswer]:
        """The verified answers of a collection, the newest first, whoever may read them."""
        ...

    @require_role("admin")
    @route("PUT", ADDRESS, wordings=Field(description="Questions that it answers."))
    async def put(
        self,
        principal: Principal,
        collection: Name,
        text: Text,
        wordings: Wordings,
        sources: Sources,
        *,
        readers: Names = (),
        owner: Annotated[str, text(255)] = "",
        expires_at: Seconds | None = None,
        id: Id = "",
    ) -> VerifiedAnswer:
        """Keep a verified answer, instead of the one of this `id` if one is given. It is given to
        those of its `readers` (none: everyone) who may read every source, while no source changes
        and until it expires. `owner` is who answers for it, the caller where it is empty.

        Raises UnknownDocument for a source that the principal cannot read, UnknownVerified for an
        unknown id, and InputError.
        """
        ...

    @require_role("admin")
    @route("DELETE", ADDRESS + "/{id}", {"removed": "id"})
    async def remove(self, principal: Principal, collection: Name, id: Id) -> None:
        """Remove a verified answer. Raises UnknownVerified."""
        ...

    @require_role("admin")
    @route("GET", "/collections/{name:path}/questions-to-answer", "groups")
    async def review(
        self,
        principal: Principal,
        collection: Name,
        limit: Annotated[int, Field(ge=1, le=5_000)] = 500,
    ) -> list[QuestionGroup]:
        """The questions about a collection that were refused, where traces hold questions
        (STATISTICS__QUESTIONS), or whose answers were disliked, and that no verified answer
        answers now: those that are alike in a group, the largest group first. Only what the
        principal may see of what others asked; opinions are for credentials of every collection.
        At most `limit` of each kind are read, the newest."""
        ...


VERIFIED: AddedService[VerifiedService] = AddedService(
    "verified", VerifiedService, "ragstone.plugins.verified.service:open_service"
)

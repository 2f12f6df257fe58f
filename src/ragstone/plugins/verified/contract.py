"""Verified answers: written, listed and removed, and the questions that want one.

The data of verified answers, and of questions that want one. Times are seconds since 1970.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from pydantic import Field

from ragstone.core.turn import Principal
from ragstone.service.added import AddedService
from ragstone.service.readers import Names
from ragstone.service.routes import Seconds, require_role, route, text

State = Literal["current", "expired", "changed", "gone"]
"""Only a current answer is given: one has expired, a source of others has changed or is gone."""


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A document by its path or id, and what of it an answer stands on: the characters from
    `start` to before `end`, the document's beginning where both are 0."""

    document: Annotated[str, text(4_000, 1)]
    start: Annotated[int, Field(ge=0, le=2**53)] = 0
    end: Annotated[int, Field(ge=0, le=2**53)] = 0


@dataclass(frozen=True, slots=True)
class VerifiedSource:
    """A document as it was when the answer was verified, which its `content_hash` tells."""

    document_id: str
    path: str
    title: str
    start: int
    end: int
    content_hash: str


@dataclass(frozen=True, slots=True)
class VerifiedAnswer:
    """An answer that the `owner` answers for, to questions that ask the same as one of the
    `wordings`. `[1]` in `text` is the first of `sources`. `readers` narrow down who is given it of
    those who may read all sources; `*` is everyone of them. `expires_at` is None for never."""

    id: str
    collection: str
    text: str
    wordings: tuple[str, ...]
    sources: tuple[VerifiedSource, ...]
    owner: str
    readers: tuple[str, ...]
    changed_at: float
    expires_at: float | None = None
    state: State = "current"


@dataclass(frozen=True, slots=True)
class ReviewedQuestion:
    """A question that was refused, or whose answer was disliked, with what was said of that."""

    question: str
    reason: Literal["refused", "disliked"]
    at: float
    answer: str = ""
    comment: str = ""


@dataclass(frozen=True, slots=True)
class QuestionGroup:
    """Questions that are alike, the newest first; `question` stands for them."""

    question: str
    questions: tuple[ReviewedQuestion, ...]


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

"""The data of verified answers, and of questions that want one. Times are seconds since 1970."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from ragstone.service.bounds import text

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

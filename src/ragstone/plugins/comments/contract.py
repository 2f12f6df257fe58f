"""What customers say: comments counted by theme, tone, time and the values of their columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Protocol

from pydantic import Field

from ragstone.core.errors import InputError
from ragstone.core.turn import Principal
from ragstone.plugins.comments.comments import CustomerComment, ToneCounts, ToneName
from ragstone.service.added import AddedService
from ragstone.service.routes import require_role, text

About = Annotated[str, text(1_000)]
Column = Annotated[str, text(200)]
Day = Annotated[str, text(10)]
Most = Annotated[int, Field(ge=1, le=1_000)]


@dataclass(frozen=True, slots=True)
class CommentsView:
    """Comments that a principal may read. `among` are those of the days and values that were asked
    for, `counted` those of them that speak of the topic and have the tone. Of `counted`: their
    `themes`, `months` and the values of columns (`labels`), and the most telling `comments`.
    `left_out` are tables that were not read and why, `waiting` comments that are being read."""

    among: ToneCounts
    counted: ToneCounts
    themes: tuple[ToneCounts, ...]
    months: tuple[ToneCounts, ...]
    labels: Mapping[str, tuple[ToneCounts, ...]]
    comments: tuple[CustomerComment, ...]
    left_out: tuple[str, ...] = ()
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class CommentsWanted:
    """Which comments are meant: that speak `about` something in any words, of a tone, of days (ISO,
    both inclusive), with these values of columns. What is empty is any. At most `limit` are
    shown."""

    about: About = ""
    tone: ToneName = ""
    since: Day = ""
    until: Day = ""
    labels: Mapping[Column, Column] = field(default_factory=dict)
    limit: Most = 20


def column_values(pairs: Sequence[str]) -> dict[str, str]:
    """The values of columns that COLUMN=VALUE pairs say. Raises InputError for anything else."""
    found: dict[str, str] = {}
    for pair in pairs:
        column, sign, value = pair.partition("=")
        if not sign or not column.strip() or len(pair) > 400:
            raise InputError(f"A column is given as COLUMN=VALUE, but {pair[:100]!r} is not.")
        found[column.strip()] = value.strip()
    return found


class CommentService(Protocol):
    """The comments of collections, and those on answers."""

    @require_role("reader")
    async def show(
        self, principal: Principal, collection: str, wanted: CommentsWanted
    ) -> CommentsView:
        """The comments of a collection's tables, of those that the principal may read alone.

        Raises UnknownCollection, and InputError for a column that no comment has.
        """
        ...

    @require_role("admin", everywhere=True)
    async def of_answers(self, tenant: str, wanted: CommentsWanted) -> CommentsView:
        """The comments that a tenant's users wrote on answers, by thumb. Raises InputError,
        StateUnavailable."""
        ...


COMMENTS: AddedService[CommentService] = AddedService(
    "comments", CommentService, "ragstone.plugins.comments.service:open_service"
)

"""Customers' comments in this process."""

from datetime import UTC, date, datetime

from ragstone.access.asking import check_everywhere
from ragstone.core.errors import InputError, UnknownCollection
from ragstone.core.filters import And, exclude_hidden, reader_filter
from ragstone.core.records import Feedback
from ragstone.core.turn import Principal
from ragstone.local.added import ServiceParts
from ragstone.plugins.comments.comment_reader import LocalCommentReader, ReadComments, own_reader
from ragstone.plugins.comments.comment_table import rate_tone
from ragstone.plugins.comments.comments import CommentQuery, CustomerComment, ToneCounts
from ragstone.plugins.comments.contract import CommentsView, CommentsWanted
from ragstone.plugins.comments.counting import by_label, by_month, count_comments
from ragstone.ports import Adapters

SECONDS = 40.0
"""Seconds that a request waits for comments that are read the first time."""

MAX_FEEDBACK = 2_000
"""The newest thumbs of which comments are read."""


class LocalComments:
    """`service.comments.CommentService` on the index and the state of this process."""

    def __init__(self, adapters: Adapters) -> None:
        self._adapters = adapters

    async def show(
        self, principal: Principal, collection: str, wanted: CommentsWanted
    ) -> CommentsView:
        _check(wanted)
        known = await self._adapters.catalog.collection(principal.tenant, collection)
        if known is None:
            raise UnknownCollection(collection)
        reader = self._reader()
        async with self._adapters.catalog.snapshot(known) as hidden:
            where = And((reader_filter(principal), exclude_hidden(hidden)))
            read = await reader.read(known, where, SECONDS)
        return await _view(wanted, read, reader)

    async def of_answers(self, tenant: str, wanted: CommentsWanted) -> CommentsView:
        check_everywhere()
        _check(wanted)
        kept = await self._adapters.feedback.latest(tenant, MAX_FEEDBACK)
        reader = self._reader()
        read = await reader.of_texts([_comment(item) for item in kept if item.comment.strip()])
        return await _view(wanted, read, reader)

    def _reader(self) -> LocalCommentReader:
        reader = own_reader(self._adapters)
        if reader is None:
            raise InputError("Comments cannot be read here: there is no embedder for them.")
        return reader


def open_service(parts: ServiceParts) -> LocalComments:
    """Make the operations of this process."""
    return LocalComments(parts.adapters)


def _check(wanted: CommentsWanted) -> None:
    for name, day in (("since", wanted.since), ("until", wanted.until)):
        if day and not _is_day(day):
            raise InputError(f"{name} is {day!r}; a day is given as YYYY-MM-DD.")
    if wanted.since and wanted.until and wanted.since > wanted.until:
        raise InputError(
            f"since is {wanted.since}, which is after until, {wanted.until}. Swap them."
        )


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


async def _view(
    wanted: CommentsWanted, read: ReadComments, reader: LocalCommentReader
) -> CommentsView:
    query = CommentQuery(
        wanted.about.strip(), wanted.tone or None, wanted.since, wanted.until, wanted.labels
    )
    found = await count_comments(query, read, reader)
    themes = tuple(
        ToneCounts.count(theme.name, [found.counted[at] for at in theme.places])
        for theme in found.themes
    )
    return CommentsView(
        ToneCounts.count("", found.among),
        ToneCounts.count(wanted.about, found.counted),
        themes,
        tuple(by_month(found.counted)),
        {name: tuple(values) for name, values in by_label(found.counted).items()},
        found.counted[: wanted.limit],
        read.left_out,
        read.waiting,
    )


def _comment(feedback: Feedback) -> CustomerComment:
    """Return a thumb with its comment. It stands in no document."""
    share = 1.0 if feedback.thumb == "up" else 0.0
    return CustomerComment(
        feedback.answer_id,
        feedback.comment,
        feedback.comment,
        "",
        "",
        "",
        "answers",
        datetime.fromtimestamp(feedback.at, UTC).date().isoformat(),
        share,
        rate_tone(share),
        {"collection": feedback.collection, "thumb": feedback.thumb},
    )

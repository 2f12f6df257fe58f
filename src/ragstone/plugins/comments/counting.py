"""Which comments a query means, counted: by theme, tone, month and the values of columns."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragstone.core.errors import InputError
from ragstone.plugins.comments.comment_reader import LocalCommentReader, ReadComments
from ragstone.plugins.comments.comments import CommentQuery, CustomerComment, ToneCounts
from ragstone.plugins.comments.themes import Theme, find_themes


@dataclass(frozen=True, slots=True)
class CountedComments:
    """What a query means. `among` are the comments of its days and values, `about` those of them
    that speak of its topic, `count_comments` those of these that have its tone, the most telling
    first. `themes` are of `count_comments`; their places are in it."""

    query: CommentQuery
    among: tuple[CustomerComment, ...]
    about: tuple[CustomerComment, ...]
    counted: tuple[CustomerComment, ...]
    themes: tuple[Theme, ...]


async def count_comments(
    query: CommentQuery, read: ReadComments, reader: LocalCommentReader
) -> CountedComments:
    """The comments that a query means. Raises InputError for a column that no comment has."""
    known = {name for comment in read.comments for name in comment.labels}
    if read.comments and (strange := sorted(query.labels.keys() - known)):
        has = ", ".join(sorted(known)) or "no such column"
        raise InputError(f"No comment has the column {strange[0]!r}; they have: {has}.")
    places = [at for at, comment in enumerate(read.comments) if _is_among(query, comment)]
    among = tuple(read.comments[at] for at in places)
    vectors = read.vectors[places] if places else read.vectors[:0]
    scores: NDArray[np.float64] = np.zeros(len(among))
    if query.topic and among:
        scores = await reader.score_topic(query.topic, ReadComments(among, vectors))
    speaking = [at for at in range(len(among)) if scores[at] >= 0]
    own = [at for at in speaking if query.tone in (None, among[at].tone)]
    own.sort(key=lambda at: -scores[at])
    comments = tuple(among[at] for at in own)
    themes = find_themes(comments, vectors[own], query.topic) if own else []
    return CountedComments(
        query, among, tuple(among[at] for at in speaking), comments, tuple(themes)
    )


def _is_among(query: CommentQuery, comment: CustomerComment) -> bool:
    if query.since or query.until:
        if not comment.at:
            return False
        if (query.since and comment.at < query.since) or (query.until and comment.at > query.until):
            return False
    return all(comment.labels.get(name) == value for name, value in query.labels.items())


def by_month(comments: Sequence[CustomerComment]) -> list[ToneCounts]:
    """Tell how many of each month ("2024-05"), in their order; those without a day are in none."""
    return _group_counts([(comment.at[:7], comment) for comment in comments if comment.at])


def by_label(comments: Sequence[CustomerComment]) -> Mapping[str, list[ToneCounts]]:
    """Tell how many have each value, by column; the most frequent values first."""
    names = Counter(name for comment in comments for name in comment.labels)
    found = {}
    for name in sorted(names):
        pairs = [(comment.labels[name], comment) for comment in comments if name in comment.labels]
        found[name] = sorted(_group_counts(pairs), key=lambda item: (-item.comments, item.name))
    return found


def _group_counts(pairs: Sequence[tuple[str, CustomerComment]]) -> list[ToneCounts]:
    groups: dict[str, list[CustomerComment]] = {}
    for name, item in pairs:
        groups.setdefault(name, []).append(item)
    return [ToneCounts.count(name, groups[name]) for name in sorted(groups)]

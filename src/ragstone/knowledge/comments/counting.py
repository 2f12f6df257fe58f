"""Which comments a query means, counted: by theme, tone, month and the values of columns."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragstone.core.comments import CommentQuery, CustomerComment, ToneCounts
from ragstone.core.errors import InputError
from ragstone.knowledge.comments.themes import Theme, themes_of
from ragstone.ports import CommentReader, ReadComments


@dataclass(frozen=True, slots=True)
class CountedComments:
    """What a query means. `among` are the comments of its days and values, `about` those of them
    that speak of its topic, `counted` those of these that have its tone, the most telling first.
    `themes` are of `counted`; their places are in it."""

    query: CommentQuery
    among: tuple[CustomerComment, ...]
    about: tuple[CustomerComment, ...]
    counted: tuple[CustomerComment, ...]
    themes: tuple[Theme, ...]


async def counted(
    query: CommentQuery, read: ReadComments, reader: CommentReader
) -> CountedComments:
    """The comments that a query means. Raises InputError for a column that no comment has."""
    known = {name for one in read.comments for name in one.labels}
    if read.comments and (strange := sorted(query.labels.keys() - known)):
        has = ", ".join(sorted(known)) or "no such column"
        raise InputError(f"No comment has the column {strange[0]!r}; they have: {has}.")
    places = [at for at, one in enumerate(read.comments) if _is_among(query, one)]
    among = tuple(read.comments[at] for at in places)
    vectors = read.vectors[places] if places else read.vectors[:0]
    scores: NDArray[np.float64] = np.zeros(len(among))
    if query.topic and among:
        scores = await reader.speaking_of(query.topic, ReadComments(among, vectors))
    speaking = [at for at in range(len(among)) if scores[at] >= 0]
    own = [at for at in speaking if query.tone in (None, among[at].tone)]
    own.sort(key=lambda at: -scores[at])
    comments = tuple(among[at] for at in own)
    themes = themes_of(comments, vectors[own], query.topic) if own else []
    return CountedComments(
        query, among, tuple(among[at] for at in speaking), comments, tuple(themes)
    )


def _is_among(query: CommentQuery, one: CustomerComment) -> bool:
    if query.since or query.until:
        if not one.at:
            return False
        if (query.since and one.at < query.since) or (query.until and one.at > query.until):
            return False
    return all(one.labels.get(name) == value for name, value in query.labels.items())


def by_month(comments: Sequence[CustomerComment]) -> list[ToneCounts]:
    """How many of each month ("2024-05"), in their order; those without a day are in none."""
    return _grouped([(one.at[:7], one) for one in comments if one.at])


def by_label(comments: Sequence[CustomerComment]) -> Mapping[str, list[ToneCounts]]:
    """How many have each value, by column; the most frequent values first."""
    names = Counter(name for one in comments for name in one.labels)
    found = {}
    for name in sorted(names):
        pairs = [(one.labels[name], one) for one in comments if name in one.labels]
        found[name] = sorted(_grouped(pairs), key=lambda one: (-one.comments, one.name))
    return found


def _grouped(pairs: Sequence[tuple[str, CustomerComment]]) -> list[ToneCounts]:
    groups: dict[str, list[CustomerComment]] = {}
    for name, one in pairs:
        groups.setdefault(name, []).append(one)
    return [ToneCounts.of(name, groups[name]) for name in sorted(groups)]

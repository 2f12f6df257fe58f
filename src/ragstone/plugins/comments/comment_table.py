"""Which tables hold customers' comments, and their rows as comments.

A table does where one column holds sentences and its name or that of another column says that
people judge something: "comment", "rating". A table of anything else is none, whatever it holds.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from ragstone.core.chunk import Chunk
from ragstone.language.words import word_lists
from ragstone.plugins.comments.comments import CustomerComment, Tone
from ragstone.retrieve.typed_table import Column, TypedRow, TypedTable, read_tables

MIN_WORDS, MANY_WORDS = 3, 6
"""Words that a comment has on average where the column is called so, and where only a rating says
that it is one."""

MAX_VALUES = 50
"""Distinct values of a column that tells kinds of comments apart."""

LONGEST_VALUE = 80
"""Characters of such a value."""

SCALES = (5, 10, 100)
"""The best rating: the least of these that no rating is above."""

BAD, GOOD = 0.4, 0.6
"""Shares of the scale below which a rating is negative, and above which it is positive."""

_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class CommentColumns:
    """The places of a table's columns: that of the comments, of days and ratings (-1 for none), and
    of those that tell kinds of comments apart. A rating goes from `least` to `top`."""

    comment: int
    day: int
    rating: int
    least: int
    top: int
    labels: tuple[int, ...]

    def share(self, row: TypedRow) -> float | None:
        """Return the share of the scale that a row's rating is of."""
        value = row.values[self.rating] if self.rating >= 0 else None
        if not isinstance(value, Decimal):
            return None
        return float((value - self.least) / (self.top - self.least))


def read_comments(chunks: Sequence[Chunk]) -> list[CustomerComment]:
    """Return the comments of one document's tables, given all of its chunks in order."""
    found: list[CustomerComment] = []
    starts = [item.start for item in chunks]
    for table in read_tables(chunks):
        # What begins with a word for a total sums nothing up in a table of sentences.
        rows = sorted((*table.rows, *table.totals), key=lambda row: row.start)
        columns = comment_columns(table, rows)
        for row in rows if columns else ():
            chunk = chunks[max(0, bisect_right(starts, row.start) - 1)]
            if columns and row.cells[columns.comment]:
                found.append(_comment(table, columns, row, chunk))
    return found


def _comment(
    table: TypedTable, columns: CommentColumns, row: TypedRow, chunk: Chunk
) -> CustomerComment:
    day = row.values[columns.day] if columns.day >= 0 else None
    share = columns.share(row)
    labels = ((table.columns[at].name, row.cells[at]) for at in columns.labels)
    return CustomerComment(
        f"{chunk.revision}#{row.start}",
        " ".join((row.cells[columns.comment] or "").split()),
        row.text,
        chunk.chunk_id,
        chunk.document_id,
        chunk.path,
        table.title,
        day.isoformat() if isinstance(day, date) else "",
        share,
        rate_tone(share),
        {name: cell for name, cell in labels if cell},
    )


def rate_tone(share: float | None) -> Tone:
    """Return the tone that a rating tells; unknown without one."""
    if share is None:
        return "unknown"
    return "negative" if share < BAD else "positive" if share > GOOD else "neutral"


def comment_columns(table: TypedTable, rows: Sequence[TypedRow]) -> CommentColumns | None:
    """Return the columns of a table of comments; None for any other table."""
    columns = table.columns
    rating, least, top = _find_rating(columns, rows)
    day = next((at for at, item in enumerate(columns) if item.type == "date"), -1)
    best, comment = (False, 0.0), -1
    for at, column in enumerate(columns):
        cells = [cell for row in rows if (cell := row.cells[at])]
        if column.type != "text" or column.mixed or 2 * len(set(cells)) < len(cells):
            continue
        words = sum(map(_length, cells)) / max(1, len(cells))
        named = _is_called(column, "comment")
        judged = named and words >= MIN_WORDS and (rating >= 0 or day >= 0)
        if (judged or (rating >= 0 and words >= MANY_WORDS)) and (named, words) > best:
            best, comment = (named, words), at
    if comment < 0:
        return None
    labels = tuple(
        at
        for at, item in enumerate(columns)
        if at != comment and item.type == "text" and _tells_apart([row.cells[at] for row in rows])
    )
    return CommentColumns(comment, day, rating, least, top, labels)


def _find_rating(columns: Sequence[Column], rows: Sequence[TypedRow]) -> tuple[int, int, int]:
    """Return the place of the ratings, and the worst and the best one: a scale begins at 1 unless
    there is a 0, one of up to 100 at 0. The place is -1 where there is none."""
    for at, column in enumerate(columns):
        if column.type != "number" or column.years or not _is_called(column, "rating"):
            continue
        given = [value for row in rows if isinstance(value := row.values[at], Decimal)]
        top = next((item for item in SCALES if max(given, default=Decimal(101)) <= item), 0)
        if top and min(given) >= 0:
            return at, int(top <= 10 and min(given) >= 1), top
    return -1, 0, 0


def _length(text: str) -> float:
    """Return words of a text; two signs of Chinese or Japanese count as one."""
    return len(_HAN.sub(" ", text).split()) + len(_HAN.findall(text)) / 2


def _is_called(column: Column, name: str) -> bool:
    """Tell whether a column's name, or its last or first word, is one of this list."""
    known = word_lists("plugins.comments", "comments")[name]
    parts = re.sub(r"[_\W]+", " ", column.name.casefold()).split()
    return bool({" ".join(parts), *parts[-1:], *parts[:1]} & set(known))


def _tells_apart(cells: Sequence[str | None]) -> bool:
    filled = [cell for cell in cells if cell]
    values = set(filled)
    few = 1 < len(values) <= MAX_VALUES and 2 * len(values) <= len(filled)
    return few and max(map(len, values)) <= LONGEST_VALUE

"""Customers' comments: one row of a table each, how they are counted, and what is said of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Tone = Literal["negative", "neutral", "positive", "unknown"]
"""The sentiment of a comment."""

ToneName = Literal["", Tone]
"""One that is asked for; empty for any."""


@dataclass(frozen=True, slots=True)
class CustomerComment:
    """A comment and where it stands. `row` is the line of its document that it is a part of, `at`
    its day in ISO form, `rating` its share of the scale (0 worst, 1 best) where it has one.
    `labels` are the row's other values of columns that have few, such as the product. `id` names
    the row for ever: a document's version and the place of the row in it."""

    id: str
    text: str
    row: str
    chunk_id: str
    document_id: str
    path: str
    table: str
    at: str = ""
    rating: float | None = None
    tone: Tone = "unknown"
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToneCounts:
    """How many comments there are, and how many of each tone. `name` is what they have in common:
    a theme, a month, a value."""

    name: str
    comments: int
    negative: int = 0
    neutral: int = 0
    positive: int = 0
    unknown: int = 0

    @classmethod
    def count(cls, name: str, comments: Sequence[CustomerComment]) -> "ToneCounts":
        """Return the counts of these comments."""
        tones = [comment.tone for comment in comments]
        return cls(
            name,
            len(tones),
            tones.count("negative"),
            tones.count("neutral"),
            tones.count("positive"),
            tones.count("unknown"),
        )

    @property
    def mostly(self) -> Tone:
        """The tone of more than half of those whose tone is known; unknown where there is none."""
        known = self.comments - self.unknown
        tones: tuple[tuple[Tone, int], ...] = (
            ("negative", self.negative),
            ("neutral", self.neutral),
            ("positive", self.positive),
        )
        return next((tone for tone, count in tones if 2 * count > known > 0), "unknown")


@dataclass(frozen=True, slots=True)
class CommentQuery:
    """Which comments are meant: about a `topic` in any words, of a tone, of days (inclusive, in ISO
    form), and with these values of columns. What is empty is any."""

    topic: str = ""
    tone: Tone | None = None
    since: str = ""
    until: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

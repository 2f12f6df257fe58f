"""How a question or claim and a passage become one row of tokens.

The order is: the question or claim, the passage's title where it has one, the passage.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ragstone.models.e5_weights import FIRST, LAST
from ragstone.models.unigram import Unigram

Placed = Sequence[tuple[int, int, int]]
"""Pieces: the id of each, its first character, and the one after its last."""

SEPARATOR = LAST
ASKED = "query:"
"""What stands before a question, so that it is told from a claim."""

BETWEEN, TEXT, TITLE, PASSAGE = 0, 1, 2, 3
"""What a token belongs to."""

MOST_TITLE = 24
"""Tokens of a title that are read."""


@dataclass(frozen=True, slots=True)
class TokenRow:
    """Tokens, what each belongs to, and the characters of its text or passage that it is."""

    ids: tuple[int, ...]
    parts: tuple[int, ...]
    places: tuple[tuple[int, int], ...]


class PairTokens:
    """Cuts texts into tokens and puts pairs of them together."""

    def __init__(self, tokenizer: Unigram) -> None:
        self._tokenizer = tokenizer
        self._asked = tuple(tokenizer.ids(ASKED))

    def cut(self, text: str) -> Placed:
        return self._tokenizer.place_tokens(text)

    def row(self, text: Placed, question: bool, title: Placed, passage: Placed) -> TokenRow:
        """All tokens given are kept but for those of a long title."""
        before = self._asked if question else ()
        title = title[:MOST_TITLE]
        parts = (
            [(FIRST, BETWEEN, 0, 0)]
            + [(piece, BETWEEN, 0, 0) for piece in before]
            + [(piece, TEXT, start, end) for piece, start, end in text]
            + [(SEPARATOR, BETWEEN, 0, 0)] * 2
            + [(piece, TITLE, start, end) for piece, start, end in title]
            + [(SEPARATOR, BETWEEN, 0, 0)] * (len(title) > 0)
            + [(piece, PASSAGE, start, end) for piece, start, end in passage]
            + [(SEPARATOR, BETWEEN, 0, 0)]
        )
        return TokenRow(
            tuple(piece for piece, _, _, _ in parts),
            tuple(part for _, part, _, _ in parts),
            tuple((start, end) for _, _, start, end in parts),
        )

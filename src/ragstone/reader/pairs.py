"""How a question or claim and a passage become one row of tokens.

The order is: the question or claim, the passage's title where it has one, the passage.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ragstone.language.sentences import sentences
from ragstone.models.e5_weights import FIRST, LAST, Unigram

Placed = Sequence[tuple[int, int, int]]
"""Pieces: the id of each, its first character, and the one after its last."""

SEPARATOR = LAST
ASKED = "query:"
"""What stands before a question, so that it is told from a claim."""

BETWEEN, TEXT, TITLE, PASSAGE = 0, 1, 2, 3
"""What a token belongs to."""

MAX_TITLE = 24
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
        title = title[:MAX_TITLE]
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


MAX_CLAIM, MAX_QUESTION = 64, 80
"""Tokens of a piece of a claim, and of a question, whose end is read."""

MIN_PIECE = 6
"""Tokens of a sentence that is not a piece of its own: "Yes." says nothing by itself."""

CLAIM_WINDOW, QUESTION_WINDOW = 120, 190
"""Tokens of a window of a passage: about as long as those that the reader learned from."""

MAX_PIECES = 32
"""Pieces of a claim; what is longer is not read."""

MAX_WINDOWS = 8
"""Windows of a passage that are read: those that hold most of the other text's tokens."""

MAX_CHARACTERS = 200_000
"""Of a passage that are looked at."""


def claim_pieces(text: str, tokens: Placed) -> Sequence[Placed]:
    """Divide a claim into its sentences, each of at most `MAX_CLAIM` tokens."""
    # Read together, what a passage says of one sentence would speak for the next one too.
    found: list[list[tuple[int, int, int]]] = []
    for sentence in _sentences(text, tokens):
        for start in range(0, len(sentence), MAX_CLAIM):
            part = list(sentence[start : start + MAX_CLAIM])
            if found and min(len(part), len(found[-1])) < MIN_PIECE:
                found[-1] += part
            else:
                found.append(part)
    return found


def build_windows(text: str, tokens: Placed, size: int) -> list[Placed]:
    """Whole sentences together up to `size` tokens; a sentence that is longer is cut. Each piece
    begins with the last sentence of the one before, if both fit."""
    found: list[Placed] = []
    now: list[tuple[int, int, int]] = []
    last: list[tuple[int, int, int]] = []
    for sentence in _sentences(text, tokens):
        for start in range(0, len(sentence), size):
            part = list(sentence[start : start + size])
            if now and len(now) + len(part) > size:
                found.append(now)
                now = list(last) if len(last) + len(part) <= size else []
            now = now + part
            last = part
    return [*found, now] if now else found


def _sentences(text: str, tokens: Placed) -> list[Placed]:
    """Return the tokens of each sentence; those between two sentences belong to the first."""
    starts = [span.start for span in sentences(text)][1:]
    found: list[Placed] = []
    before = 0
    for start in starts:
        after = before
        while after < len(tokens) and tokens[after][1] < start:
            after += 1
        if after > before:
            found.append(tokens[before:after])
        before = after
    return [*found, tokens[before:]] if before < len(tokens) else found


def nearest_windows(windows: Sequence[Placed], text: Placed) -> list[Placed]:
    """Return the windows that hold most of the other text's tokens, in their order; the rarer a
    token is among the windows, the more it counts."""
    if len(windows) <= MAX_WINDOWS:
        return list(windows)
    wanted = {piece for piece, _, _ in text}
    held = [wanted & {piece for piece, _, _ in window} for window in windows]
    count = {piece: sum(piece in item for item in held) for piece in wanted}
    worth = [sum(1 / count[piece] for piece in item) for item in held]
    best = sorted(range(len(windows)), key=lambda i: -worth[i])[:MAX_WINDOWS]
    return [windows[i] for i in sorted(best)]

"""Cuts what is too long for the reader into pieces that it reads one after the other."""

from collections.abc import Sequence

from ragstone.language.sentences import sentences
from ragstone.reader.pairs import Placed

CLAIM, QUESTION = 64, 80
"""Tokens of a piece of a claim, and of a question, whose end is read."""

SHORT = 6
"""Tokens of a sentence that is not a piece of its own: "Yes." says nothing by itself."""

BESIDE_CLAIM, BESIDE_QUESTION = 120, 190
"""Tokens of a window of a passage: about as long as those that the reader learned from."""

MOST_PIECES = 32
"""Pieces of a claim; what is longer is not read."""

MOST_WINDOWS = 8
"""Windows of a passage that are read: those that hold most of the other text's tokens."""

MOST_CHARACTERS = 200_000
"""Of a passage that are looked at."""


def claims(text: str, tokens: Placed) -> Sequence[Placed]:
    """The sentences of a claim, each cut at `CLAIM` tokens; what is shorter than `SHORT` goes with
    its neighbour. What a passage says of one sentence would speak for the next one too, were they
    read together."""
    found: list[list[tuple[int, int, int]]] = []
    for sentence in _sentences(text, tokens):
        for start in range(0, len(sentence), CLAIM):
            part = list(sentence[start : start + CLAIM])
            if found and min(len(part), len(found[-1])) < SHORT:
                found[-1] += part
            else:
                found.append(part)
    return found


def pieces(text: str, tokens: Placed, size: int) -> list[Placed]:
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
    """The tokens of each sentence; those between two sentences belong to the first."""
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


def nearest(windows: Sequence[Placed], text: Placed) -> list[Placed]:
    """The windows that hold most of the other text's tokens, in their order; the rarer a token is
    among the windows, the more it counts."""
    if len(windows) <= MOST_WINDOWS:
        return list(windows)
    wanted = {piece for piece, _, _ in text}
    held = [wanted & {piece for piece, _, _ in window} for window in windows]
    count = {piece: sum(piece in item for item in held) for piece in wanted}
    worth = [sum(1 / count[piece] for piece in item) for item in held]
    best = sorted(range(len(windows)), key=lambda i: -worth[i])[:MOST_WINDOWS]
    return [windows[i] for i in sorted(best)]

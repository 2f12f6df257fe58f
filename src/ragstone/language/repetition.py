"""A chat model that says the same over and over again until it is stopped."""

UNIT = 40
"""Characters: a shorter piece that repeats is taken as often as makes so many."""

TIMES = 10
"""So often must the piece stand in a row. A table's rule or a drawn line ends before 400 signs."""

LONGEST = 1000
"""Characters of the longest piece that is recognized."""

EVERY = 50
"""New characters after which it is looked again, so that the cost of a token is small."""


class Repetition:
    """Reads a reply as it comes; `feed` says whether its end repeats."""

    def __init__(self) -> None:
        self._tail = ""
        self._new = 0

    def feed(self, piece: str) -> bool:
        """Whether the reply now ends with the same piece `TIMES` in a row."""
        self._tail += piece
        self._new += len(piece)
        if self._new < EVERY:
            return False
        self._new = 0
        self._tail = self._tail[-LONGEST * TIMES :]
        return repeats(self._tail)


def repeats(text: str) -> bool:
    """Whether `text` ends with a piece of `UNIT` to `LONGEST` characters `TIMES` in a row."""
    end = text[-UNIT:]
    found = text.rfind(end, -(LONGEST + UNIT), -1)
    if len(end) < UNIT or found < 0:
        return False
    period = len(text) - UNIT - found
    length = max(UNIT, period) * TIMES - period
    return len(text) >= length + period and text[-length:] == text[-length - period : -period]

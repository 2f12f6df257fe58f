"""Text that a document strikes out or hides: it is not said, and what was left out is told."""

from contextvars import ContextVar

MAX_QUOTED = 3
_QUOTED_CHARS = 60


class StruckText:
    """The struck-out and hidden texts of the file that is being read, by their kinds."""

    def __init__(self) -> None:
        self._quoted: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}

    def add(self, text: str, kind: str) -> None:
        text = " ".join(text.split())
        if not text:
            return
        self._counts[kind] = self._counts.get(kind, 0) + 1
        if self._counts[kind] <= MAX_QUOTED:
            cut = f"{text[:_QUOTED_CHARS]}..." if len(text) > _QUOTED_CHARS else text
            self._quoted.setdefault(kind, []).append(f'"{cut}"')

    def notes(self) -> tuple[str, ...]:
        """A sentence for each kind, for `Parsed.last_notes`."""
        return tuple(
            f"{kind} text is left out: {', '.join(quoted)}"
            + (f" and {more:,} more." if (more := self._counts[kind] - len(quoted)) else ".")
            for kind, quoted in self._quoted.items()
        )


CURRENT: ContextVar[StruckText | None] = ContextVar("struck", default=None)
"""That of the file that is being opened: parsers find it here as nested files have the same."""


def leave_out(text: str, kind: str = "Struck-out") -> str:
    """Keep the text for the notes, and return what is read instead of it: nothing."""
    if current := CURRENT.get():
        current.add(text, kind)
    return ""

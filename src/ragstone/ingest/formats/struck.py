"""Text that a document strikes out: it is no longer said, and what was left out is told."""

from contextvars import ContextVar

MAX_QUOTED = 3
_QUOTED_CHARS = 60


class StruckText:
    """The struck-out texts of the file that is being read."""

    def __init__(self) -> None:
        self._quoted: list[str] = []
        self._count = 0

    def add(self, text: str) -> None:
        text = " ".join(text.split())
        if not text:
            return
        self._count += 1
        if self._count <= MAX_QUOTED:
            cut = f"{text[:_QUOTED_CHARS]}..." if len(text) > _QUOTED_CHARS else text
            self._quoted.append(f'"{cut}"')

    def notes(self) -> tuple[str, ...]:
        """A sentence for `Parsed.last_notes`, none where nothing was struck out."""
        if not self._count:
            return ()
        more = self._count - len(self._quoted)
        further = f" and {more:,} more" if more else ""
        return (f"Struck-out text is left out: {', '.join(self._quoted)}{further}.",)


CURRENT: ContextVar[StruckText | None] = ContextVar("struck", default=None)
"""That of the file that is being opened: parsers find it here as nested files have the same."""


def leave_out(text: str) -> str:
    """Keep the struck-out text for the notes, and return what is read instead of it: nothing."""
    if current := CURRENT.get():
        current.add(text)
    return ""

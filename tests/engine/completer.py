"""A chat model for the work around an answer, that says what it is told to."""

from collections.abc import Sequence

from ragstone.core.answer import Usage
from ragstone.ports import Said


class Replies:
    """`ports.Completer`: one reply a call, or an error to raise; `asked` keeps rules and texts."""

    name = "helper"

    def __init__(self, *replies: str | Exception) -> None:
        self.replies: Sequence[str | Exception] = replies
        self.asked: list[tuple[str, str]] = []

    async def complete(
        self, rules: str, text: str, max_tokens: int, temperature: float = 0.0
    ) -> Said:
        reply = self.replies[min(len(self.asked), len(self.replies) - 1)]
        self.asked.append((rules, text))
        if isinstance(reply, Exception):
            raise reply
        return Said(reply, usage=Usage(100, 10, 1))

"""The ports that answer and remember."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ragstone.records import Report
from ragstone.turn import Ask, Finish, Passage, Turn, Usage


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of an answer as it comes. The last one has `finish` and `usage`."""

    text: str = ""
    thinking: str = ""
    finish: Finish | None = None
    usage: Usage = Usage()
    confidence: float | None = None


class Answerer(Protocol):
    """Answers from numbered passages, with `[n]` markers in the text."""

    @property
    def name(self) -> str: ...

    def answer(self, ask: Ask, passages: Sequence[Passage]) -> AsyncGenerator[Said, None]:
        """Stream the answer; raises ModelUnavailable, possibly after some text."""
        ...

    async def ready(self) -> None:
        """Raise ModelUnavailable unless the model answers."""
        ...

    async def aclose(self) -> None: ...


class History(Protocol):
    """Where finished turns go: conversations and statistics."""

    async def save(self, turn: Turn) -> None: ...

    async def report(self, tenant: str, days: int) -> Report:
        """The sums of a tenant for today (UTC) and the days before it, `days` in all."""
        ...


@runtime_checkable
class Completer(Protocol):
    """A chat model for the work around an answer."""

    @property
    def name(self) -> str: ...

    async def complete(self, rules: str, text: str, max_tokens: int) -> Said:
        """What the model says to `text` under `rules`, whole, at temperature 0.

        Raises ModelUnavailable.
        """
        ...

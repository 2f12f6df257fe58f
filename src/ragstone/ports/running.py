"""The port of what several servers know of the answers that each of them is giving."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Interest:
    """What other servers want of an answer: how often they looked for more, and whether somebody
    stopped it."""

    looks: int = 0
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Heard:
    """What is known of an answer that another server gives: a digest of its question, a number that
    its server counts up as long as it lives, and what it told, in order."""

    question: str
    beat: int
    told: tuple[str, ...]


class RunningAnswers(Protocol):
    """Answers that go on, by names that nobody can guess. Methods raise StateUnavailable."""

    async def enter(self, questions: Mapping[str, str]) -> set[str]:
        """Make answers known, each with a digest of its question; the names that were free."""
        ...

    async def interest(self, names: Collection[str]) -> dict[str, Interest]:
        """What is wanted of these."""
        ...

    async def tell(self, parts: Mapping[str, tuple[int, int, str]], alive: Collection[str]) -> None:
        """Add to what is told of an answer: the events from the first number to before the second,
        as one text. Count up those that live."""
        ...

    async def hear(self, name: str, after: int) -> Heard | None:
        """Look for what was told that holds events from number `after` on, or says that it ended
        there; None where no server gives this answer."""
        ...

    async def stop(self, name: str) -> bool:
        """Ask whoever gives it to end it; whether somebody does."""
        ...

    async def leave(self, names: Collection[str]) -> None:
        """Forget them, and all that was told."""
        ...

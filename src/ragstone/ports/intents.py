"""The port that recognises intents by examples."""

from dataclasses import dataclass
from typing import Protocol

from ragstone.core.intent import IntentName, SmallTalkKind


@dataclass(frozen=True, slots=True)
class Likeness:
    """What a text is like: `small_talk` is how likely it is small talk (0..1), and of which kind;
    `name` the likeliest intent if it is a question, `confidence` how likely (0..1)."""

    small_talk: float
    kind: SmallTalkKind
    name: IntentName
    confidence: float


class IntentExamples(Protocol):
    """Compares a text with examples of intents."""

    def knows(self, language: str) -> bool:
        """Whether there are examples in this language; "" is an unknown one."""
        ...

    async def likeness(self, text: str) -> Likeness: ...

    async def aclose(self) -> None: ...

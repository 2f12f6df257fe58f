"""How a chat model's window is shared out among system prompt, history, passages and answer.

The shares and the turns by size of the model are those of the query pipeline document.
"""

from dataclasses import dataclass
from typing import Literal

Tier = Literal["tiny", "small", "medium", "large"]
"""Up to 3, 9 and 34 billion parameters, and more."""

SYSTEM = 0.10
PASSAGES = 0.60
ANSWER = 0.15
HISTORY = 0.15
TINY_HISTORY = 0.10
"""What a tiny model's history leaves goes to its answer."""

TURNS: dict[Tier, int] = {"tiny": 3, "small": 6, "medium": 10, "large": 15}
"""Turns of a conversation that a model of each size keeps in mind."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens for each part of a prompt and for the answer, and turns of history."""

    system: int
    history: int
    passages: int
    answer: int
    turns: int


def budget(window: int, tier: Tier, answer: int | None = None) -> Budget:
    """The shares of a window of so many tokens.

    An `answer` that wants more than its share takes it from the passages, up to half the window.
    """
    history = round(window * (TINY_HISTORY if tier == "tiny" else HISTORY))
    system = round(window * SYSTEM)
    passages = round(window * PASSAGES)
    rest = window - system - history
    wanted = rest - passages if answer is None else max(1, min(answer, window // 2))
    return Budget(system, history, max(1, min(passages, rest - wanted)), wanted, TURNS[tier])

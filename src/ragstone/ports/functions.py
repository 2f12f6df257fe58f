"""The port that lets a chat model call functions of the client's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from ragstone.answer import Instructions
from ragstone.ports.answering import Said
from ragstone.turn import Ask, Passage

AUTO, NONE, REQUIRED = "auto", "none", "required"
NO_FUNCTIONS = (
    "Functions need a chat model that calls them, and there is none: leave functions out, "
    "or set LLM__MODEL."
)


@dataclass(frozen=True, slots=True)
class Function:
    """A function that the model may call; `parameters` is the JSON schema of its arguments."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call that the model wants made; `arguments` is JSON as the model wrote it."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the model said, and the call that it wants instead of an answer."""

    said: Said
    call: FunctionCall | None = None


@runtime_checkable
class FunctionCaller(Protocol):
    """A chat model that can call functions."""

    async def choose(
        self,
        ask: Ask,
        passages: Sequence[Passage],
        instructions: Instructions,
        functions: Sequence[Function],
        choice: str = AUTO,
    ) -> Chosen:
        """An answer from the passages, or the call of a function. `choice` is auto, none, required
        or the name of the one that must be called. Raises ModelUnavailable, Busy."""
        ...

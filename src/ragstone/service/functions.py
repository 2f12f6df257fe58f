"""Answers by a chat model that may call functions of the client's."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ragstone.ports.functions import AUTO, Function, FunctionCall
from ragstone.turn import Ask, Turn


@dataclass(frozen=True, slots=True)
class FunctionAnswer:
    """The turn with its answer, which is empty where the model wants `call` made instead."""

    turn: Turn
    call: FunctionCall | None = None


class Functions(Protocol):
    """What `Service.functions` does."""

    async def answer(
        self, ask: Ask, functions: Sequence[Function], choice: str = AUTO
    ) -> FunctionAnswer:
        """Search, and let the chat model answer or call a function; nothing is called here.

        Raises InputError where no chat model calls functions, ModelUnavailable, Busy.
        """
        ...

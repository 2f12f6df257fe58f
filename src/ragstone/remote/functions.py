"""`service.functions` over HTTP."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ragstone import wire
from ragstone.ports.functions import AUTO, Function
from ragstone.service.functions import FunctionAnswer
from ragstone.turn import Ask


class RemoteFunctions:
    """`service.functions.Functions`; `post` sends a body to a path of the server."""

    def __init__(self, post: Callable[[str, Any], Awaitable[Any]]) -> None:
        self._post = post

    async def answer(
        self, ask: Ask, functions: Sequence[Function], choice: str = AUTO
    ) -> FunctionAnswer:
        offered = [wire.dump(one) for one in functions]
        body = {"ask": wire.dump(ask), "functions": offered, "choice": choice}
        return wire.load(FunctionAnswer, await self._post("/local/functions", body))

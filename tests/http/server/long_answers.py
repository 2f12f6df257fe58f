"""Answers, and a job's news, that are longer than all buffers on their way to a client."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar, cast

from ragstone.core.answer import GeneratedAnswer
from ragstone.core.events import Event, Sources, Token
from ragstone.core.turn import Ask, Principal, Turn
from ragstone.engine.engine import Engine
from ragstone.engine.recipe import Recipe
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.ports import Adapters
from ragstone.service.jobs import JobView
from tests.fake_jobs import FakeJobs
from tests.fake_service import PASSAGES, FakeService

LONG = 1500
"""Pieces of a kilobyte in a long answer."""


def piece(number: int) -> str:
    return f"#{number} ".ljust(1000, ".")


class Recite(Stage):
    """Says a long answer, and notes how far it came."""

    name: ClassVar[str] = "recite"
    gives: ClassVar[frozenset[str]] = frozenset({"answer"})
    made: Any = None

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        await emit(Sources(PASSAGES))
        for number in range(LONG if turn.ask.question == "long" else 1):
            self.made.append(number)
            await emit(Token(piece(number)))
        return Step(
            replace(turn, passages=PASSAGES, answer=GeneratedAnswer("Said.", finish="stop"))
        )


class LongJobs(FakeJobs):
    """A job with news without end."""

    def __init__(self, made: list[int], closed: list[str]) -> None:
        super().__init__()
        self._made = made
        self._closed = closed
        self.known["long"] = (
            Principal(),
            JobView("long", "ask", "running", {}, None, None, "", 1, 1.0, 1.0),
        )

    async def watch(
        self, principal: Principal, id: str, *, admin: bool = False
    ) -> AsyncGenerator[JobView, None]:
        view = self.known[id][1]
        try:
            for number in range(LONG):
                self._made.append(number)
                yield replace(view, progress={"text": piece(number)})
                await asyncio.sleep(0)
            yield replace(view, state="done")
        finally:
            self._closed.append(id)


class LongService(FakeService):
    """Answers by the real engine, with its bounded queue."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[int] = []
        self.jobs = LongJobs(self.made, self.closed)
        recipe = Recipe((Recite(made=self.made),))
        no_adapters = SimpleNamespace(of_question=lambda ask: None)
        self._engine = Engine(cast(Adapters, no_adapters), lambda ask: recipe)

    async def _asked(self, ask: Ask) -> AsyncGenerator[Event, None]:
        try:
            async with aclosing(self._engine.events(ask)) as events:
                async for event in events:
                    yield event
        finally:
            self.closed.append(ask.question)

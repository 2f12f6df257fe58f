"""Answers that go on while the connection of who asked is away, and are read on where it broke.

They are kept in the process that gives them, for seconds: nobody waits longer. Where several
servers share a state, a reader that comes back to another one is told there (`relaying`).
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from ragstone.core.errors import InputError, TooManyRequests, UnknownAnswer
from ragstone.core.events import Event
from ragstone.core.turn import Ask, Principal
from ragstone.local.relaying import (
    ANOTHER_QUESTION,
    AnswerSoFar,
    Relay,
    digest,
    relay_events,
    stop_remote_answer,
)
from ragstone.ports import RunningAnswers

AWAY_SECONDS = 30.0
"""How long an answer goes on, or is kept once it has ended, while nobody reads it."""
MOST_KEPT = 256
"""Answers that are kept at a time."""
MOST_OF_ONE = 32
"""Of these, answers of one principal."""

Answers = Callable[[Ask], AsyncGenerator[Event, None]]


class KeptAnswers:
    """Answers by principal and key; `running` are those of all servers, where there are several."""

    def __init__(
        self, answers: Answers, running: RunningAnswers | None = None, away: float = AWAY_SECONDS
    ) -> None:
        self._answers = answers
        self._away = away
        self._running = running
        self._relay = Relay(running, self._mark_visited, self._stop) if running else None
        self._kept: dict[str, _KeptAnswer] = {}

    async def events(self, ask: Ask, key: str, after: int) -> AsyncGenerator[Event, None]:
        """The events of the answer of this key from event `after` on; without one, a new answer.
        Raises UnknownAnswer, InputError for a key that has another question."""
        name = _name(ask.principal, key)
        if after and self._running and name not in self._kept:
            async with aclosing(relay_events(self._running, name, ask.question, after)) as told:
                async for event in told:
                    yield event
            return
        kept = self._kept.get(name)
        if kept is None:
            if after:
                raise UnknownAnswer
            kept = self._begin(name, ask)
        elif kept.ask.question != ask.question:
            raise InputError(ANOTHER_QUESTION)
        kept.readers += 1
        try:
            async for event in kept.read(after):
                yield event
        finally:
            kept.readers -= 1
            self._mark_visited(name)

    async def stop(self, principal: Principal, key: str) -> bool:
        """End an answer at once; whether it was there."""
        name = _name(principal, key)
        if name in self._kept:
            self._stop(name)
            return True
        return await stop_remote_answer(self._running, name) if self._running else False

    async def aclose(self) -> None:
        """End all of them."""
        if self._relay:
            await self._relay.aclose()
        tasks = [kept.task for kept in self._kept.values()]
        self._kept.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, name: str, ask: Ask) -> "_KeptAnswer":
        mine = sum(kept.ask.principal == ask.principal for kept in self._kept.values())
        if len(self._kept) >= MOST_KEPT or mine >= MOST_OF_ONE:
            raise TooManyRequests("Too many answers go on at once. Try again soon.", 5.0)
        kept = self._kept[name] = _KeptAnswer(ask, self._answers(ask))
        if self._relay:
            self._relay.add(name, ask.question, kept.progress)
        return kept

    def _mark_visited(self, name: str) -> None:
        """Somebody was here: the answer is kept for a while from now on."""
        if kept := self._kept.get(name):
            kept.visits += 1
            loop = asyncio.get_running_loop()
            loop.call_later(self._away, self._leave, name, kept, kept.visits)

    def _leave(self, name: str, kept: "_KeptAnswer", visits: int) -> None:
        if not kept.readers and kept.visits == visits and self._kept.get(name) is kept:
            self._stop(name)

    def _stop(self, name: str) -> None:
        self._kept.pop(name).task.cancel()
        if self._relay:
            self._relay.remove(name)


class _KeptAnswer:
    """One answer, read to its end by a task of its own."""

    def __init__(self, ask: Ask, events: AsyncGenerator[Event, None]) -> None:
        self.ask = ask
        self.readers = 0
        self.visits = 0
        self._seen: list[Event] = []
        self._more = asyncio.Event()
        self.task = asyncio.create_task(self._drain(events))
        self.task.add_done_callback(lambda _: self._more.set())

    def progress(self) -> AnswerSoFar:
        """How far it is."""
        ended = self.task.done()
        failed = self.task.exception() if ended and not self.task.cancelled() else None
        return AnswerSoFar(tuple(self._seen), ended, failed)

    async def read(self, after: int) -> AsyncGenerator[Event, None]:
        """The events from `after` on, as they come; raises what the answer fails with."""
        at = after
        while True:
            more = self._more
            while at < len(self._seen):
                at += 1
                yield self._seen[at - 1]
            if self.task.done():
                break
            await more.wait()
        if not self.task.cancelled() and (error := self.task.exception()):
            raise error

    async def _drain(self, events: AsyncGenerator[Event, None]) -> None:
        async with aclosing(events) as source:
            async for event in source:
                self._seen.append(event)
                self._more.set()
                self._more = asyncio.Event()


def _name(principal: Principal, key: str) -> str:
    return digest(repr((principal, key)))

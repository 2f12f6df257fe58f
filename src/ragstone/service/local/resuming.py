"""Answers that go on while the connection of who asked is away, and are read on where it broke.

They are kept in this process alone, for seconds: nobody waits longer, and another server of the
same state does not know them.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from ragstone.core.errors import InputError, TooManyRequests, UnknownAnswer
from ragstone.core.events import Event
from ragstone.core.turn import Ask, Principal

AWAY_SECONDS = 30.0
"""How long an answer goes on, or is kept once it has ended, while nobody reads it."""
MOST_KEPT = 256
"""Answers that are kept at a time."""
MOST_OF_ONE = 32
"""Of these, answers of one principal."""

Answers = Callable[[Ask], AsyncGenerator[Event, None]]


class KeptAnswers:
    """Answers by principal and key."""

    def __init__(self, answers: Answers, away: float = AWAY_SECONDS) -> None:
        self._answers = answers
        self._away = away
        self._kept: dict[tuple[Principal, str], _KeptAnswer] = {}

    async def events(self, ask: Ask, key: str, after: int) -> AsyncGenerator[Event, None]:
        """The events of the answer of this key from event `after` on; without one, a new answer.
        Raises UnknownAnswer, InputError for a key that has another question."""
        name = (ask.principal, key)
        kept = self._kept.get(name)
        if kept is None:
            if after:
                raise UnknownAnswer
            mine = sum(principal == ask.principal for principal, _ in self._kept)
            if len(self._kept) >= MOST_KEPT or mine >= MOST_OF_ONE:
                raise TooManyRequests("Too many answers go on at once. Try again soon.", 5.0)
            kept = self._kept[name] = _KeptAnswer(ask, self._answers(ask))
        elif kept.ask.question != ask.question:
            raise InputError("Another question has this key. Choose a new key for each question.")
        kept.readers += 1
        try:
            async for event in kept.read(after):
                yield event
        finally:
            kept.readers -= 1
            asyncio.get_running_loop().call_later(self._away, self._leave, name, kept)

    def stop(self, principal: Principal, key: str) -> bool:
        """End an answer at once; whether it was there."""
        kept = self._kept.pop((principal, key), None)
        if kept:
            kept.task.cancel()
        return kept is not None

    async def aclose(self) -> None:
        """End all of them."""
        tasks = [kept.task for kept in self._kept.values()]
        self._kept.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _leave(self, name: tuple[Principal, str], kept: "_KeptAnswer") -> None:
        if not kept.readers and self._kept.get(name) is kept:
            self.stop(*name)


class _KeptAnswer:
    """One answer, read to its end by a task of its own."""

    def __init__(self, ask: Ask, events: AsyncGenerator[Event, None]) -> None:
        self.ask = ask
        self.readers = 0
        self._seen: list[Event] = []
        self._more = asyncio.Event()
        self.task = asyncio.create_task(self._drain(events))
        self.task.add_done_callback(lambda _: self._more.set())

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

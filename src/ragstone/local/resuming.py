"""Answers that go on while the connection of who asked is away, and are read on where it broke.

They are kept in the process that gives them, for seconds: nobody waits longer. Where several
servers share a state, a reader who comes back to another one is told there, through the state.
Nothing is told of an answer that nobody elsewhere looks for. A server that looks for one leaves a
mark in the state, and reads a few times a second what was told.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from hashlib import sha256

from ragstone.core.conversation import turn_origin
from ragstone.core.errors import (
    InputError,
    RagstoneError,
    StateUnavailable,
    TooManyRequests,
    UnknownAnswer,
)
from ragstone.core.events import Done, Event, Failed, Sources
from ragstone.core.readers import Provenance, catalog_ids
from ragstone.core.turn import Ask, Principal
from ragstone.jobs.questions import list_documents
from ragstone.local.collections import may_still_read
from ragstone.ports import CollectionNames, Interest, RunningAnswers
from ragstone.service import wire

log = logging.getLogger(__name__)

MayRead = Callable[[Ask, Sequence[Event]], Awaitable[bool]]

LOOK_SECONDS = 0.25
"""Seconds between two looks, of either side."""
UNKNOWN_SECONDS = 1.0
"""Seconds for which an answer is looked for that no server is known to give."""
LOST_SECONDS = 10.0
"""Seconds after which a server that does not count up is taken for dead."""

ANOTHER_QUESTION = "Another question has this key. Choose a new key for each question."


@dataclass(frozen=True, slots=True)
class AnswerSoFar:
    """How far an answer is: its events until now, whether it has ended, and with which error."""

    events: tuple[Event, ...]
    ended: bool
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class _Told:
    """What others know of an answer: nothing yet, or its first events, or that it has ended."""

    question: str
    progress: Callable[[], AnswerSoFar]
    entered: bool = False
    looks: int = 0
    until: int = 0
    ended: bool = False


class Relay:
    """Tells other servers of the answers of this one, as long as there are any.

    `visited` learns of each look from elsewhere, `stop_remote_answer` of what somebody there ends.
    """

    def __init__(
        self,
        running: RunningAnswers,
        visited: Callable[[str], None],
        stopped: Callable[[str], None],
    ) -> None:
        self._running = running
        self._visited = visited
        self._stopped = stopped
        self._answers: dict[str, _Told] = {}
        self._left: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    def add(self, name: str, question: str, progress: Callable[[], AnswerSoFar]) -> None:
        """Let others ask for an answer by this name."""
        self._answers[name] = _Told(digest(question), progress)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    def remove(self, name: str) -> None:
        """Let nobody ask for it any more."""
        told = self._answers.pop(name, None)
        if told and told.entered:
            self._left.add(name)

    async def aclose(self) -> None:
        """Forget all of them."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        known = [name for name, told in self._answers.items() if told.entered]
        if gone := {*self._left, *known}:
            try:
                await self._running.leave(gone)
            except StateUnavailable as error:
                log.info("What was told of answers stays behind for an hour: %s", error)

    async def _run(self) -> None:
        while self._answers or self._left:
            try:
                await self._round()
            except StateUnavailable as error:
                log.info("Other servers cannot be told of answers: %s", error)
            await asyncio.sleep(LOOK_SECONDS)

    async def _round(self) -> None:
        if gone := set(self._left):
            await self._running.leave(gone)
            self._left -= gone
        if new := {
            name: answer.question for name, answer in self._answers.items() if not answer.entered
        }:
            made = await self._running.enter(new)
            for name in made:
                self._put(name, entered=True)
            for name in new.keys() - made:  # Another server gives an answer of this key.
                self._answers.pop(name, None)
            # What was removed meanwhile is known to others now.
            self._left |= made - self._answers.keys()
        interest = await self._running.interest(list(self._answers))
        for name, wanted in interest.items():
            self._apply_interest(name, wanted)
        await self._tell()

    def _apply_interest(self, name: str, wanted: Interest) -> None:
        told = self._answers.get(name)
        if told is None:
            return
        if wanted.stopped:
            self._stopped(name)
        elif wanted.looks != told.looks:
            self._put(name, looks=wanted.looks)
            self._visited(name)

    async def _tell(self) -> None:
        """What is new of the answers that somebody looked for."""
        parts: dict[str, tuple[int, int, str]] = {}
        ends = set()
        looked_for = {name: told for name, told in self._answers.items() if told.looks}
        for name, told in looked_for.items():
            now = told.progress()
            until = len(now.events)
            if until > told.until or (now.ended and not told.ended):
                parts[name] = (told.until, until, _part(told.until, now))
                ends |= {name} if now.ended else set()
        if looked_for:
            await self._running.tell(parts, list(looked_for))
        for name, (_, until, _) in parts.items():
            self._put(name, until=until, ended=name in ends)

    def _put(self, name: str, **changes: int | bool) -> None:
        if told := self._answers.get(name):
            self._answers[name] = replace(told, **changes)  # type: ignore[arg-type]


async def relay_events(
    running: RunningAnswers, name: str, ask: Ask, after: int, may_read: MayRead
) -> AsyncGenerator[Event, None]:
    """Yield the events from `after` on of an answer that another server gives, as they come.

    Raises what the answer fails with, UnknownAnswer where no server that lives gives it, or
    `may_read` denies it, InputError for another question, StateUnavailable.
    """
    clock = asyncio.get_running_loop().time
    beat, since, question = -1, clock(), ask.question
    heard: list[Event] = []
    while True:
        # From the first event on: what it is answered from stands before its text.
        found = await running.hear(name, len(heard))
        if found and found.question != digest(question):
            raise InputError(ANOTHER_QUESTION)
        if found and found.beat != beat:
            beat, since = found.beat, clock()
        elif clock() - since > (LOST_SECONDS if found else UNKNOWN_SECONDS):
            raise UnknownAnswer
        for told in found.told if found else ():
            part = json.loads(told)
            heard += map(wire.load_event, part["events"][max(0, len(heard) - part["first"]) :])
            if len(heard) > after and not await may_read(ask, heard):
                raise UnknownAnswer
            for event in heard[after:]:
                yield event
                after += 1
            if part["error"]:
                raise wire.load_error(part["error"])
            if part["ended"]:
                return
        await asyncio.sleep(LOOK_SECONDS)


async def stop_remote_answer(running: RunningAnswers, name: str) -> bool:
    """End an answer that another server gives; whether one does. One that has just begun is known
    a moment later. Raises StateUnavailable."""
    for _ in range(round(UNKNOWN_SECONDS / LOOK_SECONDS)):
        if await running.stop(name):
            return True
        await asyncio.sleep(LOOK_SECONDS)
    return await running.stop(name)


def digest(text: str) -> str:
    """Return names a text without giving it away."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _part(first: int, now: AnswerSoFar) -> str:
    part: Mapping[str, object] = {
        "first": first,
        "events": [wire.dump_event(event) for event in now.events[first:]],
        "ended": now.ended,
        "error": _error(now.error) if now.error else None,
    }
    return json.dumps(part)


def _error(error: BaseException) -> wire.Json:
    known = (
        error
        if isinstance(error, RagstoneError)
        else RagstoneError("The answer failed. Ask again.")
    )
    return wire.dump_error(known)


AWAY_SECONDS = 30.0
"""How long an answer goes on, or is kept once it has ended, while nobody reads it."""
MAX_KEPT = 256
"""Answers that are kept at a time."""
MOST_OF_ONE = 32
"""Of these, answers of one principal."""

Answers = Callable[[Ask], AsyncGenerator[Event, None]]


async def may_read_again(names: CollectionNames, ask: Ask, events: Sequence[Event]) -> bool:
    """Tell whether who asked may still read what an answer with these events is made from. Of one
    that has not ended only its sources are known, and not whether they are of a collection here."""
    if isinstance(last := events[-1] if events else None, Done | Failed):
        origin = turn_origin(last.turn).text
        return await may_still_read(names, ask.principal, list_documents(last.turn), origin)
    passages = [item for event in events if isinstance(event, Sources) for item in event.passages]
    documents = catalog_ids(item.hit.chunk.document_id for item in passages)
    return await may_still_read(names, ask.principal, (), Provenance(documents=documents).text)


class KeptAnswers:
    """Answers by principal and key; `running` are those of all servers, where there are several.

    `may_read` tells whether who asked may be given what was said until now once more.
    """

    def __init__(
        self,
        answers: Answers,
        may_read: MayRead,
        running: RunningAnswers | None = None,
        away: float = AWAY_SECONDS,
    ) -> None:
        self._answers = answers
        self._may_read = may_read
        self._away = away
        self._running = running
        self._relay = Relay(running, self._mark_visited, self._stop) if running else None
        self._kept: dict[str, _KeptAnswer] = {}

    async def events(self, ask: Ask, key: str, after: int) -> AsyncGenerator[Event, None]:
        """Yield the events of the answer of this key from event `after` on; without one, a new
        answer. Raises UnknownAnswer, InputError for a key that has another question."""
        name = _name(ask.principal, key)
        if after and self._running and name not in self._kept:
            relayed = relay_events(self._running, name, ask, after, self._may_read)
            async with aclosing(relayed) as told:
                async for event in told:
                    yield event
            return
        kept = self._kept.get(name)
        if kept and not await self._may_read(kept.ask, kept.progress().events):
            if self._kept.get(name) is kept:
                self._stop(name)
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
        if len(self._kept) >= MAX_KEPT or mine >= MOST_OF_ONE:
            raise TooManyRequests("Too many answers go on at once. Try again soon.", 5.0)
        kept = self._kept[name] = _KeptAnswer(ask, self._answers(ask))
        if self._relay:
            self._relay.add(name, ask.question, kept.progress)
        return kept

    def _mark_visited(self, name: str) -> None:
        """Note that somebody was here: the answer is kept for a while from now on."""
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
        """Tell how far it is."""
        ended = self.task.done()
        failed = self.task.exception() if ended and not self.task.cancelled() else None
        return AnswerSoFar(tuple(self._seen), ended, failed)

    async def read(self, after: int) -> AsyncGenerator[Event, None]:
        """Yield the events from `after` on, as they come; raises what the answer fails with."""
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

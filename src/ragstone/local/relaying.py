"""Answers of this process told to readers at other servers of the same state, and theirs read here.

Nothing is told of an answer that nobody elsewhere looks for. Who looks leaves a mark, and learns of
what was told a few times a second.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

from ragstone.core.errors import InputError, RagstoneError, StateUnavailable, UnknownAnswer
from ragstone.core.events import Event
from ragstone.ports import Interest, RunningAnswers
from ragstone.service import wire

log = logging.getLogger(__name__)

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
            self._heed(name, wanted)
        await self._tell()

    def _heed(self, name: str, wanted: Interest) -> None:
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
    running: RunningAnswers, name: str, question: str, after: int
) -> AsyncGenerator[Event, None]:
    """The events from `after` on of an answer that another server gives, as they come.

    Raises what the answer fails with, UnknownAnswer where no server that lives gives it,
    InputError for another question, StateUnavailable.
    """
    clock = asyncio.get_running_loop().time
    beat, since = -1, clock()
    while True:
        found = await running.hear(name, after)
        if found and found.question != digest(question):
            raise InputError(ANOTHER_QUESTION)
        if found and found.beat != beat:
            beat, since = found.beat, clock()
        elif clock() - since > (LOST_SECONDS if found else UNKNOWN_SECONDS):
            raise UnknownAnswer
        for told in found.told if found else ():
            part = json.loads(told)
            for event in part["events"][max(0, after - part["first"]) :]:
                yield wire.load_event(event)
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
    """Names a text without giving it away."""
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

"""Runs a recipe over a question: events, times, timeouts, cancellation. Nothing about retrieval."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, nullcontext
from dataclasses import replace
from itertools import groupby

from ragstone.core.answer import Answer, Finish
from ragstone.core.conversation import conversation_key
from ragstone.core.errors import RagstoneError
from ragstone.core.events import Done, Event, Failed, StageEnded, StageStarted, Token
from ragstone.core.turn import Ask, Level, StageTrace, Turn
from ragstone.engine.room_queue import RoomQueue
from ragstone.engine.stage import Emit, Stage, attempt, nowhere
from ragstone.ports import Adapters
from ragstone.recipes.recipe import Recipe

log = logging.getLogger(__name__)

TAIL_SECONDS = 10.0
AFTERWARDS = 0.005
"""Seconds until a tail begins, in which the end of the answer goes out: a millisecond of work would
otherwise come before it."""

WORTH_TELLING = 0.001
"""Seconds of waiting for a room from which the trace has them."""

Turnstile = AbstractAsyncContextManager[None]

Chosen = Callable[[Ask], Recipe]
"""Which recipe a question takes."""


class Engine:
    """Answers questions with one recipe per level, or with the one that is chosen for each.

    At most `buffer` events wait for a slow reader; then the stages wait. A reader who closes the
    stream cancels the running stage; the recipe's tail still runs. `searching` lets so many
    questions search at a time and the others wait in turn, so that a search that has begun is not
    slowed down, and documents can be ingested meanwhile; None lets all. `rooms` lets one question
    of a conversation at a time, until its tail has ended.
    """

    def __init__(
        self,
        adapters: Adapters,
        recipes: Mapping[Level, Recipe] | Chosen,
        buffer: int = 64,
        searching: asyncio.Semaphore | None = None,
        rooms: RoomQueue | None = None,
    ) -> None:
        self._adapters = adapters
        self._searching = searching or nullcontext()
        self._rooms = rooms
        self._chosen: Chosen = (
            recipes if callable(recipes) else lambda ask: recipes[ask.level].of(ask)
        )
        self._buffer = buffer
        self._tails: set[asyncio.Task[None]] = set()

    async def events(self, ask: Ask) -> AsyncGenerator[Event, None]:
        """Answer `ask`. Close the iterator (`contextlib.aclosing`) to cancel.

        A question that is kept `once` has been kept when the iterator is closed.
        """
        events: asyncio.Queue[Event] = asyncio.Queue(self._buffer)
        run = _Run(
            self._adapters, self._chosen(ask), Turn(ask), events.put, self._searching, self._rooms
        )
        worker = asyncio.create_task(run.stages())
        ended = False
        try:
            while not ended:
                event = await events.get()
                ended = isinstance(event, Done | Failed)
                yield event
        finally:
            worker.cancel()
            try:
                await asyncio.wait([worker])
            finally:
                if ask.idempotent and not ended:
                    run.turn = replace(run.turn, ask=replace(run.turn.ask, keeps=False))
                tail = self._spawn_tail(run)
            if ask.idempotent:
                await asyncio.wait([tail])

    async def answered(self, ask: Ask) -> Turn:
        """The finished turn of `ask`; raises what it failed with."""
        async with aclosing(self.events(ask)) as events:
            async for event in events:
                if isinstance(event, Failed):
                    raise event.error
                if isinstance(event, Done):
                    return event.turn
        raise AssertionError("a stream of events ends with Done or Failed")

    def _spawn_tail(self, run: "_Run") -> "asyncio.Task[None]":
        task = asyncio.create_task(run.tail())
        self._tails.add(task)
        task.add_done_callback(self._tails.discard)
        return task

    async def aclose(self) -> None:
        """Wait for the tails of ended questions."""
        if self._tails:
            await asyncio.wait(self._tails, timeout=TAIL_SECONDS)


class _Run:
    """One question's way through its recipe."""

    def __init__(
        self,
        adapters: Adapters,
        recipe: Recipe,
        turn: Turn,
        emit: Emit,
        searching: Turnstile,
        rooms: RoomQueue | None,
    ) -> None:
        self._adapters = adapters
        self._rooms = rooms
        self._held = AsyncExitStack()
        self._began = False
        self._searching = searching
        self._recipe = recipe
        self._emit = emit
        self.turn = turn
        self._said: list[str] = []

    async def stages(self) -> None:
        try:
            await self._enter()
            for searches, stages in groupby(self._recipe.stages, lambda one: one.searches):
                if searches and self._found:
                    continue
                async with self._searching if searches else nullcontext():
                    for stage in stages:
                        if await self._stage(stage, self._report):
                            return await self._emit(Done(self.turn))
        except RagstoneError as error:
            self._finish("error")
            await self._emit(Failed(error, self.turn))
        except asyncio.CancelledError:
            self._finish("cancelled")
            raise
        except Exception:
            log.exception("A stage broke")
            self._finish("error")
            broken = RagstoneError("Something broke inside Ragstone; the log says what.")
            await self._emit(Failed(broken, self.turn))
        else:
            await self._emit(Done(self.turn))

    @property
    def _found(self) -> bool:
        """Whether the cache had what a search would find."""
        recalled = self.turn.recalled
        return recalled is not None and recalled.content == "search"

    async def _enter(self) -> None:
        """Wait until the room of the question is free; raises Busy, InvalidRoom."""
        ask, started = self.turn.ask, time.perf_counter()
        if self._rooms is not None and ask.room is not None:
            here = conversation_key(ask.principal, ask.room, ask.user_id)
            await self._held.enter_async_context(self._rooms.turn(here))
            if (seconds := time.perf_counter() - started) > WORTH_TELLING:
                waited = StageTrace("room", seconds, "done", "waited", "a turn of it was going on")
                self.turn = replace(self.turn, trace=(waited,))
        self._began = True

    async def tail(self) -> None:
        """Run the tail; nobody listens any more, and nothing may stop it but its own timeout.

        Its stages run at once, so that what they keep can go into one transaction. Then the room
        is free. A question that never came in has no tail.
        """
        async with self._held:
            stages = self._recipe.tail if self._began else ()
            if stages and not self.turn.ask.idempotent:
                await asyncio.sleep(AFTERWARDS)
            await asyncio.gather(*(self._after(stage) for stage in stages))

    async def _after(self, stage: Stage) -> None:
        """Run one stage of the tail on the turn as it ended."""
        try:
            ended = await attempt(stage, self.turn, self._adapters, nowhere)
        except Exception:
            log.exception("The %s stage broke after the answer", stage.name)
            return
        if ended.failure:
            log.warning("The %s stage failed after the answer: %s", stage.name, ended.failure)

    async def _stage(self, stage: Stage, emit: Emit) -> bool:
        """Run one stage; whether it was the last one."""
        await emit(StageStarted(stage.name))
        ended = await attempt(stage, self.turn, self._adapters, emit)
        turn = ended.step.turn if ended.step else heard(self.turn, self._said)
        self._said.clear()
        self.turn = replace(turn, trace=(*turn.trace, ended.traced))
        await emit(StageEnded(ended.traced))
        if ended.failure and stage.fails == "closed":
            raise ended.failure
        return ended.step is not None and ended.step.leaves

    async def _report(self, event: Event) -> None:
        """Send an event on, and keep what has been said in case the stage does not return."""
        if isinstance(event, Token):
            self._said.append(event.text)
        await self._emit(event)

    def _finish(self, finish: Finish) -> None:
        turn = heard(self.turn, self._said)
        answer = turn.answer or Answer()
        answer = Answer() if answer.held else answer
        self.turn = replace(turn, answer=replace(answer, finish=finish))


def heard(turn: Turn, said: Sequence[str]) -> Turn:
    """The turn with what was said added to its answer, so that a partial answer is kept."""
    if not said:
        return turn
    answer = turn.answer or Answer()
    text = "" if answer.held else answer.text
    return replace(turn, answer=replace(answer, text=text + "".join(said), held=False))

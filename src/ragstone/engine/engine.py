"""Runs a recipe over a question: its events, its room, cancellation and the tail."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace

from ragstone.core.clock import TIME_LIMITS, UNLIMITED
from ragstone.core.conversation import conversation_key
from ragstone.core.errors import RagstoneError
from ragstone.core.events import Done, Event, Failed
from ragstone.core.turn import Ask, Level, StageTrace, Turn
from ragstone.engine.recipe import Recipe, within_budget
from ragstone.engine.room_queue import RoomQueue
from ragstone.engine.runner import Run
from ragstone.engine.stage import Emit, Stage, attempt, nowhere
from ragstone.ports import Adapters

log = logging.getLogger(__name__)

TAIL_SECONDS = 10.0
AFTERWARDS = 0.005
"""Seconds until a tail begins, in which the end of the answer goes out: a millisecond of work would
otherwise come before it."""

WORTH_TELLING = 0.001
"""Seconds of waiting for a room from which the trace has them."""

Chosen = Callable[[Ask], Recipe]
"""Which recipe a question takes."""

Around = Callable[[Ask, AsyncGenerator[Event, None]], AsyncGenerator[Event, None]]
"""A wrapper of every question, which passes on the events of those that it lets in."""


class Engine:
    """Answers questions with one recipe per level, or with the one that is chosen for each.

    At most `buffer` events wait for a slow reader; then the stages wait. A reader who closes the
    stream cancels the running stage; the recipe's tail still runs. `rooms` lets one question of a
    conversation at a time, until its tail has ended. `asked` is what becomes of a question
    before its recipe is chosen, and `around` stands round all that is done for it.
    """

    def __init__(
        self,
        adapters: Adapters,
        recipes: Mapping[Level, Recipe] | Chosen,
        buffer: int = 64,
        rooms: RoomQueue | None = None,
        asked: Callable[[Ask], Awaitable[Ask]] | None = None,
        around: Around | None = None,
    ) -> None:
        self._adapters = adapters
        self._asked = asked
        self._around = around
        self._rooms = rooms
        self._chosen: Chosen = recipes if callable(recipes) else lambda ask: recipes[ask.level]
        self._buffer = buffer
        self._tails: set[asyncio.Task[None]] = set()

    def events(self, ask: Ask) -> AsyncGenerator[Event, None]:
        """Answer `ask`. Close the iterator (`contextlib.aclosing`) to cancel.

        An `idempotent` question has been kept when the iterator is closed.
        """
        return self._around(ask, self._run(ask)) if self._around else self._run(ask)

    async def _run(self, ask: Ask) -> AsyncGenerator[Event, None]:
        ask = await self._asked(ask) if self._asked else ask
        events: asyncio.Queue[Event] = asyncio.Queue(self._buffer)
        recipe = self._chosen(ask)
        given = self._adapters.of_question(ask) if ask.searches_by_tool else self._adapters
        adapters = within_budget(given, recipe.budget)
        question = _Question(adapters, recipe, Turn(ask), events.put, self._rooms)
        worker = asyncio.create_task(question.stages())
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
                    question.keep_nothing()
                tail = self._spawn_tail(question)
            if ask.idempotent:
                await asyncio.wait([tail])

    async def answer(self, ask: Ask) -> Turn:
        """Return the finished turn of `ask`; raises its error."""
        async with aclosing(self.events(replace(ask, streams=False))) as events:
            async for event in events:
                if isinstance(event, Failed):
                    raise event.error
                if isinstance(event, Done):
                    return event.turn
        raise AssertionError("a stream of events ends with Done or Failed")

    def _spawn_tail(self, question: "_Question") -> "asyncio.Task[None]":
        task = asyncio.create_task(question.tail())
        self._tails.add(task)
        task.add_done_callback(self._tails.discard)
        return task

    async def aclose(self) -> None:
        """Wait for the tails of ended questions."""
        if self._tails:
            await asyncio.wait(self._tails, timeout=TAIL_SECONDS)


class _Question:
    """One question's way through its recipe: its room, its stages, its tail."""

    def __init__(
        self, adapters: Adapters, recipe: Recipe, turn: Turn, emit: Emit, rooms: RoomQueue | None
    ) -> None:
        self._adapters = adapters
        self._rooms = rooms
        self._held = AsyncExitStack()
        self._began = False
        self._recipe = recipe
        self._emit = emit
        self.run = Run(turn, adapters, emit)

    async def stages(self) -> None:
        """Run the stages of the recipe; the last event is Done or Failed."""
        try:
            for stage in self._recipe.stages:
                stage.require(self.run.turn, self._adapters)
            await self._enter_room()
            await self.run.through(self._recipe.stages)
        except RagstoneError as error:
            self.run.finish("error")
            await self._emit(Failed(error, self.run.turn))
        except asyncio.CancelledError:
            self.run.finish("cancelled")
            raise
        except Exception:
            log.exception("A stage broke")
            self.run.finish("error")
            broken = RagstoneError("Something broke inside Ragstone; the log says what.")
            await self._emit(Failed(broken, self.run.turn))
        else:
            await self._emit(Done(self.run.turn))

    def keep_nothing(self) -> None:
        """Let the tail keep nothing of it."""
        turn = self.run.turn
        self.run.turn = replace(turn, ask=replace(turn.ask, keeps=False))

    async def _enter_room(self) -> None:
        """Wait until the room of the question is free; raises Busy, InvalidRoom."""
        ask, started = self.run.turn.ask, time.perf_counter()
        if self._rooms is not None and ask.room is not None and ask.principal.user:
            here = conversation_key(ask.principal, ask.room, ask.user_id)
            await self._held.enter_async_context(self._rooms.turn(here))
            if (seconds := time.perf_counter() - started) > WORTH_TELLING:
                waited = StageTrace("room", seconds, "done", "waited", "a turn of it was going on")
                self.run.turn = replace(self.run.turn, trace=(waited,))
        self._began = True

    async def tail(self) -> None:
        """Run the tail; nobody listens any more, and nothing may stop it but its own timeout.

        Its stages run at once, so that what they keep can go into one transaction. Then the room
        is free. A question that never came in has no tail.
        """
        # The request is over, and so may its time be.
        TIME_LIMITS.set(UNLIMITED)
        async with self._held:
            stages = self._recipe.tail if self._began else ()
            if stages and not self.run.turn.ask.idempotent:
                await asyncio.sleep(AFTERWARDS)
            await asyncio.gather(*(self._run_tail_stage(stage) for stage in stages))

    async def _run_tail_stage(self, stage: Stage) -> None:
        """Run one stage of the tail on the turn as it ended."""
        try:
            ended = await attempt(stage, self.run.turn, self._adapters, nowhere)
        except Exception:
            log.exception("The %s stage broke after the answer", stage.name)
            return
        if ended.failure:
            log.warning("The %s stage failed after the answer: %s", stage.name, ended.failure)
